// Turns a hang into a failure that says who waits for what.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "support/sanitized.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {

// Sanitizers slow everything down, on machines that are busy anyway.
#if TEST_THREAD_SANITIZER || TEST_ADDRESS_SANITIZER
inline constexpr int kSlowDown = 5;
#else
inline constexpr int kSlowDown = 1;
#endif

// While it lives: if no task and no copy ends for `seconds`, or with Counts::tasks no task, prints the
// label and the runtime's stall report and aborts. Needs the runtime to outlive it, or to be told that it goes. One thread asks the
// runtime, another counts the seconds, so that it also works when somebody spins under a lock.
class Watchdog {
 public:
  enum class Counts : bool { tasks, copies_too };
  Watchdog(const Runtime* runtime, std::string label, int seconds = 60,
           Counts counts = Counts::copies_too)
      : runtime_(runtime),
        label_(std::move(label)),
        seconds_(seconds * kSlowDown),
        counts_(counts),
        asker_([this] { ask(); }),
        counter_([this] { count(); }) {}
  explicit Watchdog(std::string label, int seconds = 60, Counts counts = Counts::copies_too)
      : Watchdog(nullptr, std::move(label), seconds, counts) {}
  ~Watchdog() {
    stopping_.store(true);
    stop_.notify_all();
    asker_.join();
    counter_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  // From now on (or, with nullptr, not any more) this runtime's progress and report count.
  void set(const Runtime* runtime) {
    const std::lock_guard lock(mutex_);
    runtime_ = runtime;
    quiet_seconds_.store(0);
  }

 private:
  std::uint64_t ended(const Runtime& runtime) const {
    const Statistics s = runtime.statistics();
    std::uint64_t sum = s.tasks_done + s.tasks_failed + s.tasks_cancelled;
    if (counts_ == Counts::tasks) return sum;
    for (const LinkStatistics& link : s.links) sum += link.copies;
    return sum;
  }
  bool stops_within_a_second() {
    std::unique_lock lock(stop_mutex_);
    return stop_.wait_for(lock, std::chrono::seconds(1), [this] { return stopping_.load(); });
  }
  void ask() {
    std::uint64_t last = 0;
    while (!stops_within_a_second()) {
      const std::lock_guard lock(mutex_);  // keeps the runtime alive, see set
      const std::uint64_t now = runtime_ != nullptr ? ended(*runtime_) : 0;
      if (now != last) quiet_seconds_.store(0);
      last = now;
      if (hung_.load() && runtime_ != nullptr) {
        std::fprintf(stderr, "%s\n", runtime_->stall_report().c_str());
        std::fflush(stderr);
        std::abort();
      }
    }
  }
  void count() {
    while (!stops_within_a_second()) {
      const int quiet = quiet_seconds_.fetch_add(1) + 1;
      if (quiet == seconds_) {
        std::fprintf(stderr, "HANG: nothing has ended for %d s in %s\n", quiet, label_.c_str());
        std::fflush(stderr);
        hung_.store(true);
      } else if (quiet >= seconds_ + 3) {
        std::fprintf(stderr,
                     "no stall report: somebody spins under a lock, or there is no runtime\n");
        std::abort();
      }
    }
  }

  std::mutex mutex_;
  const Runtime* runtime_;
  const std::string label_;
  const int seconds_;
  const Counts counts_;
  std::atomic<int> quiet_seconds_{0};
  std::atomic<bool> hung_{false};
  std::atomic<bool> stopping_{false};
  std::mutex stop_mutex_;
  std::condition_variable stop_;
  std::thread asker_;
  std::thread counter_;
};

// The watchdog looks at this runtime until the end of the scope, which comes before the runtime's.
class Watched {
 public:
  Watched(Watchdog& watchdog, const Runtime& runtime) : watchdog_(watchdog) {
    watchdog_.set(&runtime);
  }
  ~Watched() { watchdog_.set(nullptr); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  Watchdog& watchdog_;
};

}  // namespace vicinal::testing
