#include "calibration/interference/measure.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibration/busy_kernels.hpp"
#include "calibration/interference/counters.hpp"
#include "calibration/interference/runtime_parts.hpp"
#include "calibration/interference/transfers.hpp"
#include "drivers/clock.hpp"
#include "drivers/cpu/binding.hpp"
#include "vicinal/error.hpp"

namespace vicinal::interference {

namespace {

// Threads of a kernel wait here while it is not its turn. No run is under way when it is shut.
class Gate {
 public:
  // False: it is over.
  bool enter() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_open_ || is_over_; });
    if (is_over_) return false;
    ++inside_;
    return true;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --inside_;
    ++passed_;
    if (inside_ == 0) changed_.notify_all();
  }
  void open() {
    const std::lock_guard lock(mutex_);
    passed_ = 0;
    is_open_ = true;
    changed_.notify_all();
  }
  void shut() {
    std::unique_lock lock(mutex_);
    is_open_ = false;
    changed_.wait(lock, [&] { return inside_ == 0; });
  }
  void end() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  std::uint64_t passed() {
    const std::lock_guard lock(mutex_);
    return passed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;  // under mutex_, as what follows
  std::uint64_t inside_ = 0;
  std::uint64_t passed_ = 0;
  bool is_over_ = false;
};

// A kernel on its cores, which runs while the gate is open.
class Computation {
 public:
  Computation(const PreparedKernel& kernel, const std::vector<std::uint32_t>& processors)
      : set_(gated(kernel.set, gate_)),
        running_(set_, static_cast<std::uint32_t>(processors.size()), processors) {}
  ~Computation() { gate_.end(); }
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;

  // Mean seconds of a run meanwhile, of all threads; 0: none has ended.
  double seconds_during(const std::function<void()>& what) {
    return running_.mean_seconds_during([&] {
      gate_.open();
      what();
      gate_.shut();
    });
  }
  // Each thread has come around twice, the second time wholly in this turn; about.
  bool has_enough(std::size_t threads) { return gate_.passed() >= 3 * threads; }
  void stop() {
    gate_.end();
    running_.stop();
  }

 private:
  static calibration::KernelSet gated(const calibration::KernelSet& set, Gate& gate) {
    calibration::KernelSet result = set;
    result.prepare = [prepare = set.prepare, &gate] {
      const auto run = prepare();
      return [run, &gate](std::size_t kernel) {
        if (!gate.enter()) return 0.0;
        const double seconds = run(kernel);
        gate.leave();
        return seconds;
      };
    };
    return result;
  }

  Gate gate_;  // outlives the threads
  calibration::KernelSet set_;
  calibration::RunningKernels running_;
};

// Puts back where the thread may run.
class Bound {
 public:
  explicit Bound(std::uint32_t processor) : before_(drivers::allowed_processors()) {
    drivers::bind_this_thread(processor);
  }
  ~Bound() {
    if (!before_.empty()) drivers::bind_this_thread(before_);
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

 private:
  std::vector<std::uint32_t> before_;
};

struct Sample {
  double computation = 0;  // seconds; 0: was not there, or none has ended
  double transfer = 0;
};

constexpr Slot kInOrder[] = {Slot::computation, Slot::transfer, Slot::both};

}  // namespace

struct Bench::State {
  MachineFacts machine;
  MeasureSettings settings;
  comm::Transport* transport = nullptr;

  Transfer transfer_of(const Point& point) const {
    if (point.transfer == "memory") return copies_in_memory(point);
    if (point.transfer == "disk") return copies_to_disk(point, settings.disk);
    if (point.transfer == "ranks" && transport != nullptr) {
      return messages_between_ranks(point, *transport);
    }
    return {};
  }
  std::optional<PreparedKernel> kernel_of(const Point& point) const {
    if (const auto own = settings.kernels.find(point.kernel); own != settings.kernels.end()) {
      return own->second;
    }
    return prepare_kernel({.name = point.kernel,
                           .repeats = point.repeats,
                           .node = point.computation_node,
                           .memory = settings.memory});
  }
};

Bench::Bench(MachineFacts machine, MeasureSettings settings, comm::Transport* transport)
    : state_(std::make_unique<State>(State{std::move(machine), std::move(settings), transport})) {}
Bench::~Bench() = default;

namespace {

// Of a point: what takes part, and what was measured.
class PointMeasurement {
 public:
  struct Parts {
    std::optional<PreparedKernel> kernel;
    Transfer transfer;
    Presence presence;  // beside the one of the two that there is
    Placement placement;
  };
  PointMeasurement(Parts parts, const MeasureSettings& settings)
      : parts_(std::move(parts)), settings_(settings) {
    if (parts_.kernel) computation_.emplace(*parts_.kernel, parts_.placement.computing);
  }

  Row measure(Row row) {
    const Bound bound(parts_.placement.transferring);
    slot(Slot::both);  // pages, caches and branch predictors have seen all
    for (std::uint32_t round = 0; round < settings_.rounds; ++round) {
      for (const bool again : {false, true}) {
        for (int i = 0; i < 3; ++i) {
          const Slot which = kInOrder[round % 2 == 0 ? i : 2 - i];
          keep(which, again != (round % 2 == 1), slot(which));
        }
      }
    }
    if (computation_) computation_->stop();
    row.computation = difference_of(of_computation_);
    row.transfer = difference_of(of_transfer_);
    row.kernel_bytes = parts_.kernel ? parts_.kernel->bytes : 0;
    row.megahertz_alone = quantile(megahertz_alone_, 0.5);
    row.megahertz_beside = quantile(megahertz_beside_, 0.5);
    row.misses_alone = quantile(misses_alone_, 0.5);
    row.misses_beside = quantile(misses_beside_, 0.5);
    return row;
  }

 private:
  Sample slot(Slot which) {
    if (parts_.presence.begin && which != Slot::both) {
      if (which == Slot::transfer) return {};
      return timed(Slot::both);
    }
    if (parts_.presence.begin) {
      constexpr std::chrono::milliseconds kSettling{20};  // its threads have found nothing to do
      parts_.presence.begin();
      std::this_thread::sleep_for(kSettling);
    }
    const Sample sample = timed(which);
    if (parts_.presence.end) parts_.presence.end();
    return sample;
  }

  Sample timed(Slot which) {
    Sample sample;
    const bool computes = computation_ && which != Slot::transfer;
    const bool transfers = parts_.transfer && which != Slot::computation;
    if (!computes && !transfers) return sample;
    const auto beside = [&] { sample.transfer = transfer_for_a_slot(computes, transfers); };
    counters_.begin();
    const Time begin = drivers::monotonic_now();
    if (computes) {
      sample.computation = computation_->seconds_during(beside);
    } else {
      beside();
    }
    misses_ = counters_.misses() / std::max((drivers::monotonic_now() - begin).seconds(), 1e-9);
    megahertz_ = megahertz_now("", std::span(&parts_.placement.transferring, 1));
    return sample;
  }

  // The median: a single message that waited for the system is not the latency.
  double transfer_for_a_slot(bool computes, bool transfers) {
    constexpr double kPatience = 5;
    const Time begin = drivers::monotonic_now();
    const auto passed = [&] { return (drivers::monotonic_now() - begin).seconds(); };
    std::vector<double> seconds;
    while (passed() < kPatience) {
      if (transfers) {
        seconds.push_back(parts_.transfer());
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      const bool enough = !computes || computation_->has_enough(parts_.placement.computing.size());
      if (passed() >= settings_.slot_seconds && enough && (!transfers || seconds.size() > 1)) break;
    }
    return quantile(std::move(seconds), 0.5);
  }

  void keep(Slot which, bool again, const Sample& sample) {
    const bool beside = which == Slot::both;
    const auto add = [&](Rounds& rounds, double value) {
      if (value <= 0) return;
      (beside  ? again ? rounds.beside_again : rounds.beside
       : again ? rounds.alone_again
               : rounds.alone)
          .push_back(value);
    };
    const bool has_presence = static_cast<bool>(parts_.presence.begin);
    if (which != Slot::transfer) add(of_computation_, sample.computation);
    if (which != Slot::computation || has_presence) add(of_transfer_, sample.transfer);
    if (megahertz_ > 0) (beside ? megahertz_beside_ : megahertz_alone_).push_back(megahertz_);
    if (misses_ > 0 && which != Slot::transfer) {
      (beside ? misses_beside_ : misses_alone_).push_back(misses_);
    }
  }

  Parts parts_;
  const MeasureSettings& settings_;
  Counters counters_;  // before the threads that it counts
  std::optional<Computation> computation_;
  Rounds of_computation_;
  Rounds of_transfer_;
  std::vector<double> megahertz_alone_;
  std::vector<double> megahertz_beside_;
  std::vector<double> misses_alone_;
  std::vector<double> misses_beside_;
  double megahertz_ = 0;
  double misses_ = 0;
};

}  // namespace

Row Bench::measure(const Point& point) {
  const std::uint32_t cores = point.cores;
  PointMeasurement::Parts parts;
  parts.placement = place(state_->machine, cores, point.thread_node);
  Row row{.point = point, .shares = parts.placement.shares && cores > 0};
  if (point.transfer == "runtime-layers") {
    row.transfer = difference_of(messages_with_layers(state_->settings.rounds));
    return row;
  }
  if (point.transfer == "recording") {
    row.computation = difference_of(tasks_with_recording(cores, state_->settings.rounds));
    return row;
  }
  parts.transfer = state_->transfer_of(point);
  if (point.kernel == "own-workers" || point.transfer == "idle-workers") {
    parts.presence = idle_workers(cores);
  } else if (point.transfer == "progress-thread") {
    parts.presence = idle_progress_thread();
  } else if (!parts.transfer) {
    throw UsageError(fmt::format("there are no {} here", transfer_words(point.transfer)));
  }
  if (point.kernel != "none" && point.kernel != "own-workers") {
    parts.kernel = state_->kernel_of(point);
    if (!parts.kernel) throw UsageError(fmt::format("there is no kernel {} here", point.kernel));
  }
  return PointMeasurement(std::move(parts), state_->settings).measure(std::move(row));
}

}  // namespace vicinal::interference
