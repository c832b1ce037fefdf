// y <- y + a x, in blocks that cores work on at once.

#include <algorithm>
#include <span>
#include <vector>
#include <vicinal/runtime.hpp>

using namespace vicinal;

namespace {

constexpr std::size_t kBlock = 1000;

void axpy(double a, std::span<double> x, std::span<double> y) {
  Runtime runtime;
  for (std::size_t first = 0; first < y.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, y.size() - first);
    runtime.task(
        "axpy",
        [](double by, std::span<const double> from, std::span<double> to) {
          for (std::size_t i = 0; i < to.size(); ++i) to[i] += by * from[i];
        },
        a, in(runtime.data(x.subspan(first, count))), inout(runtime.data(y.subspan(first, count))));
  }
  runtime.wait();  // throws what went wrong
}  // both are the application's again

}  // namespace

int main() {
  std::vector<double> x(16500, 2.0);
  std::vector<double> y(x.size(), 1.0);
  axpy(3.0, x, y);
  return std::ranges::count(y, 7.0) == 16500 ? 0 : 1;
}
