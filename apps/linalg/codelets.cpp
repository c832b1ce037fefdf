#include "linalg/codelets.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "linalg/cuda_kernels.hpp"
#include "linalg/kernel_operands.hpp"
#include "linalg/openblas.hpp"
#include "linalg/opencl_kernels.hpp"
#include "linalg/pivoting_kernels.hpp"
#include "linalg/pivots.hpp"
#include "linalg/qr_kernels.hpp"
#include "linalg/tile_kernels.hpp"

namespace vicinal::linalg {

namespace {

template <typename T>
void potrf_kernel(KernelContext& context) {
  const Block<T> a = operand_block<T>(context, 0);
  require_potrf(context.parameter<TaskIndex>(), potrf_lower(a));
  for (int column = 1; column < a.columns; ++column) {
    std::fill_n(a.at(0, column), column, T{0});
  }
}

template <typename T>
void getrf_kernel(KernelContext& context) {
  require_getrf(context.parameter<TaskIndex>(),
                getrf_without_pivoting(operand_block<T>(context, 0)));
}

std::int32_t* pivots(const KernelContext& context, std::size_t operand) {
  return context.data<std::int32_t>(operand);
}

template <typename T>
void getrf_pivoting_kernel(KernelContext& context) {
  const Block<T> factor = operand_block<T>(context, 0);
  const Block<T> a = operand_block<T>(context, 2);
  getrf_pivoting(a, pivots(context, 1));
  for (int j = 0; j < a.columns; ++j) std::copy_n(a.at(0, j), a.rows, factor.at(0, j));
}

template <typename T>
void gessm_kernel(KernelContext& context) {
  gessm(operand_block<T>(context, 0), pivots(context, 1), operand_block<T>(context, 2));
}

template <typename T>
void tstrf_kernel(KernelContext& context) {
  tstrf(operand_block<T>(context, 0), operand_block<T>(context, 3), operand_block<T>(context, 1),
        pivots(context, 2));
}

template <typename T>
void ssssm_kernel(KernelContext& context) {
  ssssm(operand_block<T>(context, 0), operand_block<T>(context, 1), pivots(context, 2),
        operand_block<T>(context, 3), operand_block<T>(context, 4));
}

template <typename T>
void geqrt_kernel(KernelContext& context) {
  const Block<T> v = operand_block<T>(context, 0);
  const Block<T> a = operand_block<T>(context, 2);
  geqrt(a, operand_block<T>(context, 1));
  for (int j = 0; j < a.columns; ++j) std::copy_n(a.at(0, j), a.rows, v.at(0, j));
}

template <typename T>
void ormqr_kernel(KernelContext& context) {
  ormqr(operand_block<T>(context, 0), operand_block<T>(context, 1), operand_block<T>(context, 2));
}

template <typename T, Reflectors kOf>
void tpqrt_kernel(KernelContext& context) {
  tpqrt(kOf, operand_block<T>(context, 0), operand_block<T>(context, 2),
        operand_block<T>(context, 1));
}

template <typename T, Reflectors kOf>
void tpmqrt_kernel(KernelContext& context) {
  tpmqrt(kOf, operand_block<T>(context, 0), operand_block<T>(context, 1),
         operand_block<T>(context, 2), operand_block<T>(context, 3));
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
      Code{"lu-incpiv.getrf", getrf_pivoting_kernel<T>},
      Code{"gessm", gessm_kernel<T>},
      Code{"tstrf", tstrf_kernel<T>},
      Code{"ssssm", ssssm_kernel<T>},
      Code{"geqrt", geqrt_kernel<T>},
      Code{"ormqr", ormqr_kernel<T>},
      Code{"tsqrt", tpqrt_kernel<T, Reflectors::of_square>},
      Code{"tsmqr", tpmqrt_kernel<T, Reflectors::of_square>},
      Code{"ttqrt", tpqrt_kernel<T, Reflectors::of_two_triangles>},
      Code{"ttmqr", tpmqrt_kernel<T, Reflectors::of_two_triangles>},
      Code{"gemm2d", gemm_kernel<T, Update::assign>},
      Code{"gemm3d.gemm", gemm_kernel<T, Update::add>},
  };
  for (const Code& code : codelets) {
    if (code.name != name) continue;
    return {.name = std::string(name),
            .cpu = code.cpu,
            .kernels = {{ProcessorKind::cuda, cuda_kernel<T>(name)},
                        {ProcessorKind::opencl, opencl_kernel<T>(name)}}};
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
