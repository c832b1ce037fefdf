// The checksum of a segment. Each step maps words to words one to one: a change within one word of the segment, or of
// its head, always changes the result; other changes go unseen once in 2^64.
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "trace/reader.hpp"

namespace vicinal::trace {

namespace {

constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15ULL;  // 2^64 by the golden ratio, odd

constexpr std::uint64_t step(std::uint64_t state, std::uint64_t word) {
  return std::rotl((state ^ word) * kFactor, 29);
}

}  // namespace

// Four rows of steps, as the processor does four multiplications in the time of one.
std::uint64_t checksum(const SegmentHead& head, std::span<const std::uint64_t> words) {
  std::array<std::uint64_t, 4> about{};
  static_assert(offsetof(SegmentHead, checksum) == sizeof about);
  std::memcpy(about.data(), &head, sizeof about);
  std::array<std::uint64_t, 4> rows{1, 2, 3, 4};
  for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = step(rows[row], about[row]);

  const std::size_t whole = words.size() / rows.size() * rows.size();
  for (std::size_t i = 0; i < whole; i += rows.size()) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      rows[row] = step(rows[row], words[i + row]);
    }
  }
  std::uint64_t sum = words.size();
  for (const std::uint64_t row : rows) sum = step(sum, row);
  for (const std::uint64_t word : words.subspan(whole)) sum = step(sum, word);
  return sum ^ (sum >> 32);
}

}  // namespace vicinal::trace
