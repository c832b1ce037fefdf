// Question: what does a task cost that updates data which others update, too, in any order? One at a time (commute against
// OpenMP's mutexinoutset), or each in a private copy (reduction against task_reduction). Two workers, tasks that add 1;
// on one datum, or in turn on 16.
//
// Lower bound: the same tasks in order, each behind the one before it on its datum (inout).
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <benchmark/benchmark.h>

#include "peers/openmp_team.hpp"
#include "vicinal/runtime.hpp"

namespace {

using namespace vicinal;

constexpr std::int64_t kTasks = 20'000;
constexpr std::uint32_t kWorkers = 2;
constexpr std::size_t kMost = 16;

void add_one(KernelContext& k) {
  k.data<std::uint64_t>(0)[0] += 1;
}
const Codelet kAddOne{.name = "add_one", .cpu = add_one};
const Codelet kZero{.name = "zero",
                    .cpu = [](KernelContext& k) { k.data<std::uint64_t>(0)[0] = 0; }};
const Codelet kCombine{.name = "combine", .cpu = [](KernelContext& k) {
                         k.data<std::uint64_t>(0)[0] += k.data<std::uint64_t>(1)[0];
                       }};

// Apart from each other by a line and its neighbour.
struct alignas(128) Counter {
  std::uint64_t value = 0;
};

void check(const std::vector<Counter>& counters, std::uint64_t rounds) {
  std::uint64_t sum = 0;
  for (const Counter& counter : counters) sum += counter.value;
  if (sum != rounds * kTasks) throw std::logic_error("tasks were lost");
}
void report(benchmark::State& state, const std::vector<Counter>& counters) {
  check(counters, static_cast<std::uint64_t>(state.iterations()));
  state.SetItemsProcessed(state.iterations() * kTasks);
}

void in_vicinal(benchmark::State& state, AccessMode mode) {
  std::vector<Counter> counters(static_cast<std::size_t>(state.range(0)));
  {
    Runtime runtime({.workers = kWorkers, .policy = "lws"});
    std::vector<Handle> handles;
    for (Counter& counter : counters) {
      handles.push_back(runtime.register_buffer(&counter.value, Bytes{8}));
      if (mode == AccessMode::reduction) {
        runtime.set_reduction(handles.back(), {.neutral = &kZero, .combine = &kCombine});
      }
    }
    for ([[maybe_unused]] const auto _ : state) {
      for (std::size_t i = 0; i < kTasks; ++i) {
        runtime.submit(
            {.codelet = &kAddOne, .operands = {Operand{handles[i % handles.size()], mode}}});
      }
      for (const Handle handle : handles) runtime.wait(handle);
    }
  }
  report(state, counters);
}
void vicinal_in_order(benchmark::State& state) {
  in_vicinal(state, AccessMode::RW);
}
void vicinal_commute(benchmark::State& state) {
  in_vicinal(state, AccessMode::commute);
}
void vicinal_reduction(benchmark::State& state) {
  in_vicinal(state, AccessMode::reduction);
}

void openmp_in_order(benchmark::State& state) {
  std::vector<Counter> counters(static_cast<std::size_t>(state.range(0)));
  on_one_of_a_team(kWorkers, [&] {
    for ([[maybe_unused]] const auto _ : state) {
      for (std::size_t i = 0; i < kTasks; ++i) {
        std::uint64_t* const counter = &counters[i % counters.size()].value;
#pragma omp task depend(inout : counter[0]) firstprivate(counter)
        *counter += 1;
      }
#pragma omp taskwait
    }
  });
  report(state, counters);
}

void openmp_mutexinoutset(benchmark::State& state) {
  std::vector<Counter> counters(static_cast<std::size_t>(state.range(0)));
  on_one_of_a_team(kWorkers, [&] {
    for ([[maybe_unused]] const auto _ : state) {
      for (std::size_t i = 0; i < kTasks; ++i) {
        std::uint64_t* const counter = &counters[i % counters.size()].value;
#pragma omp task depend(mutexinoutset : counter[0]) firstprivate(counter)
        *counter += 1;
      }
#pragma omp taskwait
    }
  });
  report(state, counters);
}

// Of an array if there are several, for the clause names its data when the group begins.
void openmp_task_reduction(benchmark::State& state) {
  std::vector<Counter> counters(static_cast<std::size_t>(state.range(0)));
  on_one_of_a_team(kWorkers, [&] {
    for ([[maybe_unused]] const auto _ : state) {
      std::array<std::uint64_t, kMost> sums{};
      std::uint64_t* const sum = sums.data();
      const std::size_t count = counters.size();
#pragma omp taskgroup task_reduction(+ : sum [0:kMost])
      for (std::size_t i = 0; i < kTasks; ++i) {
        const std::size_t which = i % count;
#pragma omp task in_reduction(+ : sum [0:kMost]) firstprivate(which)
        sum[which] += 1;
      }
      for (std::size_t c = 0; c < count; ++c) counters[c].value += sums[c];
    }
  });
  report(state, counters);
}

#define ON_ONE_AND_MANY(function) BENCHMARK(function)->Arg(1)->Arg(kMost)->UseRealTime()
ON_ONE_AND_MANY(vicinal_in_order);
ON_ONE_AND_MANY(openmp_in_order);
ON_ONE_AND_MANY(vicinal_commute);
ON_ONE_AND_MANY(openmp_mutexinoutset);
ON_ONE_AND_MANY(vicinal_reduction);
ON_ONE_AND_MANY(openmp_task_reduction);

}  // namespace

BENCHMARK_MAIN();
