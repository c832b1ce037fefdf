#include "bounds/dense.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

// How the lower-order terms come about (own derivation; the papers state leading terms).
//
// Cut what a memory of S elements does into segments of X loads. During one, at most S + X distinct
// elements are at hand; if those allow F operations at most, P operations in K memories need more
// than P / F - K full segments, hence
//     loads >= X P / F - K X.
// X = 2 S is taken throughout, with c elements of C and a of the other operands, c + a <= 3 S:
//   gemm, lu: P <= sqrt(|A| |B| |C|)  (Loomis-Whitney), at most S^(3/2) if all three are S.
//       loads >= 2 P / sqrt(S) - 2 S K.
//   syrk, Cholesky, i > j only: column k of A with t elements serves p <= min(c, t^2 / 2)
//       operations, so t >= sqrt(2 p) >= p sqrt(2 / c), and in all P <= a sqrt(c / 2), at most
//       sqrt(2) S^(3/2) for c = S, a = 2 S.
//       loads >= sqrt(2) P / sqrt(S) - 2 S K.
// An element that comes into being in the memory is at hand without having been loaded: the step
// above needs it charged as a load.
//   C written and not read (mode W): each element of C once.
//   Cholesky and LU work in place. An element is first updated (the role of C) and then, final, an
//       operand of others (the role of A or B). One segment may see both, and c + a <= 3 S needs it
//       counted twice. The change comes once per element, so as many loads are charged.
// Only the operations of the innermost loop are counted, those of the diagonal left out.
namespace vicinal::bounds {

namespace {

constexpr std::string_view kSmith = "leading term of arXiv 1702.02017";
constexpr std::string_view kBeaumont = "leading term of arXiv 2202.10217";
constexpr std::string_view kOlivry = "leading term of arXiv 1911.06664";
constexpr std::string_view kSegments = "S loads serve at most S^2 tasks";

Bytes to_bytes(double elements, Bytes element) {
  const double bytes = elements * static_cast<double>(element.value);
  constexpr double kMost = 1.8e19;
  return {bytes > 0 ? static_cast<std::uint64_t>(std::min(bytes, kMost)) : 0};
}

// All in elements.
struct Terms {
  double leading = 0;
  double strict = 0;   // the same from the operations that are counted
  double charged = 0;  // elements that come into being without a load
  double compulsory = 0;
};

double elements_of(LimitedMemory memory, Bytes element) {
  if (element.value == 0) return 1;
  return std::max(1.0, static_cast<double>(memory.each.value) / static_cast<double>(element.value));
}

BytesBound larger_of(const Terms& terms, Bytes element, LimitedMemory memory, std::string_view name,
                     std::string_view source) {
  const double segments = 2 * elements_of(memory, element) * memory.count;
  const double proved = terms.strict - segments - terms.charged;
  return {.value = to_bytes(std::max(proved, terms.compulsory), element),
          .leading = to_bytes(terms.leading, element),
          .name = name,
          .source = proved > terms.compulsory ? source : "compulsory: what is read, once"};
}

}  // namespace

BytesBound gemm_loads(const GemmShape& shape, Bytes element, LimitedMemory memory) {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const bool reads_c = reads(shape.c);
  const double leading = 2 * m * n * k / std::sqrt(elements_of(memory, element));
  return larger_of({.leading = leading,
                    .strict = leading,
                    .charged = reads_c ? 0 : m * n,
                    .compulsory = m * k + k * n + (reads_c ? m * n : 0)},
                   element, memory, "loads of gemm", kSmith);
}

BytesBound syrk_loads(const SyrkShape& shape, Bytes element, LimitedMemory memory) {
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const bool reads_c = reads(shape.c);
  const double triangle = n * (n + 1) / 2;
  const double scale = 1 / std::sqrt(2 * elements_of(memory, element));
  return larger_of({.leading = n * n * k * scale,
                    .strict = n * (n - 1) * k * scale,
                    .charged = reads_c ? 0 : triangle,
                    .compulsory = n * k + (reads_c ? triangle : 0)},
                   element, memory, "loads of syrk", kBeaumont);
}

BytesBound cholesky_loads(std::uint64_t order, Bytes element, LimitedMemory memory) {
  const auto n = static_cast<double>(order);
  const double scale = 1 / (3 * std::sqrt(2 * elements_of(memory, element)));
  return larger_of({.leading = n * n * n * scale,
                    .strict = n * (n - 1) * (n - 2) * scale,
                    .charged = n * (n - 1) / 2,
                    .compulsory = n * (n + 1) / 2},
                   element, memory, "loads of Cholesky", kBeaumont);
}

BytesBound lu_loads(std::uint64_t order, Bytes element, LimitedMemory memory) {
  const auto n = static_cast<double>(order);
  const double root = std::sqrt(elements_of(memory, element));
  return larger_of({.leading = 2 * n * n * n / (3 * root),
                    .strict = n * (n - 1) * (2 * n - 1) / (3 * root),
                    .charged = n * (n - 1),
                    .compulsory = n * n},
                   element, memory, "loads of LU", kOlivry);
}

BytesBound qr_loads(std::uint64_t order, Bytes element, LimitedMemory memory) {
  const auto n = static_cast<double>(order);
  const double root = std::sqrt(elements_of(memory, element));
  return larger_of({.leading = 2 * n * n * n / (3 * root), .compulsory = n * n}, element, memory,
                   "loads of QR", kOlivry);
}

// In a segment of S loads at most 2 S data are at hand, x rows and 2 S - x columns: S^2 tasks.
BytesBound grid_loads(std::uint64_t n, Bytes datum, LimitedMemory memory) {
  const double size = std::floor(elements_of(memory, datum));
  const double tasks = static_cast<double>(n) * static_cast<double>(n);
  const double compulsory = 2 * static_cast<double>(n);
  const double proved = size * (std::ceil(tasks / (size * size)) - memory.count);
  return {.value = to_bytes(std::max(proved, compulsory), datum),
          .leading = to_bytes(tasks / size, datum),
          .name = "loads of a grid of tasks",
          .source = proved > compulsory ? kSegments : "compulsory: what is read, once"};
}

}  // namespace vicinal::bounds
