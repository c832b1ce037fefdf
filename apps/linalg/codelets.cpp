#include "linalg/codelets.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "linalg/kernel_operands.hpp"
#include "linalg/openblas.hpp"
#include "linalg/tile_kernels.hpp"
#include "vicinal/error.hpp"

namespace vicinal::linalg {

namespace {

// `minor`: the order of the first leading minor with such a pivot (LAPACK).
[[noreturn]] void throw_pivot(const KernelContext& context, int minor, std::string_view kernel,
                              std::string_view cause, std::string_view what) {
  const auto index = context.parameter<TaskIndex>();
  const std::uint64_t row = std::uint64_t{index.k} * index.tile + static_cast<unsigned>(minor) - 1;
  throw TaskError(
      fmt::format("{0}({1}): the matrix {2}: pivot {3} of tile ({1},{1}), row {4} of "
                  "the matrix, is {5}",
                  kernel, index.k, cause, minor - 1, row, what));
}

template <typename T>
void potrf_kernel(KernelContext& context) {
  const Block<T> a = operand_block<T>(context, 0);
  const int minor = potrf_lower(a);
  if (minor != 0) throw_pivot(context, minor, "potrf", "is not positive definite", "not positive");
  for (int column = 1; column < a.columns; ++column) {
    std::fill_n(a.at(0, column), column, T{0});
  }
}

template <typename T>
void getrf_kernel(KernelContext& context) {
  const int minor = getrf_without_pivoting(operand_block<T>(context, 0));
  if (minor != 0) throw_pivot(context, minor, "getrf", "needs pivoting", "0");
}

template <typename T>
void cholesky_trsm_kernel(KernelContext& context) {
  trsm_right_lower_transposed(operand_block<T>(context, 0), operand_block<T>(context, 1));
}

template <typename T>
void lu_trsm_kernel(KernelContext& context) {
  const auto index = context.parameter<TaskIndex>();
  const Block<T> factor = operand_block<T>(context, 0);
  const Block<T> tile = operand_block<T>(context, 1);
  index.i == index.k ? trsm_left_lower_unit(factor, tile) : trsm_right_upper(factor, tile);
}

template <typename T>
void syrk_kernel(KernelContext& context) {
  syrk_lower(operand_block<T>(context, 0), operand_block<T>(context, 1));
}

template <typename T>
void gemm_transposed_kernel(KernelContext& context) {
  gemm_transposed(operand_block<T>(context, 0), operand_block<T>(context, 1),
                  operand_block<T>(context, 2));
}

template <typename T, Update kUpdate>
void gemm_kernel(KernelContext& context) {
  gemm(kUpdate, operand_block<T>(context, 0), operand_block<T>(context, 1),
       operand_block<T>(context, 2));
}

template <typename T>
Codelet codelet_named(std::string_view name) {
  struct Code {
    std::string_view name;
    Kernel cpu;
  };
  const std::array codelets{
      Code{"potrf", potrf_kernel<T>},
      Code{"trsm", cholesky_trsm_kernel<T>},
      Code{"syrk", syrk_kernel<T>},
      Code{"gemm", gemm_transposed_kernel<T>},
      Code{"getrf", getrf_kernel<T>},
      Code{"lu.trsm", lu_trsm_kernel<T>},
      Code{"lu.gemm", gemm_kernel<T, Update::subtract>},
      Code{"gemm2d", gemm_kernel<T, Update::assign>},
      Code{"gemm3d.gemm", gemm_kernel<T, Update::add>},
  };
  for (const Code& code : codelets) {
    if (code.name == name) return {.name = std::string(name), .cpu = code.cpu};
  }
  return {};
}

}  // namespace

Codelet codelet_of(std::string_view application, std::string_view kernel, Precision precision,
                   double flops) {
  prepare_openblas();
  for (const std::string& name : {fmt::format("{}.{}", application, kernel), std::string(kernel)}) {
    Codelet codelet =
        precision == Precision::f32 ? codelet_named<float>(name) : codelet_named<double>(name);
    if (codelet.cpu == nullptr) continue;
    codelet.flops = flops;
    return codelet;
  }
  throw std::invalid_argument(fmt::format("kernel {} of {} has no code", kernel, application));
}

}  // namespace vicinal::linalg
