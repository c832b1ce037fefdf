// Counts of tasks by thread. Each worker and the thread that made the engine have counters of their own; the other
// threads of the application share a set. Counters have one writer, so counting contends for nothing; sums are taken by
// whoever asks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/spin_lock.hpp"
#include "engine/awaited_time.hpp"
#include "graph/task.hpp"
#include "trace/recorder.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/statistics.hpp"
#include "vicinal/units.hpp"

namespace vicinal::engine {

class ThreadCounters {
 public:
  // The others outlive it.
  ThreadCounters(std::size_t workers, const std::function<Time()>& now, bool simulated,
                 trace::Recorder& recorder, const AwaitedTime& awaited);
  // All are idle from now on; what was before does not count as busy.
  void start();

  std::size_t count() const { return threads_.size(); }
  // `worker`: kNoWorker for a thread of the application.
  std::size_t index(WorkerId worker) const {
    if (worker != kNoWorker) return worker.value;
    return threads_.size() - (this_thread() == owner_ ? 2 : 1);
  }
  // Those shared by several threads, which hold the lock during each use.
  bool shared(std::size_t thread) const { return thread == threads_.size() - 1; }
  base::SpinLock& shared_lock() { return shared_lock_; }

  // --- counts of tasks
  void count_submitted(std::size_t thread, std::int64_t change) {
    std::atomic<std::uint64_t>& submitted = threads_[thread].submitted;
    submitted.store(submitted.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(change),
                    std::memory_order_release);
  }
  void count_ended(WorkerId worker, Outcome outcome) {
    auto& ended = threads_[index(worker)].ended[static_cast<std::size_t>(outcome)];
    if (worker == kNoWorker) {  // without the lock
      ended.fetch_add(1, std::memory_order_release);
    } else {
      ended.store(ended.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
  }
  // Of the runtime's own tasks, which are counted above, too.
  void count_own_done() { own_done_.fetch_add(1, std::memory_order_relaxed); }
  void count_bytes(const graph::Task& task, WorkerId worker);
  std::uint64_t submitted() const;
  std::uint64_t ended() const;
  Bytes ended_bytes() const;  // of the operands of ended tasks
  // Everything submitted has ended.
  bool all_ended() const;
  std::uint64_t tasks_run(WorkerId worker) const;
  void report(Statistics& statistics) const;

  // --- idle time. The clock is looked at only by those who have nothing to do: to time every kernel would take
  // longer than the rest of a small task.
  void begin_idle(WorkerId worker);
  void end_idle(WorkerId worker) {
    Counters& own = threads_[worker.value];
    const std::int64_t since = own.idle_since.load(std::memory_order_relaxed);
    if (since != kNotIdle) [[unlikely]]
      note_idle(worker, since);
  }
  bool idle(WorkerId worker) const {
    return threads_[worker.value].idle_since.load(std::memory_order_relaxed) != kNotIdle;
  }
  Time busy(WorkerId worker, Time now) const;
  // Of the rest of the time, that in which content of other ranks was awaited.
  Time awaiting(WorkerId worker, Time now) const;

  // --- the task that runs, for reports: codelets outlive their tasks, of names a copy is kept
  void begin_run(WorkerId worker, const graph::Task& task) {
    Counters& own = threads_[worker.value];
    own.started.store(own.started.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    own.running.store(task.codelet, std::memory_order_relaxed);
    if (task.extension && !task.extension->name.empty()) own.keep_name(task.extension->name);
  }
  void end_run(WorkerId worker, const graph::Task& task) {
    Counters& own = threads_[worker.value];
    own.started.store(own.started.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    own.running.store(nullptr, std::memory_order_relaxed);
    if (task.extension) own.name[0].store(0, std::memory_order_relaxed);
  }
  std::string running_name(WorkerId worker) const;  // empty: it runs nothing
  // Tasks handed to its driver that have not ended.
  std::size_t started(WorkerId worker) const {
    return threads_[worker.value].started.load(std::memory_order_relaxed);
  }

  // --- between two tasks of a worker
  // True: it has to look around.
  bool begin_next(WorkerId worker) {
    const Counters& own = threads_[worker.value];
    return own.done() >= own.looks_at.load(std::memory_order_relaxed);
  }
  // Now and then it waits until the submitting thread is ahead. True: somebody awaits an end.
  bool look_around(WorkerId worker);
  // Each worker looks around before its next task. What had ended before is seen by the caller, what ends later is
  // followed by that look.
  void await_ends();

 private:
  static constexpr std::int64_t kNotIdle = -1;
  static constexpr std::uint64_t kDistance = 256;  // tasks
  static constexpr std::uint64_t kEndAwaited = 0;
  // Four lines, not three: of a power of two an index costs no more than a shift.
  struct alignas(128) Counters {
    std::atomic<std::uint64_t> submitted{0};
    std::array<std::atomic<std::uint64_t>, 3> ended{};  // by Outcome
    std::atomic<std::uint64_t> ended_bytes{0};
    std::atomic<std::int64_t> idle_since{0};    // kNotIdle: it has a task
    std::atomic<std::int64_t> idle_ns{0};       // until then, the time before the start included
    std::atomic<std::int64_t> awaited_then{0};  // when it became idle, of AwaitedTime
    std::atomic<std::int64_t> awaiting_ns{0};   // until then, of its idle time
    std::atomic<const Codelet*> running{nullptr};
    std::atomic<std::uint32_t> started{0};
    std::atomic<std::uint64_t> looks_at{kDistance};  // when it has done so many; kEndAwaited: next
    std::uint64_t looked_at = 0;                     // the distance, last
    std::uint64_t submissions_then = 0;
    // Of the task that runs, if it has its own; cut. A report may read it while it changes.
    std::array<std::atomic<std::uint64_t>, 6> name{};
    void keep_name(std::string_view of);
    std::uint64_t done() const { return ended[0].load(std::memory_order_relaxed); }
  };
  static_assert(sizeof(Counters) == 256);

  // A number of the thread; that of one that has ended may be another's.
  static const void* this_thread() {
    static thread_local const char mark = 0;
    return &mark;
  }
  void note_idle(WorkerId worker, std::int64_t since);
  std::uint64_t submitted_by_application() const;
  void look_at_distance(Counters& own);
  void let_submitter_run_ahead() const;

  std::vector<Counters> threads_;
  std::atomic<std::uint64_t> own_done_{0};
  const std::function<Time()>& now_;
  trace::Recorder& recorder_;
  const AwaitedTime& awaited_;
  const bool simulated_;
  const void* const owner_ = this_thread();  // the thread that made the engine
  base::SpinLock shared_lock_;
};

}  // namespace vicinal::engine
