// Question: what does it cost to divide a handle? Parts in rows, of a buffer of the application and of data that the
// runtime keeps; without tasks, and with one empty task on each part and one on the whole behind them.
//
// Lower bound: one handle is made, and forgotten, for each part.
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "vicinal/runtime.hpp"

namespace {

using namespace vicinal;

const Codelet kNothing{.name = "nothing", .cpu = [](KernelContext&) {}};

enum Kept : std::int64_t { by_the_application, by_the_runtime };

class Whole {
 public:
  explicit Whole(const benchmark::State& state)
      : parts_(static_cast<std::uint64_t>(state.range(0))),
        content_(parts_ * 64),
        runtime_({.workers = 1, .policy = "eager"}) {
    const TileShape shape{content_.size(), 1, 0, 8};
    handle_ = state.range(1) == by_the_application
                  ? runtime_.register_tile(content_.data(), shape, "A")
                  : runtime_.register_empty(shape, "A");
    runtime_.submit({.codelet = &kNothing, .operands = {W(handle_)}});
    runtime_.wait();
  }
  Parts divide() { return runtime_.partition(handle_, row_blocks(parts_)); }
  Runtime& runtime() { return runtime_; }
  Handle handle() const { return handle_; }

 private:
  std::uint64_t parts_;
  std::vector<double> content_;
  Runtime runtime_;
  Handle handle_;
};

// `unpartition` and the end of the parts is not in the time.
void partition(benchmark::State& state) {
  Whole whole(state);
  for ([[maybe_unused]] const auto _ : state) {
    const Parts parts = whole.divide();
    state.PauseTiming();
    whole.runtime().unpartition(parts);
    whole.runtime().wait();
    state.ResumeTiming();
  }
}

void partition_and_back(benchmark::State& state) {
  Whole whole(state);
  for ([[maybe_unused]] const auto _ : state) whole.runtime().unpartition(whole.divide());
}

void with_tasks(benchmark::State& state) {
  Whole whole(state);
  for ([[maybe_unused]] const auto _ : state) {
    const Parts parts = whole.divide();
    for (const Handle part : parts) {
      whole.runtime().submit({.codelet = &kNothing, .operands = {RW(part)}});
    }
    whole.runtime().submit({.codelet = &kNothing, .operands = {R(whole.handle())}});
    whole.runtime().wait();
    whole.runtime().unpartition(parts);
  }
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"parts", "kept"})->Unit(benchmark::kMicrosecond);
  for (const std::int64_t kept : {by_the_application, by_the_runtime}) {
    for (const std::int64_t parts : {10, 100, 1000, 8000}) benchmark->Args({parts, kept});
  }
}
BENCHMARK(partition)->Apply(sizes);
BENCHMARK(partition_and_back)->Apply(sizes);
BENCHMARK(with_tasks)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
