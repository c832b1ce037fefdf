#include "calibration/busy_kernels.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <exception>
#include <latch>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "base/start_thread.hpp"
#include "drivers/clock.hpp"
#include "drivers/cpu/binding.hpp"

namespace vicinal::calibration {

namespace {

// All kernels of all sets in turn, several times: the speed of a machine may change within seconds, and
// no kernel is to meet it at one moment only. In a round a thread has measured a kernel when it has run
// it so often and so long, or longer than the patience; one that takes longer in all needs no further
// round.
constexpr int kRounds = 5;
constexpr std::size_t kLeastRuns = 3;
constexpr double kBusySeconds = 0.06;
constexpr double kMostSeconds = 1.0;

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
  // By kernel, of one set after the other, and round; of all threads, under mutex.
  std::vector<std::vector<Sum>> sums;
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
    if (!satisfied && ((seconds.size() > kLeastRuns && sum > kBusySeconds) || sum > kMostSeconds)) {
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
  return seconds > kMostSeconds * static_cast<double>(shared.satisfied);
}

// Runs it once.
using Kernel = std::function<double()>;

// Of all sets, one after the other.
std::vector<Kernel> prepared(std::span<const KernelSet> sets) {
  std::vector<Kernel> kernels;
  for (const KernelSet& set : sets) {
    const auto run = set.prepare();
    for (std::size_t k = 0; k < set.kernels.size(); ++k) {
      kernels.emplace_back([run, k] { return run(k); });
    }
  }
  return kernels;
}

void measure_in_thread(std::span<const KernelSet> sets, Shared& shared) {
  const std::vector<Kernel> kernels = prepared(sets);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
      // All have left the last kernel before the count is set, and see it set before they begin.
      shared.together.arrive_and_wait();
      shared.unsatisfied.store(shared.satisfied, std::memory_order_relaxed);
      const bool enough = is_slow(shared, kernel);
      shared.together.arrive_and_wait();
      if (enough) continue;
      const auto seconds = time_one(kernels[kernel], shared.unsatisfied, shared.failed);
      const std::lock_guard lock(shared.mutex);
      auto& rounds = shared.sums[kernel];
      rounds.resize(static_cast<std::size_t>(round) + 1);
      rounds.back().seconds += std::accumulate(seconds.begin(), seconds.end(), 0.0);
      rounds.back().runs += seconds.size();
    }
  }
}

void guarded(std::span<const KernelSet> sets, Shared& shared) {
  try {
    measure_in_thread(sets, shared);
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
  return rate_of(set, set.kernels[kernel], std::move(means));
}

}  // namespace

MeasuredKernel rate_of(const KernelSet& set, const KernelSet::Kernel& kernel,
                       std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](std::size_t quarter) { return seconds[(seconds.size() - 1) * quarter / 4]; };
  const double median = std::max(at(2), 1e-9);  // of a kernel of no work
  return {.names = kernel.names,
          .precision = set.precision,
          .flops_per_second = kernel.flops / median,
          .spread = (at(3) - at(1)) / 2 / median};
}

std::vector<MeasuredKernel> measure_busy(std::span<const KernelSet> sets, std::uint32_t threads,
                                         std::span<const std::uint32_t> processors) {
  Shared shared(threads);
  for (const KernelSet& set : sets) {
    shared.sums.resize(shared.sums.size() + set.kernels.size());
  }
  std::vector<std::thread> running;
  {
    const base::NoSignals none;
    for (std::uint32_t i = 0; i < threads; ++i) {
      running.emplace_back([&, i] {
        if (i < processors.size()) drivers::bind_this_thread(processors[i]);
        guarded(sets, shared);
      });
    }
  }
  for (std::thread& thread : running) thread.join();
  if (shared.error) std::rethrow_exception(shared.error);
  std::vector<MeasuredKernel> measured;
  std::size_t first = 0;  // of the set
  for (const KernelSet& set : sets) {
    for (std::size_t kernel = 0; kernel < set.kernels.size(); ++kernel) {
      const auto& rounds = shared.sums[first + kernel];
      if (!rounds.empty()) measured.push_back(summary(set, kernel, rounds));
    }
    first += set.kernels.size();
  }
  return measured;
}

// Of what a kernel took, only if it began and ended in the same stretch. Each thread has its own sums, so that
// short kernels do not wait for each other.
struct RunningKernels::Shared {
  explicit Shared(std::uint32_t threads)
      : of_threads(threads), begun(static_cast<std::ptrdiff_t>(threads)) {}
  struct alignas(64) OfThread {
    std::mutex mutex;
    Stretch sum;  // under mutex, as the next; its seconds are all kernels'
    const After* after = nullptr;
    std::exception_ptr error;  // to be read when the thread has ended
  };
  std::atomic<std::uint64_t> stretch{0};
  std::vector<OfThread> of_threads;
  std::latch begun;
};

RunningKernels::RunningKernels(const KernelSet& set, std::uint32_t threads,
                               std::span<const std::uint32_t> processors)
    : shared_(std::make_unique<Shared>(threads)) {
  const auto keep_running = [this, &set](const std::stop_token& over, std::uint32_t i,
                                         std::optional<std::uint32_t> processor) {
    Kernel run;
    try {
      if (processor) drivers::bind_this_thread(*processor);
      run = [of_set = set.prepare(), last = set.kernels.size() - 1] { return of_set(last); };
    } catch (...) {
      shared_->of_threads[i].error = std::current_exception();
    }
    shared_->begun.count_down();
    try {
      while (run && !over.stop_requested()) run_one(run, i);
    } catch (...) {
      shared_->of_threads[i].error = std::current_exception();
    }
  };
  const base::NoSignals none;
  for (std::uint32_t i = 0; i < threads; ++i) {
    const auto processor =
        i < processors.size() ? std::optional(processors[i]) : std::optional<std::uint32_t>();
    threads_.emplace_back(keep_running, i, processor);
  }
  shared_->begun.wait();
}

RunningKernels::~RunningKernels() = default;

void RunningKernels::run_one(const std::function<double()>& run, std::uint32_t thread) {
  const std::uint64_t before = shared_->stretch.load(std::memory_order_acquire);
  double seconds = run();
  Shared::OfThread& own = shared_->of_threads[thread];
  const std::lock_guard lock(own.mutex);
  std::uint64_t done = 0;
  if (own.after != nullptr) {
    const Time begin = drivers::monotonic_now();
    done = (*own.after)();
    seconds += (drivers::monotonic_now() - begin).seconds();
  }
  if (shared_->stretch.load(std::memory_order_relaxed) != before) return;
  own.sum.seconds += seconds;
  own.sum.done += done;
  ++own.sum.kernels;
}

RunningKernels::Stretch RunningKernels::next_stretch() {
  shared_->stretch.fetch_add(1, std::memory_order_release);
  Stretch sum;
  for (Shared::OfThread& of : shared_->of_threads) {
    const std::lock_guard lock(of.mutex);
    const Stretch own = std::exchange(of.sum, {});
    sum.seconds += own.seconds;
    sum.kernels += own.kernels;
    sum.done += own.done;
  }
  if (sum.kernels > 0) sum.seconds /= static_cast<double>(sum.kernels);
  return sum;
}

double RunningKernels::mean_seconds_during(const std::function<void()>& what) {
  next_stretch();
  what();
  return next_stretch().seconds;
}

RunningKernels::Stretch RunningKernels::stretch_with(const After& after,
                                                     const std::function<void()>& what) {
  // Nobody is in it any more when it is taken away.
  const auto set = [this](const After* value) {
    for (Shared::OfThread& of : shared_->of_threads) {
      const std::lock_guard lock(of.mutex);
      of.after = value;
    }
  };
  set(&after);
  next_stretch();
  what();
  const Stretch stretch = next_stretch();
  set(nullptr);
  return stretch;
}

void RunningKernels::stop() {
  threads_.clear();
  for (const Shared::OfThread& of : shared_->of_threads) {
    if (of.error) std::rethrow_exception(of.error);
  }
}

}  // namespace vicinal::calibration
