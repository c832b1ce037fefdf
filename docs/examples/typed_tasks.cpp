// Typed tasks: functions of the application whose parameters say what they read and write.

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>
#include <vicinal/runtime.hpp>

namespace {

using namespace vicinal;

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("does not hold: ") + what);
}

void adds_vectors() {
  std::vector<double> values(1000, 1.0);
  Runtime runtime;
  const auto x = runtime.data(values, "x");
  const auto y = runtime.data<double>(1000, "y");  // nobody has written it
  runtime.task(
      "fill", [](std::span<double> to) { std::ranges::fill(to, 2.0); }, out(y));
  runtime.task(
      "axpy",
      [](double a, std::span<const double> from, std::span<double> to) {
        for (std::size_t i = 0; i < to.size(); ++i) to[i] += a * from[i];
      },
      3.0, in(x), inout(y), priority(1));
  require(runtime.read(y)[999] == 5, "y = 2 + 3 x");
}

void returns_results() {
  Runtime runtime;
  const auto x = runtime.data<int>(100, "x");
  runtime.task(
      "count", [](std::span<int> to) { std::iota(to.begin(), to.end(), 1); }, out(x));
  const auto sum = runtime.task(
      "sum", [](std::span<const int> from) { return std::accumulate(from.begin(), from.end(), 0); },
      in(x));
  const auto twice = runtime.task(
      "twice", [](std::span<const int> value) { return 2 * value[0]; }, in(sum.data()));
  require(twice.get() == 2 * 5050, "results are data for other tasks");
}

// A vector in parts, to which tasks add that need not wait for each other.
void reduces_in_parts() {
  Runtime runtime;
  const auto x = runtime.data<int>(1000, "x");
  const auto sum = runtime.data<int>(1, "sum");
  runtime.set_reduction(sum, std::plus<>());
  runtime.task(
      "fill", [](std::span<int> to) { std::ranges::fill(to, 3); }, out(x));
  for (const Data<int> part : runtime.partition(x, row_blocks(8))) {
    runtime.task(
        "add",
        [](std::span<const int> from, std::span<int> to) {
          to[0] += std::accumulate(from.begin(), from.end(), 0);
        },
        in(part), reduce(sum));
  }
  require(runtime.read(sum)[0] == 3000, "of all parts");
}

}  // namespace

int main() {
  adds_vectors();
  returns_results();
  reduces_in_parts();
  return 0;
}
