// The engine: moves tasks along their way (see lifecycle.cpp) and asks the rooms that decide.
//
// It holds no thread, no sleep and no clock: drivers call it from their threads, or from the event
// loop of a simulation.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/asymmetric_fence.hpp"
#include "base/spin_lock.hpp"
#include "engine/actions_pool.hpp"
#include "engine/driver.hpp"
#include "engine/policy_gate.hpp"
#include "engine/run_times.hpp"
#include "engine/window.hpp"
#include "engine/wishes.hpp"
#include "graph/dependencies.hpp"
#include "graph/task_pool.hpp"
#include "memory/residency.hpp"
#include "sched/policy.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/statistics.hpp"

namespace vicinal::engine {

struct EngineConfig {
  MachineDescription machine;
  std::unique_ptr<sched::Policy> policy;
  std::function<Time()> now;
  // Called when a worker has run out of work or something that a waiting thread may look for has
  // happened. Any thread, under no lock of the engine.
  std::function<void()> notify_waiters;
  std::uint32_t look_ahead = 0;  // 0: by the kind of node
  bool simulated = false;        // kernels do not run
  bool count_bytes = false;      // Engine::ended_bytes is asked for
  bool time_policy = false;      // Statistics::scheduling is asked for
  // Where the times of tasks are kept if the policy asks for them; it outlives the engine. Null: nothing
  // is timed. Not in simulation.
  machine::PerformanceModel* models = nullptr;
  std::uint64_t seed = 1;
  memory::Rules rules = {};
};

// A task on the stack of a thread: its kernel, or what is called at its end. Both may submit, but not wait.
// One of another engine may lie above it, if they use another runtime.
struct InTask {
  const void* engine = nullptr;
  WorkerId worker = kNoWorker;  // kNoWorker: it ends on a thread of the application
  // At the end of a task: those submitted there that are cancelled at once, and end after it.
  graph::ReadyList* cancelled = nullptr;
  const InTask* outer = nullptr;  // below it on the stack
};

class Engine final : public Completions,
                     private sched::PolicyContext,
                     private memory::MemorySource {
 public:
  explicit Engine(EngineConfig config);
  ~Engine() override;
  // Once, before any handle or task. Drivers by node and by worker.
  void attach(std::vector<Driver*> node_drivers, std::vector<Driver*> worker_drivers);

  // --- the way of a task, in this order
  // A slot for a submission by `worker` (kNoWorker: an application's thread), with room for so many
  // accesses.
  graph::Task& new_task(WorkerId worker, std::size_t accesses = 1);
  void discard(graph::Task& task, WorkerId worker);  // never submitted
  TaskId submit(graph::Task& task, std::span<const TaskId> after, WorkerId worker);
  // Its first step alone: the graph. True: the task is ready, and nobody knows it yet. It throws what `submit`
  // would, and the task stays with the caller.
  bool insert(graph::Task& task, std::span<const TaskId> after);
  // The whole in two steps, for who holds tasks back. The first throws what `submit` would, and the task stays with
  // the caller. The second is for who keeps the order of submissions by a lock: nothing of the application is
  // called. What has no kernel, or is to be cancelled, goes to `later` at once: for make_ready when the lock
  // is given back.
  void announce(graph::Task& task, std::span<const TaskId> after, graph::Content leaves) const;
  void submit_announced(graph::Task& task, std::span<const TaskId> after, WorkerId worker,
                        graph::ReadyList& later);
  // What the releasing worker does next: asks for a task, or goes on with the one that submitted.
  enum class Releaser : bool { asks, goes_on };
  void make_ready(graph::ReadyList& list, WorkerId releasing, Releaser then = Releaser::asks);
  bool advance(WorkerId worker) override;
  void copy_done(std::uint64_t copy_id, std::exception_ptr error) override;
  void task_done(graph::Task& task, WorkerId worker, std::exception_ptr error) override;

  // --- acquisitions: tasks without a kernel whose `on_runnable` was called
  // `what` is the call, for messages. Not among the tasks submitted and ended, unless `counts`: nobody who waits
  // for tasks waits for what the application holds.
  graph::Task& new_acquisition(const char* what, bool counts);
  // Its access is W; what follows must write.
  void submit_invalidation(graph::Task& task);
  // Wants the operands of the task in RAM; the request ends `ready` or `failed`.
  void request(memory::Request& request);
  void withdraw(memory::Request& request);
  enum class Obtained : std::uint8_t {
    content,  // the application had it in RAM
    order,    // alone: what was done needed no more than its turn among the tasks
    nothing,  // it was given up, or nothing written: what a failed writer left is as it was
  };
  void end_acquisition(graph::Task& task, Obtained obtained);

  // --- handles
  void add(graph::Handle& handle);
  bool remove(graph::Handle& handle);  // false: a copy is in course
  void invalidate(graph::Handle& handle);
  void release(memory::Request& request);
  bool prefetch(graph::Handle& handle, NodeId node);  // by the application
  void wont_use(graph::Handle& handle);
  const memory::Rules& rules() const { return config_.rules; }
  memory::Residency& residency() { return residency_; }

  // --- waiting
  // Everything submitted has ended.
  bool all_ended() const;
  // No worker runs or may find anything to run, no copy is in course.
  bool stalled() const;
  void wake_all();
  void worker_leaves(WorkerId worker);  // its thread goes to do something else
  void worker_comes(WorkerId worker);
  void submission_closed() {
    gate_.submission_closed();
    grant_fresh_wishes();
  }
  // --- planning (planning.cpp)
  bool policy_plans() const { return traits_.plans; }
  void plan(const sched::KnownTasks& known);
  // A slice of the policy's long work, by a worker that has no task or by a thread that waits (kNoWorker). False:
  // there was none.
  bool run_slice(WorkerId worker);
  // Tasks that have not started are cancelled until everything has ended and `take_error` is called.
  void cancel(std::exception_ptr cause);
  void report_error(std::exception_ptr error);  // keeps the first
  bool has_error() const;
  std::exception_ptr take_error();
  // The task of this engine that is on the stack of this thread; null outside tasks.
  const InTask* inside_task() const;
  // The innermost of any engine.
  static const InTask* this_threads_task();
  bool cancelling() const { return cancelling_.load(std::memory_order_relaxed); }

  // To the performance model, what workers still keep. No worker may run a task.
  void hand_on_run_times();

  // Throws CapacityError or UsageError if no worker can ever run the task.
  void check_can_run(const graph::Task& task) const;
  const MachineDescription& machine() const override { return config_.machine; }
  Statistics statistics() const;
  std::uint64_t ended_tasks() const;
  std::uint64_t submitted_tasks() const;
  Bytes ended_bytes() const;  // of the operands of ended tasks
  std::string describe() const;

 private:
  static constexpr std::int64_t kNotIdle = -1;
  static constexpr std::uint32_t kDistance = 256;  // tasks, see keep_distance
  // One per worker, and two for the application's threads. Written by its owner alone.
  struct alignas(64) Lane {
    std::atomic<std::uint64_t> submitted{0};
    std::array<std::atomic<std::uint64_t>, 3> ended{};  // by Outcome
    std::atomic<std::uint64_t> ended_bytes{0};
    std::atomic<std::int64_t> idle_since{0};       // kNotIdle: it has a task
    std::atomic<std::int64_t> idle_ns{0};          // until then, the time before the start included
    std::atomic<const Codelet*> running{nullptr};  // for reports: codelets outlive their tasks
    std::uint32_t burst = 0;                       // tasks run since the last keep_distance
    std::uint64_t submissions_then = 0;
    // Of the task that runs, if it has its own; cut. A report may read it while it changes.
    std::array<std::atomic<std::uint64_t>, 6> name{};
    void keep_name(std::string_view of);
    std::string running_name() const;
  };
  // By threads of the application.
  std::uint64_t submissions() const {
    return lanes_[lanes_.size() - 2].submitted.load(std::memory_order_relaxed) +
           lanes_.back().submitted.load(std::memory_order_relaxed);
  }

  // sched::PolicyContext
  Time now() const override { return config_.now(); }
  bool can_run(const graph::Task& task, WorkerId worker) const override;
  bool is_implemented(const Codelet& codelet, ProcessorKind kind) const;
  bool on_node(const graph::Handle& handle, NodeId node) const override;
  sched::Presence presence(const graph::Handle& handle) const override;
  Bytes missing_bytes(const graph::Task& task, NodeId node) const override;
  Time transfer_time(const graph::Handle& handle, NodeId node) const override;
  Time run_time(const graph::Task& task, WorkerId worker) const override;
  base::Random& random() override { return random_; }
  bool away(WorkerId worker) const override {
    return (away_[worker.value / 64].load(std::memory_order_seq_cst) >> (worker.value % 64) & 1) !=
           0;
  }
  void prefetch(const graph::Task& task, NodeId node) override;
  void coming(std::span<const graph::Task* const> tasks, WorkerId worker) const override;
  void wake(WorkerId worker) override;
  void defer(std::function<bool()> slice) override;
  // memory::MemorySource
  std::byte* reserve(NodeId node, Bytes bytes) override;
  std::byte* allocate(NodeId node, Bytes bytes) override;
  void release(NodeId node, std::byte* address, Bytes bytes) override;
  void relocate(NodeId node, std::byte* to, const std::byte* from, Bytes bytes) override;

  // Nearly all tasks: not bound, with a CPU kernel, and small enough for every memory whatever their
  // operands are.
  bool fits_anywhere(const graph::Task& task) const {
    return !task.extension && task.codelet->cpu != nullptr && has_cpu_ && fits_any_node(task);
  }
  bool fits_any_node(const graph::Task& task) const {
    return task.access_count * largest_.load(std::memory_order_relaxed) <= least_limit_;
  }

  // the steps
  graph::Task& take_slot(std::size_t lane, std::size_t accesses, bool counts);
  template <bool insert(graph::Task&)>
  bool enter(graph::Task& task, std::span<const TaskId> after);
  void cancel_at_once(graph::Task& task, WorkerId releasing, graph::ReadyList& list);
  graph::Task* next(WorkerId worker);
  graph::Task* next_after_slices(WorkerId worker);
  graph::Task* look_for_a_while(WorkerId worker);
  graph::Task* pull(WorkerId worker);
  graph::Task* take_from_window(WorkerId worker);
  bool refill(Window& window, WorkerId worker, graph::ReadyList& cancelled);
  bool hides_copies(Window& window) const;
  bool lasts(const Window& window, WorkerId worker) const;
  bool move_from_peer(WorkerId worker);
  graph::Task* give_away(Window& window, WorkerId to, memory::Actions& actions);
  Time copy_time(const graph::Task& task, NodeId node) const;
  std::size_t without_task(const Window& window) const;
  graph::Task* take_runnable(Window& window, WorkerId worker, memory::Actions& actions,
                             graph::ReadyList& cancelled);
  bool ask_firmly(Window& window, WorkerId worker, memory::Actions& actions);
  bool ask_for_one(Window& window, WorkerId worker, memory::Actions& actions);
  bool anything_ended(Window& window, WorkerId worker);
  bool copy_early(Window& window, memory::Actions& actions);
  void grant_wishes(NodeId node, memory::Actions& actions);
  void grant_fresh_wishes(memory::Actions& actions);
  void grant_fresh_wishes() {
    if (!fresh_wishes_.load(std::memory_order_relaxed)) return;
    memory::Actions actions;
    grant_fresh_wishes(actions);
    perform(actions);
  }
  graph::Task* pop(WorkerId worker);
  void forget_wishes(const graph::Task& task);
  bool can_start(const Pulled& entry, WorkerId worker) const;
  bool still_lacks(Pulled& entry) const;
  bool has_one_for(const Window& window, WorkerId worker) const;
  void keep(Window& window, graph::Task& task);
  graph::Task* drop(Window& window, std::size_t at);
  void start(graph::Task& task, WorkerId worker);
  void begin_run_time(const graph::Task& task, WorkerId worker);
  void end_run_time(WorkerId worker, bool failed);
  void end(graph::Task& task, WorkerId worker, Outcome outcome, graph::ReadyList& ready);
  void note_unused(const graph::Task& task);
  void call_on_end(graph::Task& task, WorkerId worker, Outcome outcome, graph::ReadyList& ready);
  void end_cancelled(graph::ReadyList& list, WorkerId worker);
  void end_refused(WorkerId worker);
  void perform(memory::Actions& actions) {
    if (!actions.empty()) perform_all(actions);
  }
  void perform_all(memory::Actions& actions);
  void look_again(NodeId node, memory::Actions& actions);
  void end_copy(std::uint64_t copy_id, std::exception_ptr error, memory::Actions& actions);
  const graph::Handle* too_large_for_ram(const graph::Task& task) const;
  void retire(graph::Task& task, WorkerId worker);
  static void count_submitted(Lane& lane, std::int64_t change) {  // by its owner
    lane.submitted.store(
        lane.submitted.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(change),
        std::memory_order_release);
  }
  void count_bytes(const graph::Task& task, WorkerId worker);

  // When a task becomes ready: what it reads does not change any more.
  bool must_cancel(const graph::Task& task) {
    if (cancelling()) return true;
    for (const graph::Access& access : task.accesses()) {
      if (reads(access.mode) && access.handle->poisoned.load(std::memory_order_relaxed)) {
        report_poisoned(task, *access.handle);
        return true;
      }
    }
    return false;
  }
  void report_poisoned(const graph::Task& task, const graph::Handle& handle);
  void fail(const graph::Task& task, const std::exception_ptr& error);
  void tell_broken(const std::exception_ptr& error);
  // Outside workers: the thread that made the engine has a lane of its own, the others share the last.
  std::size_t lane_index(WorkerId worker) const {
    if (worker != kNoWorker) return worker.value;
    return lanes_.size() - (this_thread() == owner_ ? 2 : 1);
  }
  bool shared(std::size_t lane) const { return lane == lanes_.size() - 1; }
  // A number of the thread; that of one that has ended may be another's.
  static const void* this_thread() {
    static thread_local const char mark = 0;
    return &mark;
  }
  Lane& lane(WorkerId worker) { return lanes_[lane_index(worker)]; }

  // sleeping and waking (idle.cpp)
  void set_idle(WorkerId worker);
  // True if it was set: whoever clears it has the duty to wake the worker.
  bool clear_idle(WorkerId worker) {
    const std::uint64_t mask = std::uint64_t{1} << (worker.value % 64);
    auto& word = idle_[worker.value / 64];
    if ((word.load(std::memory_order_seq_cst) & mask) == 0) return false;
    return (word.fetch_and(~mask, std::memory_order_seq_cst) & mask) != 0;
  }
  void begin_idle_time(WorkerId worker);
  void end_idle_time(WorkerId worker) {
    Lane& own = lanes_[worker.value];
    const std::int64_t since = own.idle_since.load(std::memory_order_relaxed);
    if (since == kNotIdle) return;
    own.idle_ns.store(own.idle_ns.load(std::memory_order_relaxed) + now().ns - since,
                      std::memory_order_relaxed);
    own.idle_since.store(kNotIdle, std::memory_order_relaxed);
  }
  static Time busy_time(const Lane& lane, Time now);
  void keep_distance(Lane& own);
  void let_submitter_run_ahead() const;
  // `tasks` have been pushed. If the releasing worker asks next it will take one; others are woken for
  // the rest, and on other memory nodes, where it may be that only their workers can run them, unless
  // they would not pull them (Window::satisfied). On a node with workers of several kinds all are woken.
  void wake_for(std::size_t tasks, const graph::Task* restricted, WorkerId releasing,
                Releaser then) {
    const bool takes_one = releasing != kNoWorker && then == Releaser::asks;
    if (takes_one && tasks == 1 && restricted == nullptr && takes_any_) return;
    base::light_fence();
    if (anyone_idle()) wake_the_idle(tasks, restricted, releasing, takes_one);
  }
  bool anyone_idle() const {
    return std::ranges::any_of(
        idle_, [](const auto& word) { return word.load(std::memory_order_seq_cst) != 0; });
  }
  void wake_the_idle(std::size_t tasks, const graph::Task* restricted, WorkerId releasing,
                     bool takes_one);
  bool wake_node(NodeId node);  // true: somebody was asleep
  void wake_a_peer(const Window& window);
  bool wake_one_of(std::span<const WorkerId> workers);

  EngineConfig config_;
  std::vector<Driver*> node_drivers_;
  std::vector<Driver*> worker_drivers_;
  std::unique_ptr<sched::Policy> policy_;
  const sched::PolicyTraits traits_;
  base::Random random_;
  memory::Residency residency_;
  graph::TaskPool pool_;
  graph::Precedences precedences_{pool_};
  PolicyGate gate_;
  std::vector<Window> windows_;  // by node
  std::vector<Wishes> wishes_;   // by node
  std::vector<Wishes> places_;   // Rules::owner, what needs no copy; under the mutexes of wishes_
  WishedTasks wished_;
  std::atomic<bool> fresh_wishes_{false};
  std::atomic<bool> ever_wished_{false};
  std::vector<Lane> lanes_;
  std::vector<RunTimer> timers_;                  // by worker; none if times are not asked for
  const void* const owner_ = this_thread();       // the thread that made the engine
  base::SpinLock external_lock_;                  // the lane of the application's other threads
  std::vector<std::atomic<std::uint64_t>> idle_;  // bit per worker
  std::vector<std::atomic<std::uint64_t>> away_;  // workers without a thread at present
  std::atomic<bool> cancelling_{false};
  std::atomic<std::uint32_t> performing_{0};  // threads inside perform()
  std::uint64_t performances_ = 0;  // of perform_all; in simulation alone, where one thread calls
  ActionsPool actions_;
  mutable std::mutex error_mutex_;
  std::exception_ptr error_;
  bool told_broken_ = false;  // tell_broken was called
  const bool trivial_;
  const bool timed_;  // the time of each run is asked for
  bool has_cpu_ = false;
  bool takes_any_ = false;  // one memory with workers of one kind: each can run what is not bound
  std::uint64_t least_limit_ = ~std::uint64_t{0};  // of the memories, in bytes
  std::atomic<std::uint64_t> largest_{0};          // padded bytes of a handle, at most
};

}  // namespace vicinal::engine
