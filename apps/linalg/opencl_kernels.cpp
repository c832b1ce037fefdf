#include "linalg/opencl_kernels.hpp"

#if VICINAL_HAVE_CLBLAST

#include <cstddef>

#include <clblast.h>
#include <fmt/format.h>

#include "linalg/device_kernels.hpp"
#include "vicinal/error.hpp"
#include "vicinal/opencl.hpp"

namespace vicinal::linalg {

namespace {

// Those of OpenCL are its own, the others CLBlast's.
void check(clblast::StatusCode status, const char* call) {
  if (status == clblast::StatusCode::kSuccess) return;
  throw DeviceError(fmt::format("CLBlast's {}: status {}", call, static_cast<int>(status)));
}

struct Operand {
  Operand(const KernelContext& k, std::size_t i)
      : buffer(opencl::buffer(k, i)),
        rows(k.operand(i).layout.rows()),
        columns(k.operand(i).layout.columns),
        ld(k.leading_dimension(i)) {}
  cl_mem buffer;
  std::size_t rows;
  std::size_t columns;
  std::size_t ld;
};

constexpr auto kColumns = clblast::Layout::kColMajor;
constexpr auto kPlain = clblast::Transpose::kNo;
constexpr auto kTransposed = clblast::Transpose::kYes;
constexpr auto kLower = clblast::Triangle::kLower;

template <typename T>
struct OpenClBlas {
  static void gemm(const KernelContext& k, Product product) {
    const Operand a(k, 0);
    const Operand b(k, 1);
    const Operand c(k, 2);
    cl_command_queue queue = opencl::queue(k);
    check(clblast::Gemm(kColumns, kPlain, product.transposed ? kTransposed : kPlain, c.rows,
                        c.columns, a.columns, static_cast<T>(product.alpha), a.buffer, 0, a.ld,
                        b.buffer, 0, b.ld, static_cast<T>(product.beta), c.buffer, 0, c.ld, &queue),
          "Gemm");
  }

  static void syrk(const KernelContext& k) {
    const Operand a(k, 0);
    const Operand c(k, 1);
    cl_command_queue queue = opencl::queue(k);
    check(clblast::Syrk(kColumns, kLower, kPlain, c.rows, a.columns, T{-1}, a.buffer, 0, a.ld, T{1},
                        c.buffer, 0, c.ld, &queue),
          "Syrk");
  }

  static void trsm(const KernelContext& k, Solve solve) {
    const Operand a(k, 0);
    const Operand b(k, 1);
    const bool from_left = solve == Solve::left_lower_unit;
    cl_command_queue queue = opencl::queue(k);
    check(clblast::Trsm(kColumns, from_left ? clblast::Side::kLeft : clblast::Side::kRight,
                        solve == Solve::right_upper ? clblast::Triangle::kUpper : kLower,
                        solve == Solve::right_lower_transposed ? kTransposed : kPlain,
                        from_left ? clblast::Diagonal::kUnit : clblast::Diagonal::kNonUnit, b.rows,
                        b.columns, T{1}, a.buffer, 0, a.ld, b.buffer, 0, b.ld, &queue),
          "Trsm");
  }
};

}  // namespace

template <typename T>
Kernel opencl_kernel(std::string_view name) {
  return device_kernel<OpenClBlas<T>>(name);
}

}  // namespace vicinal::linalg

#else

namespace vicinal::linalg {

template <typename T>
Kernel opencl_kernel(std::string_view /*name*/) {
  return {};
}

}  // namespace vicinal::linalg

#endif

namespace vicinal::linalg {

template Kernel opencl_kernel<float>(std::string_view name);
template Kernel opencl_kernel<double>(std::string_view name);

}  // namespace vicinal::linalg
