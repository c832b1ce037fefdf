// The tasks of the dense applications as calls of a BLAS on a device's queue.
#pragma once

#include <array>
#include <string_view>

#include "linalg/kernel_operands.hpp"
#include "linalg/tile_gemm.hpp"
#include "vicinal/codelet.hpp"

namespace vicinal::linalg {

// Which triangular solve, of those of tile_kernels.hpp.
enum class Solve : std::uint8_t { right_lower_transposed, right_upper, left_lower_unit };

struct Product {
  bool transposed = false;  // its second factor
  int alpha = 1;
  int beta = 1;
};
constexpr Product product_of(Update update) {
  if (update == Update::assign) return {.beta = 0};
  return {.alpha = update == Update::add ? 1 : -1};
}

// The shape of an operand. On a device it is packed: `ld` is its rows.
struct DeviceShape {
  int rows;
  int columns;
  int ld;
};
inline DeviceShape shape_of(const KernelContext& k, std::size_t operand) {
  const Layout& layout = k.operand(operand).layout;
  return {static_cast<int>(layout.rows()), static_cast<int>(layout.columns),
          static_cast<int>(layout.leading_dimension())};
}

// For the name of codelets.hpp, none if it is not among those of a BLAS. `Blas` puts on the queue of the context:
//   gemm(k, product)  operand 2 <- beta operand 2 + alpha operand 0 times operand 1
//   syrk(k)           operand 1 <- operand 1 - operand 0 operand 0^T, lower triangle
//   trsm(k, solve)    operand 1 <- solved by operand 0
template <typename Blas>
Kernel device_kernel(std::string_view name) {
  struct Code {
    std::string_view name;
    Kernel kernel;
  };
  const std::array codes{
      Code{"trsm", [](KernelContext& k) { Blas::trsm(k, Solve::right_lower_transposed); }},
      Code{"syrk", [](KernelContext& k) { Blas::syrk(k); }},
      Code{"gemm", [](KernelContext& k) { Blas::gemm(k, {.transposed = true, .alpha = -1}); }},
      Code{"lu.trsm",
           [](KernelContext& k) {
             const auto index = k.parameter<TaskIndex>();
             Blas::trsm(k, index.i == index.k ? Solve::left_lower_unit : Solve::right_upper);
           }},
      Code{"lu.gemm", [](KernelContext& k) { Blas::gemm(k, product_of(Update::subtract)); }},
      Code{"gemm2d", [](KernelContext& k) { Blas::gemm(k, product_of(Update::assign)); }},
      Code{"gemm3d.gemm", [](KernelContext& k) { Blas::gemm(k, product_of(Update::add)); }},
  };
  for (const Code& code : codes) {
    if (code.name == name) return code.kernel;
  }
  return {};
}

}  // namespace vicinal::linalg
