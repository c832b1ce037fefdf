#include "linalg/cholesky.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "graphs/cholesky_order.hpp"
#include "linalg/kernel_operands.hpp"
#include "linalg/openblas.hpp"
#include "linalg/tile_kernels.hpp"
#include "vicinal/error.hpp"

namespace vicinal::linalg {

namespace {

// --- the kernels ---------------------------------------------------------------------------------
template <typename T>
void potrf_kernel(KernelContext& context) {
  const Block<T> a = operand_block<T>(context, 0);
  const int info = potrf_lower(a);
  if (info != 0) {
    // info > 0: the leading minor of that order is not positive (LAPACK).
    const auto index = context.parameter<TaskIndex>();
    const std::uint64_t row = std::uint64_t{index.k} * index.tile + static_cast<unsigned>(info) - 1;
    throw TaskError(
        fmt::format("potrf({0}): the matrix is not positive definite: pivot {1} of tile ({0},{0}), "
                    "row {2} of the matrix, is not positive",
                    index.k, info - 1, row));
  }
  for (int column = 1; column < a.columns; ++column) {
    std::fill_n(a.at(0, column), column, T{0});
  }
}

template <typename T>
void trsm_kernel(KernelContext& context) {
  trsm_right_lower_transposed(operand_block<T>(context, 0), operand_block<T>(context, 1));
}

template <typename T>
void syrk_kernel(KernelContext& context) {
  syrk_lower(operand_block<T>(context, 0), operand_block<T>(context, 1));
}

template <typename T>
void gemm_kernel(KernelContext& context) {
  gemm_transposed(operand_block<T>(context, 0), operand_block<T>(context, 1),
                  operand_block<T>(context, 2));
}

// --- submission ----------------------------------------------------------------------------------
class Submitter {
 public:
  Submitter(Runtime& runtime, const TiledMatrix& matrix, const CholeskyCodelets& codelets,
            const CholeskyOptions& options)
      : runtime_(runtime),
        a_(matrix),
        codelets_(codelets),
        options_(options),
        levels_{static_cast<std::int64_t>(matrix.grid().tiles())} {}

  void potrf(std::uint32_t k) {
    submit(codelets_.potrf, {RW(a_.tile(k, k))}, {k, k, k}, levels_.potrf(k),
           [k] { return fmt::format("potrf({})", k); });
  }
  void trsm(std::uint32_t i, std::uint32_t k) {
    submit(codelets_.trsm, {R(a_.tile(k, k)), RW(a_.tile(i, k))}, {i, k, k}, levels_.trsm(k),
           [i, k] { return fmt::format("trsm({},{})", i, k); });
  }
  void syrk(std::uint32_t i, std::uint32_t k) {
    submit(codelets_.syrk, {R(a_.tile(i, k)), RW(a_.tile(i, i))}, {i, i, k}, levels_.syrk(i, k),
           [i, k] { return fmt::format("syrk({},{})", i, k); });
  }
  void gemm(std::uint32_t i, std::uint32_t j, std::uint32_t k) {
    submit(codelets_.gemm, {R(a_.tile(i, k)), R(a_.tile(j, k)), RW(a_.tile(i, j))}, {i, j, k},
           levels_.gemm(j, k), [i, j, k] { return fmt::format("gemm({},{},{})", i, j, k); });
  }
  std::uint64_t count() const { return count_; }

 private:
  template <typename Name>
  void submit(const Codelet& codelet, Operands operands, TaskIndex index, int level, Name&& name) {
    index.tile = static_cast<std::uint32_t>(a_.grid().tile);
    TaskSpec spec{.codelet = &codelet, .operands = operands, .parameters = index};
    if (options_.priorities) spec.priority = level;
    if (options_.names) spec.name = name();
    runtime_.submit(spec);
    ++count_;
  }

  Runtime& runtime_;
  const TiledMatrix& a_;
  const CholeskyCodelets& codelets_;
  const CholeskyOptions& options_;
  BottomLevels levels_;
  std::uint64_t count_ = 0;
};

}  // namespace

template <typename T>
CholeskyCodelets cholesky_codelets(std::uint64_t tile) {
  prepare_openblas();
  const double cube =
      static_cast<double>(tile) * static_cast<double>(tile) * static_cast<double>(tile);
  return {.potrf = {.name = "potrf", .cpu = potrf_kernel<T>, .flops = cube / 3},
          .trsm = {.name = "trsm", .cpu = trsm_kernel<T>, .flops = cube},
          .syrk = {.name = "syrk", .cpu = syrk_kernel<T>, .flops = cube},
          .gemm = {.name = "gemm", .cpu = gemm_kernel<T>, .flops = 2 * cube}};
}

template CholeskyCodelets cholesky_codelets<float>(std::uint64_t tile);
template CholeskyCodelets cholesky_codelets<double>(std::uint64_t tile);

CholeskyCodelets cholesky_codelets(const TileGrid& grid) {
  return grid.precision == Precision::f32 ? cholesky_codelets<float>(grid.tile)
                                          : cholesky_codelets<double>(grid.tile);
}

std::uint64_t submit_cholesky(Runtime& runtime, const TiledMatrix& matrix,
                              const CholeskyCodelets& codelets, const CholeskyOptions& options) {
  Submitter submitter(runtime, matrix, codelets, options);
  graphs::visit_cholesky_by_rows(static_cast<std::uint32_t>(matrix.grid().tiles()), submitter);
  return submitter.count();
}

}  // namespace vicinal::linalg
