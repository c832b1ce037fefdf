#include "tools/busy_kernels.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <exception>
#include <mutex>
#include <thread>

#include "drivers/clock.hpp"
#include "drivers/cpu/binding.hpp"

namespace vicinal::tools {

namespace {

// A thread has measured a kernel when it has run it so often and so long, or longer than the patience.
constexpr std::size_t kRuns = 5;
constexpr double kSeconds = 0.3;
constexpr double kPatience = 1.0;

struct Shared {
  explicit Shared(std::uint32_t threads)
      : together(static_cast<std::ptrdiff_t>(threads)), satisfied(threads) {}
  std::barrier<> together;
  std::atomic<bool> failed{false};
  std::atomic<std::uint32_t> unsatisfied{0};
  const std::uint32_t satisfied;
  std::mutex mutex;
  std::exception_ptr error;                  // under mutex
  std::vector<std::vector<double>> seconds;  // by kernel, under mutex
};

// Goes on while anyone measures, so that all are busy; the first run, which finds other operands in the
// caches, counts only if there is no other.
std::vector<double> time_one(const std::function<double()>& run,
                             std::atomic<std::uint32_t>& unsatisfied,
                             const std::atomic<bool>& failed) {
  std::vector<double> seconds;
  double sum = 0;
  bool satisfied = false;
  while (!failed.load(std::memory_order_relaxed)) {
    const double last = run();
    seconds.push_back(last);
    sum += last;
    if (!satisfied && ((seconds.size() > kRuns && sum > kSeconds) || sum > kPatience)) {
      satisfied = true;
      unsatisfied.fetch_sub(1, std::memory_order_relaxed);
    }
    if (unsatisfied.load(std::memory_order_relaxed) == 0) break;
  }
  if (seconds.size() > 1) seconds.erase(seconds.begin());
  return seconds;
}

void measure_in_thread(const KernelSet& set, Shared& shared) {
  const auto run = set.prepare();
  for (std::size_t kernel = 0; kernel < set.kernels.size(); ++kernel) {
    // All have left the last kernel before the count is set, and see it set before they begin.
    shared.together.arrive_and_wait();
    shared.unsatisfied.store(shared.satisfied, std::memory_order_relaxed);
    shared.together.arrive_and_wait();
    const auto seconds = time_one([&] { return run(kernel); }, shared.unsatisfied, shared.failed);
    const std::lock_guard lock(shared.mutex);
    auto& all = shared.seconds[kernel];
    all.insert(all.end(), seconds.begin(), seconds.end());
  }
}

void guarded(const KernelSet& set, Shared& shared) {
  try {
    measure_in_thread(set, shared);
  } catch (...) {
    {
      const std::lock_guard lock(shared.mutex);
      shared.error = std::current_exception();
    }
    shared.failed.store(true);
    shared.together.arrive_and_drop();  // the others go on without it, and find that it failed
  }
}

MeasuredKernel summary(const KernelSet& set, std::size_t kernel, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](std::size_t quarter) { return seconds[(seconds.size() - 1) * quarter / 4]; };
  const double median = std::max(at(2), 1e-9);  // of a kernel of no work
  return {.names = set.kernels[kernel].names,
          .precision = set.precision,
          .flops_per_second = set.kernels[kernel].flops / median,
          .spread = (at(3) - at(1)) / 2 / median};
}

}  // namespace

std::vector<MeasuredKernel> measure_busy(const KernelSet& set, std::uint32_t threads,
                                         std::span<const std::uint32_t> processors) {
  Shared shared(threads);
  shared.seconds.resize(set.kernels.size());
  std::vector<std::thread> running;
  for (std::uint32_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      if (i < processors.size()) drivers::bind_this_thread(processors[i]);
      guarded(set, shared);
    });
  }
  for (std::thread& thread : running) thread.join();
  if (shared.error) std::rethrow_exception(shared.error);
  std::vector<MeasuredKernel> measured;
  for (std::size_t kernel = 0; kernel < set.kernels.size(); ++kernel) {
    if (!shared.seconds[kernel].empty()) {
      measured.push_back(summary(set, kernel, std::move(shared.seconds[kernel])));
    }
  }
  return measured;
}

}  // namespace vicinal::tools
