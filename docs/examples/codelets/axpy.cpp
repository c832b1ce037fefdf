// As ../axpy.cpp, with codelets.

#include <algorithm>
#include <vector>
#include <vicinal/runtime.hpp>

using namespace vicinal;

namespace {

constexpr std::size_t kBlock = 1000;

void axpy_kernel(KernelContext& k) {
  const auto by = k.parameter<double>();
  const double* from = k.data<double>(0);
  double* to = k.data<double>(1);
  for (std::size_t i = 0; i < k.count<double>(1); ++i) to[i] += by * from[i];
}
const Codelet axpy_codelet{.name = "axpy", .cpu = axpy_kernel};

void axpy(double a, double* x, double* y, std::size_t size) {
  Runtime runtime;
  for (std::size_t first = 0; first < size; first += kBlock) {
    const Bytes bytes{std::min(kBlock, size - first) * sizeof(double)};
    const Handle from = runtime.register_buffer(x + first, bytes);
    const Handle to = runtime.register_buffer(y + first, bytes);
    runtime.submit({.codelet = &axpy_codelet, .operands = {R(from), RW(to)}, .parameters = a});
  }
  runtime.wait();  // throws what went wrong
}

}  // namespace

int main() {
  std::vector<double> x(16500, 2.0);
  std::vector<double> y(x.size(), 1.0);
  axpy(3.0, x.data(), y.data(), y.size());
  return std::ranges::count(y, 7.0) == 16500 ? 0 : 1;
}
