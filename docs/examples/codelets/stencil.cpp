// As ../stencil.cpp, with codelets.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <vicinal/runtime.hpp>

using namespace vicinal;

namespace {

constexpr std::size_t kBlocks = 16;
constexpr std::size_t kPoints = 1000;  // of a block
constexpr int kSteps = 50;

double mean(double left, double here, double right) {
  return (left + here + right) / 3;
}

void step_kernel(KernelContext& k) {
  const double* left = k.data<double>(0);
  const double* here = k.data<double>(1);
  const double* right = k.data<double>(2);
  double* next = k.data<double>(3);
  const std::size_t last = k.count<double>(1) - 1;
  next[0] = mean(left[k.count<double>(0) - 1], here[0], here[1]);
  for (std::size_t i = 1; i < last; ++i) next[i] = mean(here[i - 1], here[i], here[i + 1]);
  next[last] = mean(here[last - 1], here[last], right[0]);
}
const Codelet step_codelet{.name = "step", .cpu = step_kernel};

void begin_kernel(KernelContext& k) {
  const auto* from = k.parameter<const double*>();
  std::copy(from, from + k.count<double>(0), k.data<double>(0));
}
const Codelet begin_codelet{.name = "begin", .cpu = begin_kernel};

std::vector<double> in_tasks(const std::vector<double>& rod) {
  const Options options = Options::from_environment();
  const Ranks ranks = Ranks::launched(options);
  Runtime runtime(options, ranks);
  std::vector<Handle> now;
  std::vector<Handle> next;
  const Bytes bytes{kPoints * sizeof(double)};
  for (std::size_t i = 0; i < kBlocks; ++i) {  // neighbours share a rank
    const RankId owner{static_cast<std::uint32_t>(i * ranks.count() / kBlocks)};
    now.push_back(runtime.register_empty(owner, bytes));
    next.push_back(runtime.register_empty(owner, bytes));
    runtime.submit({.codelet = &begin_codelet,
                    .operands = {W(now[i])},
                    .parameters = rod.data() + i * kPoints});
  }
  for (int n = 0; n < kSteps; ++n, std::swap(now, next)) {
    for (std::size_t i = 0; i < kBlocks; ++i) {  // the rod is a ring
      const Handle left = now[(i + kBlocks - 1) % kBlocks];
      const Handle right = now[(i + 1) % kBlocks];
      runtime.submit(
          {.codelet = &step_codelet, .operands = {R(left), R(now[i]), R(right), W(next[i])}});
    }
  }
  std::vector<double> result;
  for (const Handle block : now) {
    const Acquired points = runtime.acquire(block, AccessMode::R);  // each rank gets a copy
    result.insert(result.end(), points.data<double>(), points.data<double>() + kPoints);
  }
  return result;
}

std::vector<double> serially(std::vector<double> rod) {
  std::vector<double> next(rod.size());
  for (int n = 0; n < kSteps; ++n, std::swap(rod, next)) {
    for (std::size_t i = 0; i < rod.size(); ++i) {
      next[i] = mean(rod[(i + rod.size() - 1) % rod.size()], rod[i], rod[(i + 1) % rod.size()]);
    }
  }
  return rod;
}

}  // namespace

int main() {
  std::vector<double> rod(kBlocks * kPoints);
  rod[rod.size() / 2] = 1000;
  return in_tasks(rod) == serially(rod) ? 0 : 1;
}
