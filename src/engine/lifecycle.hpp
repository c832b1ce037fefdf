// The engine: moves tasks along their way (see lifecycle.cpp) and asks the rooms that decide.
//
// It holds no thread, no sleep and no clock: drivers call it from their threads, or from the event
// loop of a simulation.
#pragma once

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
#include <utility>
#include <vector>

#include "engine/actions_pool.hpp"
#include "engine/contention_gate.hpp"
#include "engine/costs.hpp"
#include "engine/driver.hpp"
#include "engine/driver_table.hpp"
#include "engine/eligibility.hpp"
#include "engine/engine_data.hpp"
#include "engine/errors.hpp"
#include "engine/kinds/kind.hpp"
#include "engine/look_ahead.hpp"
#include "engine/node_workers.hpp"
#include "engine/policy_gate.hpp"
#include "engine/policy_view.hpp"
#include "engine/prefetch_requests.hpp"
#include "engine/private_copies.hpp"
#include "engine/processor_time.hpp"
#include "engine/producers.hpp"
#include "engine/ram_hold.hpp"
#include "engine/ready_by_kind.hpp"
#include "engine/run_times.hpp"
#include "engine/sleepers.hpp"
#include "engine/submission_log.hpp"
#include "engine/thread_counters.hpp"
#include "graph/dependencies.hpp"
#include "graph/task_pool.hpp"
#include "memory/residency.hpp"
#include "sched/policy.hpp"
#include "trace/decision.hpp"
#include "trace/recorder.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/statistics.hpp"

namespace vicinal::engine {

struct EngineConfig {
  MachineDescription machine;
  std::unique_ptr<sched::Policy> policy;
  std::function<Time()> now;
  // Called when a worker has run out of work or something that a waiting thread may look for has
  // happened. Any thread, under no lock of the engine. The thread of the worker `by`, unless that is kNoWorker, looks by
  // itself before it sleeps.
  std::function<void(WorkerId by)> notify_waiters;
  std::uint32_t look_ahead = 0;  // 0: by the kind of node
  bool simulated = false;        // kernels do not run
  bool count_bytes = false;      // Engine::ended_bytes is asked for
  bool count_ready = false;      // Statistics::tasks_ready is asked for
  bool time_policy = false;      // Statistics::scheduling is asked for
  bool heeds_contention = true;  // see ContentionGate
  // Where the times of tasks are kept if the policy asks for them; it outlives the engine. Null: nothing
  // is timed. Not in simulation.
  machine::PerformanceModel* models = nullptr;
  std::uint64_t seed = 1;
  memory::Rules rules = {};
  trace::DecisionListener* listener = nullptr;  // outlives the engine; null: nobody listens
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

// The innermost one of this thread, of any engine; null outside tasks.
const InTask* this_threads_task();

class ScratchPool;

// How far a call of Engine::submit goes, and in whose order.
struct When {
  enum class Step : std::uint8_t {
    now,           // all of it: into the graph, and on from there if the task is ready
    announcement,  // the graph takes note of what the task leaves there, and cannot refuse it any more
    announced,     // the rest, for a task that was announced: nothing is refused
  };
  Step step = Step::now;
  graph::Content leaves = graph::Content::written;
  // The lock by which the caller keeps the order of submissions, held; null: none. It is given back before
  // anything of the application is called, also if the task is refused. After an announcement it is held on.
  std::unique_lock<std::mutex>* order = nullptr;
  // announced: what may call the application goes here, for make_ready when the caller's lock is given back; null: the
  // caller has no lock.
  graph::ReadyList* later = nullptr;
};

class Engine final : public Completions {
 public:
  explicit Engine(EngineConfig config);
  ~Engine() override;
  // Once, before any handle or task. Drivers by node and by worker.
  void attach(std::vector<Driver*> node_drivers, std::vector<Driver*> worker_drivers);
  // By number of kind; before the first task that needs one. All outlive all tasks.
  using Kinds = std::array<Kind*, graph::kTaskKinds>;
  void attach(const Kinds& kinds, ScratchPool& scratch) {
    kinds_ = kinds;
    scratch_ = &scratch;
  }

  // --- the way of a task, in this order
  // A slot for a submission by `worker` (kNoWorker: an application's thread), with room for so many
  // accesses.
  graph::Task& new_task(WorkerId worker, std::size_t accesses = 1);
  void discard(graph::Task& task, WorkerId worker);  // never submitted
  // The one way into the graph, of every kind of task. A task that is refused is discarded when this throws.
  TaskId submit(graph::Task& task, std::span<const TaskId> after, WorkerId worker);
  // The same in an order that the caller keeps, and perhaps in two steps.
  TaskId submit(graph::Task& task, std::span<const TaskId> after, WorkerId worker,
                const When& when);
  [[gnu::noinline]] void make_ready(graph::ReadyList& list, WorkerId releasing,
                                    Releaser then = Releaser::asks);
  bool advance(WorkerId worker) override;
  void copy_done(memory::CopyId copy, std::exception_ptr error) override;
  void task_done(graph::Task& task, WorkerId worker, std::exception_ptr error,
                 std::optional<Time> run_time) override;
  void call_apart(base::FunctionRef<void()> kernel) override;
  // The task of this engine that is on the stack of this thread; null outside tasks.
  const InTask* inside_task() const;

  // --- tasks of kinds that are not scheduled: ended by who is called when they have access
  // `what` is the call, for messages.
  graph::Task& new_plain_task(graph::TaskKind kind, const char* what, std::size_t accesses = 1);
  enum class Obtained : std::uint8_t {
    content,  // the application had it in RAM
    order,    // alone: what was done needed no more than its turn among the tasks
    nothing,  // it was given up, or nothing written: what a failed writer left is as it was
  };
  void end_plain_task(graph::Task& task, Obtained obtained);

  // --- reductions (private_copies.cpp)
  // A task that was ready, and that nobody has: it is to read the handle, too, of which the application does not know.
  void read_too(graph::Task& task, graph::Handle& handle);
  // Nor will anybody have it.
  void end_unstarted(graph::Task& task, Outcome outcome);

  // --- data
  EngineData& data() { return data_; }
  memory::Residency& residency() { return residency_; }

  // --- waiting
  // Something has happened that a waiting thread may look for. Any thread, under no lock of the engine.
  // A waiting thread that drives the worker `by` looks by itself before it sleeps: woken by its own vain look it would
  // look for ever.
  void notify_waiters(WorkerId by = kNoWorker) {
    if (Kind* const kind = kinds_[0]) kind->look();
    config_.notify_waiters(by);
  }
  // The workers notify at the ends of their next tasks. For who sleeps until some have ended: ends that are not counted
  // when this returns will be told, as will that a worker finds nothing more to do.
  void await_ends() { counters_.await_ends(); }
  const ThreadCounters& counts() const { return counters_; }  // of tasks submitted and ended
  AwaitedTime& awaited() { return awaited_; }
  // A message begins to draw on memory, and has drawn on it.
  void begin_message(Bytes bytes) {
    if (contention_.active()) contention_.begin_message(bytes);
  }
  void end_message(Bytes bytes);
  // Where a message has most bandwidth beside the tasks that run now.
  std::uint32_t quietest_numa_node() const { return contention_.quietest_numa_node(); }
  // No worker runs or may find anything to run, no copy is in flight.
  bool stalled() const;
  bool any_asleep() const { return sleepers_.asleep() > 0; }
  void worker_leaves(WorkerId worker);  // its thread goes to do something else
  void worker_comes(WorkerId worker);
  void submission_closed();
  // --- planning (planning.cpp)
  const sched::PolicyTraits& policy_traits() const { return traits_; }
  // The policy changes gear. Then submissions are noted: they go by the call of `submit` that keeps their order.
  bool notes_submissions() const { return log_.has_value(); }
  void plan(const sched::KnownTasks& known);
  void passed_on();  // what was planned
  bool has_slices() const { return gate_.has_deferred(); }
  // A slice of the policy's long work, by a worker that has no task or by a thread that waits (kNoWorker). False:
  // there was none.
  bool run_slice(WorkerId worker) { return has_slices() && run_deferred(worker); }
  Errors& errors() { return errors_; }
  const Errors& errors() const { return errors_; }
  trace::Recorder& recorder() { return recorder_; }
  std::exception_ptr take_error();

  // To the performance model, what workers still keep. No worker may run a task.
  void hand_on_run_times();
  const Eligibility& eligibility() const { return eligibility_; }
  const MachineDescription& machine() const { return config_.machine; }
  Statistics statistics() const;
  std::string describe() const;

 private:
  friend class EngineData;
  friend class RamHold;
  // the steps (lifecycle.cpp)
  graph::Task& take_shared_slot(std::size_t thread, std::size_t accesses);
  // Counted before anybody else can know the task: it may have ended when insert returns.
  graph::Task& take_slot(std::size_t thread, std::size_t accesses, bool counts) {
    graph::Task& task = pool_.take(thread, accesses);
    if (counts) counters_.count_submitted(thread, 1);
    return task;
  }
  template <bool insert(graph::Task&)>
  bool enter(graph::Task& task, std::span<const TaskId> after);
  bool enter_new(graph::Task& task, std::span<const TaskId> after);
  void go_on_announced(graph::Task& task, WorkerId worker, graph::ReadyList* later);
  bool enter_noted(graph::Task& task, std::span<const TaskId> after);
  bool enter_announced(graph::Task& task, std::span<const TaskId> after);
  template <bool insert(graph::Task&)>
  bool enter_after(graph::Task& task, std::span<const TaskId> after);
  void run_in_place(graph::Task& task);
  // Its kind does more with it before a worker gets it, or in place of that.
  bool is_taken_over(const graph::Task& task) const {
    return task.extension && its_kind_has_it(task);
  }
  bool its_kind_has_it(const graph::Task& task) const;
  Kind& kind_of(const graph::Task& task) { return *kinds_[static_cast<std::size_t>(task.kind)]; }
  // Most tasks: nothing stands between a ready one and the policy. False: it is for make_ready.
  bool hand_on_at_once(graph::Task& task, WorkerId releasing, Releaser then);
  void cancel_at_once(graph::Task& task, WorkerId releasing, graph::ReadyList& list);
  static bool overwrites(const graph::Task& task) {
    for (const graph::Access& access : task.accesses()) {
      if (access.mode == AccessMode::W) return true;
    }
    return false;
  }
  // What the task overwrites unread, all tasks before have done with.
  void begin_overwriting(const graph::Task& task) const;
  static void end_overwriting(const graph::Task& task);
  void hand_to_policy(graph::Task& task, WorkerId releasing) {
    if (eligibility_.is_confined(task)) confined_.fetch_add(1, std::memory_order_relaxed);
    ready_.add(task);
    if (!trivial_ && overwrites(task)) [[unlikely]]
      begin_overwriting(task);
    gate_.push(task, releasing);
  }
  bool reach_confined(LookAhead& ahead, WorkerId worker, graph::ReadyList& cancelled);
  graph::Task* pop(WorkerId worker);
  graph::Task* pull(WorkerId worker);
  graph::Task* next(WorkerId worker);
  graph::Task* next_by_memory(WorkerId worker);
  graph::Task* next_by_contention(WorkerId worker);
  graph::Task* next_beside(WorkerId worker);
  graph::Task* next_given(WorkerId worker) {
    return trivial_ ? pull(worker) : next_by_memory(worker);
  }
  graph::Task* look_further(WorkerId worker, std::uint64_t performances_before);
  void look_around(WorkerId worker);
  graph::Task* next_after_slices(WorkerId worker);
  bool run_deferred(WorkerId worker);
  void look_at_gear() {
    if (log_) choose_gear();
  }
  void choose_gear();
  // If the policy plans, and at least so many tasks are new to it: in slices.
  void plan_new(std::size_t at_least);
  bool grow_plan();
  void planning_failed(std::exception_ptr error);
  graph::Task* look_for_a_while(WorkerId worker);
  graph::Task* look_again_and_again(WorkerId worker);
  void leave_memory(const graph::Task& task, WorkerId worker);
  bool pin_or_keep(graph::Task& task, NodeId node);
  bool keep_or_hold(LookAhead& ahead, graph::Task& task);
  graph::Task* take_from_look_ahead(WorkerId worker);
  bool refill(LookAhead& ahead, WorkerId worker, graph::ReadyList& cancelled);
  bool has_enough_held(const LookAhead& ahead, WorkerId worker) const;
  bool keep_held(LookAhead& ahead, WorkerId worker, graph::ReadyList& cancelled);
  bool any_started(NodeId node) const;
  static bool has_any_ended(const LookAhead& ahead, WorkerId worker);
  bool move_from_peer(WorkerId worker);
  void start(graph::Task& task, WorkerId worker);
  // Runs are timed or recorded: one look for both.
  static constexpr trace::Categories kTimesTasks = trace::Categories{1} << 17;
  bool watches_runs() const {
    return recorder_.any(trace::bit(trace::Category::tasks) | kTimesTasks);
  }
  void begin_watched(const graph::Task& task, WorkerId worker);
  void record_processor_time(WorkerId worker);
  void end_watched(const graph::Task& task, WorkerId worker, Outcome outcome,
                   std::optional<Time> run_time);
  Outcome end_early(const graph::Task& task, const std::exception_ptr& error);
  void end_run(graph::Task& task, WorkerId worker, const std::exception_ptr& error,
               std::optional<Time> run_time, graph::ReadyList& ready);
  bool ends_plainly(const graph::Task& task) const {
    return ends_plainly_ && !task.extension && errors_.none_yet() && !watches_runs();
  }
  // What a task's end takes: of most the graph alone has to hear.
  enum class Ends : bool { plainly, in_any_way };
  template <Ends how>
  void end_as(graph::Task& task, WorkerId worker, Outcome outcome, graph::ReadyList& ready);
  void end(graph::Task& task, WorkerId worker, Outcome outcome, graph::ReadyList& ready);
  void leave_or_lift_poison(const graph::Task& task, Outcome outcome);
  void share(graph::Task& task);
  void note_unused(const graph::Task& task);
  bool begin_in_place(graph::Task& task, WorkerId worker);
  void end_reduction(graph::Task& task, Outcome outcome);
  void begin_anew(graph::Reduction& reduction);
  void call_on_end(graph::Task& task, WorkerId worker, Outcome outcome, graph::ReadyList& ready);
  void end_one_cancelled(graph::Task& task, WorkerId worker);
  void end_cancelled(graph::ReadyList& list, WorkerId worker);
  void end_refused(WorkerId worker);
  void retire(graph::Task& task, WorkerId worker);
  // When a task becomes ready: what it reads does not change any more.
  bool must_cancel(const graph::Task& task) {
    return !errors_.none_yet() && has_to_be_cancelled(task);
  }
  [[gnu::noinline]] bool has_to_be_cancelled(const graph::Task& task) {
    if (errors_.cancels(task)) return true;
    for (const graph::Access& access : task.accesses()) {
      if (reads(access.mode) && access.handle->poisoned.load(std::memory_order_relaxed)) {
        // Of a task of the runtime whoever wants the handle is told.
        if (!task.hands_on()) errors_.report_poisoned(task, *access.handle);
        return true;
      }
    }
    return false;
  }

  // what memory asks for (perform.cpp)
  void perform(memory::Actions& actions) {
    if (!actions.empty()) perform_all(actions);
  }
  void perform_all(memory::Actions& actions);
  // What call(actions) asks for.
  template <typename Call>
  void perform_what(const Call& call) {
    memory::Actions actions;
    call(actions);
    perform(actions);
  }
  void perform_once(const memory::Actions& todo, memory::Actions& actions);
  void start_copy(const memory::Copy& copy, memory::Actions& actions);
  void look_again(NodeId node, memory::Actions& actions);
  void end_copy(memory::CopyId copy, std::exception_ptr error, memory::Actions& actions);
  void grant_fresh_prefetches() {
    if (prefetch_requests_.fresh()) grant_prefetches();
  }
  void grant_prefetches();

  NodeId node_of(WorkerId worker) const { return config_.machine.workers[worker.value].node; }

  // what is recorded of a task's way (recording.cpp)
  bool records(trace::Category category) const { return recorder_.on(category); }
  void record_submitted(const graph::Task& task, std::span<const TaskId> after);
  void record_moved(const graph::Task& task, WorkerId worker);
  void record_started(const graph::Task& task, WorkerId worker);
  void record_ended(const graph::Task& task, WorkerId worker, Outcome outcome, Time run_time);
  // Of one that has not run.
  void record_end(const graph::Task& task, WorkerId worker, Outcome outcome) {
    if (records(trace::Category::tasks)) record_ended(task, worker, outcome, Time{});
  }
  void record_started(const memory::Copy& copy);

  EngineData data_{*this};
  EngineConfig config_;
  trace::Recorder recorder_;
  std::unique_ptr<sched::Policy> policy_;
  const sched::PolicyTraits traits_;
  const bool timed_;          // the time of each run is asked for
  bool has_devices_ = false;  // some worker's memory is not RAM
  const std::vector<NodeWorkers> node_workers_;
  DriverTable drivers_;
  AwaitedTime awaited_;
  ThreadCounters counters_;
  Sleepers sleepers_;
  Errors errors_;
  memory::Residency residency_;
  const bool trivial_;       // all data are where all workers are
  const bool changes_gear_;  // the policy does
  const bool is_planned_;    // a task, perhaps, before it is pushed
  ContentionGate contention_;
  // A worker that asks has what the policy gives.
  const bool pulls_ = trivial_ && !contention_.active();
  // Neither memory nor the policy hears of the end of a task.
  const bool ends_plainly_ =
      pulls_ && !traits_.plans && !traits_.wants_ends && !config_.count_bytes;
  graph::TaskPool pool_;
  graph::Precedences precedences_{pool_};
  std::optional<SubmissionLog> log_;  // if the policy changes gear
  PolicyGate gate_;
  Eligibility eligibility_;
  ReadyByKind ready_;
  Kinds kinds_{};
  ScratchPool* scratch_ = nullptr;
  const Costs costs_;
  PrefetchRequests prefetch_requests_;
  PrivateCopies copies_;
  Producers producers_;
  PolicyView view_;
  std::vector<std::unique_ptr<LookAhead>> look_aheads_;  // by node
  std::vector<RunTimer> timers_;                  // by worker; none if times are not asked for
  std::vector<ProcessorTimer> processor_timers_;  // by worker
  std::atomic<std::uint64_t> confined_{0};        // tasks with the policy that are, see Eligibility
  std::atomic<std::uint32_t> performing_{0};      // threads inside perform_all or copy_done
  std::uint64_t performances_ = 0;  // of perform_all; in simulation alone, where one thread calls
  ActionsPool actions_;
};

// A task that has been made. One that is not submitted, as something was thrown meanwhile, is discarded.
class MadeTask {
 public:
  MadeTask(Engine& engine, graph::Task& task, WorkerId worker)
      : engine_(engine), task_(&task), worker_(worker) {}
  ~MadeTask() {
    if (task_ != nullptr) [[unlikely]]
      engine_.discard(*task_, worker_);
  }
  MadeTask(const MadeTask&) = delete;
  MadeTask& operator=(const MadeTask&) = delete;

  graph::Task& operator*() const { return *task_; }
  graph::Task* operator->() const { return task_; }
  // For Engine::submit, which discards a refused task, or for the next step of making.
  graph::Task& take() { return *std::exchange(task_, nullptr); }

 private:
  Engine& engine_;
  graph::Task* task_;
  const WorkerId worker_;
};

}  // namespace vicinal::engine
