#include "tools/busy_kernels.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <exception>
#include <latch>
#include <mutex>
#include <numeric>
#include <thread>

#include "drivers/clock.hpp"
#include "drivers/cpu/binding.hpp"

namespace vicinal::tools {

namespace {

// All kernels in turn, several times: the speed of a machine may change within seconds, and no kernel is
// to meet it at one moment only. In a round a thread has measured a kernel when it has run it so often and
// so long, or longer than the patience; one that takes longer in all needs no further round.
constexpr int kRounds = 5;
constexpr std::size_t kRuns = 3;
constexpr double kSeconds = 0.06;
constexpr double kPatience = 1.0;

struct Shared {
  explicit Shared(std::uint32_t threads)
      : together(static_cast<std::ptrdiff_t>(threads)), satisfied(threads) {}
  std::barrier<> together;
  std::atomic<bool> failed{false};
  std::atomic<std::uint32_t> unsatisfied{0};
  const std::uint32_t satisfied;
  std::mutex mutex;
  std::exception_ptr error;  // under mutex
  struct Sum {
    double seconds = 0;
    std::size_t runs = 0;
  };
  std::vector<std::vector<Sum>> sums;  // by kernel and round, of all threads, under mutex
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

// The same in all threads: between the barriers no sum changes.
bool is_slow(Shared& shared, std::size_t kernel) {
  const std::lock_guard lock(shared.mutex);
  double seconds = 0;
  for (const Shared::Sum& sum : shared.sums[kernel]) seconds += sum.seconds;
  return seconds > kPatience * static_cast<double>(shared.satisfied);
}

void measure_in_thread(const KernelSet& set, Shared& shared) {
  const auto run = set.prepare();
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t kernel = 0; kernel < set.kernels.size(); ++kernel) {
      // All have left the last kernel before the count is set, and see it set before they begin.
      shared.together.arrive_and_wait();
      shared.unsatisfied.store(shared.satisfied, std::memory_order_relaxed);
      const bool enough = is_slow(shared, kernel);
      shared.together.arrive_and_wait();
      if (enough) continue;
      const auto seconds = time_one([&] { return run(kernel); }, shared.unsatisfied, shared.failed);
      const std::lock_guard lock(shared.mutex);
      auto& rounds = shared.sums[kernel];
      rounds.resize(static_cast<std::size_t>(round) + 1);
      rounds.back().seconds += std::accumulate(seconds.begin(), seconds.end(), 0.0);
      rounds.back().runs += seconds.size();
    }
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

// A run takes the sum of its kernels' times, interruptions and all: so the mean counts, of which the median
// over the rounds is taken.
MeasuredKernel summary(const KernelSet& set, std::size_t kernel,
                       const std::vector<Shared::Sum>& rounds) {
  std::vector<double> means;
  for (const Shared::Sum& sum : rounds) {
    if (sum.runs > 0) means.push_back(sum.seconds / static_cast<double>(sum.runs));
  }
  std::sort(means.begin(), means.end());
  const auto at = [&](std::size_t quarter) { return means[(means.size() - 1) * quarter / 4]; };
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
  shared.sums.resize(set.kernels.size());
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
    if (!shared.sums[kernel].empty()) {
      measured.push_back(summary(set, kernel, shared.sums[kernel]));
    }
  }
  return measured;
}

void run_beside(const KernelSet& set, std::uint32_t threads,
                std::span<const std::uint32_t> processors, const std::function<void()>& what) {
  std::atomic<bool> over{false};
  std::latch begun(static_cast<std::ptrdiff_t>(threads));
  std::vector<std::exception_ptr> errors(threads + 1);
  const auto keep_running = [&](std::uint32_t i) {
    std::function<double(std::size_t)> run;
    try {
      if (i < processors.size()) drivers::bind_this_thread(processors[i]);
      run = set.prepare();
    } catch (...) {
      errors[i] = std::current_exception();
    }
    begun.count_down();
    try {
      while (run && !over.load(std::memory_order_relaxed)) run(set.kernels.size() - 1);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  std::vector<std::thread> running;
  for (std::uint32_t i = 0; i < threads; ++i) running.emplace_back(keep_running, i);
  begun.wait();
  try {
    what();
  } catch (...) {
    errors.back() = std::current_exception();
  }
  over.store(true, std::memory_order_relaxed);
  for (std::thread& thread : running) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace vicinal::tools
