#include "sparse/cg_kernels.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "linalg/generator.hpp"
#include "sparse/row_block.hpp"
#include "vicinal/error.hpp"

namespace vicinal::sparse {

namespace {

linalg::Generator solution_of(const KnownSolution& known) {
  return linalg::Generator::random(1, known.seed);
}

void fill_kernel(KernelContext& k) {
  const auto source = k.parameter<BlockSource>();
  if (source.matrix != nullptr) {
    store_block(*source.matrix, source.cut, source.block, k.data<std::byte>(0));
  } else {
    store_block(source.grid, source.cut, source.block, k.data<std::byte>(0));
  }
}

void known_kernel(KernelContext& k) {
  const auto known = k.parameter<KnownSolution>();
  const linalg::Generator solution = solution_of(known);
  auto* const x = k.data<double>(0);
  for (std::size_t i = 0; i < k.count<double>(0); ++i) {
    x[i] = solution.element(known.first_row + i, 0);
  }
}

void begin_kernel(KernelContext& k) {
  const auto* const q = k.data<double>(0);
  auto* const b = k.data<double>(1);
  auto* const r = k.data<double>(2);
  auto* const p = k.data<double>(3);
  auto* const x = k.data<double>(4);
  double sum = 0;
  for (std::size_t i = 0; i < k.count<double>(0); ++i) {
    b[i] = r[i] = p[i] = q[i];
    x[i] = 0;
    sum += q[i] * q[i];
  }
  *k.data<double>(5) += sum;
}

void spmv_kernel(KernelContext& k) {
  const StoredBlock block(k.data<std::byte>(0));
  const std::size_t vectors = 1 + block.counts().neighbours;
  constexpr std::size_t kFew = 16;
  const double* few[kFew];
  std::vector<const double*> many;
  if (vectors > kFew) many.resize(vectors);
  const double** const from = vectors > kFew ? many.data() : few;
  for (std::size_t i = 0; i < vectors; ++i) from[i] = k.data<double>(1 + i);
  auto* const q = k.data<double>(1 + vectors);
  multiply(block, {from, vectors}, q);
  double sum = 0;
  for (std::uint64_t i = 0; i < block.counts().rows; ++i) sum += from[0][i] * q[i];
  *k.data<double>(2 + vectors) += sum;
}

double sum_of(const KernelContext& k, std::size_t first, std::size_t count) {
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) sum += *k.data<double>(i);
  return sum;
}

// Behind two sums of each rank there are two numbers to write.
void alpha_kernel(KernelContext& k) {
  const std::size_t ranks = (k.operands() - 2) / 2;
  const double rr = sum_of(k, 0, ranks);
  const double pq = sum_of(k, ranks, ranks);
  // Nothing is left to do: x is exact.
  if (rr == 0) {
    *k.data<double>(2 * ranks) = 0;
  } else if (pq > 0) {
    *k.data<double>(2 * ranks) = rr / pq;
  } else {
    throw UsageError(fmt::format(
        "the matrix is not positive definite: p^T A p is {} for some vector p; conjugate gradients "
        "need a symmetric positive definite one",
        pq));
  }
  *k.data<double>(2 * ranks + 1) = 0;
}

void beta_kernel(KernelContext& k) {
  const std::size_t ranks = (k.operands() - 2) / 2;
  const double before = sum_of(k, 0, ranks);
  const double now = sum_of(k, ranks, ranks);
  *k.data<double>(2 * ranks) = before > 0 ? now / before : 0;
  *k.data<double>(2 * ranks + 1) = 0;
}

void update_kernel(KernelContext& k) {
  const double alpha = *k.data<double>(0);
  const auto* const p = k.data<double>(1);
  const auto* const q = k.data<double>(2);
  auto* const x = k.data<double>(3);
  auto* const r = k.data<double>(4);
  double sum = 0;
  for (std::size_t i = 0; i < k.count<double>(1); ++i) {
    x[i] += alpha * p[i];
    r[i] -= alpha * q[i];
    sum += r[i] * r[i];
  }
  *k.data<double>(5) += sum;
}

void direction_kernel(KernelContext& k) {
  const double beta = *k.data<double>(0);
  const auto* const r = k.data<double>(1);
  auto* const p = k.data<double>(2);
  for (std::size_t i = 0; i < k.count<double>(1); ++i) p[i] = r[i] + beta * p[i];
}

void total_kernel(KernelContext& k) {
  const std::size_t ranks = k.operands() - 1;
  *k.data<double>(ranks) = sum_of(k, 0, ranks);
}

void compare_kernel(KernelContext& k) {
  const auto known = k.parameter<KnownSolution>();
  const linalg::Generator solution = solution_of(known);
  const auto* const b = k.data<double>(0);
  const auto* const q = k.data<double>(1);
  const auto* const x = k.data<double>(2);
  auto& sums = *k.data<CheckSums>(3);
  for (std::size_t i = 0; i < k.count<double>(0); ++i) {
    const double exact = solution.element(known.first_row + i, 0);
    sums.residual += (b[i] - q[i]) * (b[i] - q[i]);
    sums.right += b[i] * b[i];
    sums.error += (x[i] - exact) * (x[i] - exact);
    sums.solution += exact * exact;
  }
}

void zero_numbers(KernelContext& k) {
  std::fill_n(k.data<double>(0), k.count<double>(0), 0.0);
}

void add_numbers(KernelContext& k) {
  for (std::size_t i = 0; i < k.count<double>(0); ++i) k.data<double>(0)[i] += k.data<double>(1)[i];
}

CgCodelets make() {
  constexpr std::array<Kernel::Function, graphs::kCgKernelNames.size()> kKernels{
      spmv_kernel, alpha_kernel, update_kernel, beta_kernel, direction_kernel};
  CgCodelets codelets{.iteration = {},
                      .fill = {.name = "fill", .cpu = fill_kernel},
                      .known = {.name = "known", .cpu = known_kernel},
                      .begin = {.name = "begin", .cpu = begin_kernel},
                      .total = {.name = "total", .cpu = total_kernel},
                      .compare = {.name = "compare", .cpu = compare_kernel},
                      .zero = {.name = "zero", .cpu = zero_numbers},
                      .add = {.name = "add", .cpu = add_numbers}};
  for (std::size_t i = 0; i < kKernels.size(); ++i) {
    codelets.iteration[i].name = graphs::kCgKernelNames[i];
    codelets.iteration[i].cpu = kKernels[i];
  }
  return codelets;
}

}  // namespace

const CgCodelets& cg_codelets() {
  static const CgCodelets codelets = make();
  return codelets;
}

}  // namespace vicinal::sparse
