// The contract of a scheduling policy: which ready task runs where, and in which order.
//
// The life of a ready task in a policy:
//   push(task)    it has become ready, by the end of a task on `releasing` or by its submission;
//   pop(worker)   the worker's memory node has room in its look-ahead: give it a task, or nullptr.
//                 The engine then copies its operands to worker.node and starts it there, on that
//                 worker or on another one of the same node that can run it;
//   may_move      a worker of another node has found nothing: it may get a popped task that waits;
//   task_done     it has ended (also when it failed or was cancelled).
// A policy that plans is told of it before: plan(), when the submission window is full or the application waits. Every
// task that is pushed must be popped once, by some worker that can run it: a policy never drops a task, and never
// withholds one for ever from a worker that asks again. A policy may keep a task for a present worker, and then wakes
// that worker (PolicyContext::wake). A task kept for an absent worker goes to any asking worker that can run the task.
//
// Threads: the engine calls one method at a time (under the policy's lock), but those that
// PolicyTraits::concurrent names.
// A policy keeps no statics: two runtimes may live in one process.
//
// A small example is policies/eager.cpp. A new policy of the library is one class in one file there and one line in
// registry.cpp; that of an application is given to register_policy. The conformance tests then run over it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "graph/graph.hpp"
#include "graph/handle.hpp"
#include "graph/kept_plan.hpp"
#include "graph/task.hpp"
#include "memory/victim.hpp"
#include "sched/settings.hpp"
#include "trace/decision.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::sched {

// Where a handle is: bit n says it of memory node n.
struct Presence {
  std::uint64_t valid = 0;    // the replica is valid
  std::uint64_t on_node = 0;  // what PolicyContext::on_node says: not while it is being evicted
};

// What a policy may ask, and request. Implemented by the engine. All of it may be called from any method
// of the policy; none of it calls the policy, or waits for a thread that does.
class PolicyContext {
 public:
  virtual ~PolicyContext() = default;
  virtual const MachineDescription& machine() const = 0;
  virtual Time now() const = 0;
  // An implementation exists for the worker's kind, the worker is not excluded, and the working set
  // fits the worker's node.
  virtual bool can_run(const graph::Task& task, WorkerId worker) const = 0;
  // The replica is valid on the node, or a copy of it to the node has been requested.
  virtual bool on_node(const graph::Handle& handle, NodeId node) const = 0;
  // For all nodes at once.
  virtual Presence presence(const graph::Handle& handle) const = 0;
  // Bytes of the operands the task reads that are not on the node.
  virtual Bytes missing_bytes(const graph::Task& task, NodeId node) const = 0;
  // Predicted time to copy the handle to the node from its cheapest valid source, alone on the
  // links; 0 if it is there. Relative where no bandwidth is known (1 byte = 1 ns).
  virtual Time transfer_time(const graph::Handle& handle, NodeId node) const = 0;
  // Predicted time of the task on the worker: Codelet::expected, else what was learned from runs if the
  // policy wants them (PolicyTraits); 0 when unknown. The same for all workers of one kind.
  virtual Time run_time(const graph::Task& task, WorkerId worker) const = 0;
  // Of the policy alone, seeded by the option `seed`.
  virtual base::Random& random() = 0;
  // No thread works for the worker at present: it is the application's, which does something else.
  virtual bool away(WorkerId worker) const = 0;
  // Who is told of the policy's choices; null: nobody, and no decision is built. Always the same.
  virtual trace::DecisionListener* listener() const { return nullptr; }

  // Tasks that were pushed and that the worker will probably pop next, in this order: what belongs to them
  // is asked from memory at once (base/warm.hpp). Nobody may pop them before this returns: a concurrent
  // policy holds its lock.
  virtual void coming(std::span<const graph::Task* const> tasks, WorkerId worker) const = 0;
  static constexpr std::size_t kComing = 3;  // more are not looked at

  // --- requests: the engine does it once the policy's method has returned
  // The task, pushed and not yet popped, will probably run there. Its inputs are copied into free room; nothing is
  // evicted for them. Until the task is popped, LRU evicts its inputs after all data that no such task reads.
  // Requests of a node wait first in, first out, until there is room; those for a popped task are dropped, as the
  // look-ahead copies for it.
  virtual void prefetch(const graph::Task& task, NodeId node) = 0;
  // A task that was pushed is kept for this worker: it must not sleep on.
  virtual void wake(WorkerId worker) = 0;
  // Work that takes long, in slices: each call does one and says whether there are more. Workers that find no
  // task and a thread that waits call it, first come first served, one slice at a time and under the policy's
  // lock: a slice longer than a task makes others wait. After the last one all workers look for tasks.
  // In simulation a slice takes no time of its own; --count-scheduling counts it with the rest.
  virtual void defer(std::function<bool()> slice) = 0;
  // Planned: the handle, which the task reads, is to be copied to the node now, and `victim` is to leave for it; null:
  // the one that VictimChoice gives for a prefetch. For a task that the policy knows and nobody has popped: then the
  // request is dropped.
  // Where there is free room nothing leaves. A victim that is in use is waited for, and so is a dirty one until its
  // content is safe; for one that is not there any more another goes, as for the copies of the look-ahead.
  // Firm requests come first.
  virtual void load(const graph::Task& task, graph::Handle& handle, NodeId node,
                    graph::Handle* victim) {
    (void)task, (void)handle, (void)node, (void)victim;
  }
};

// What is known of the tasks to come: those submitted and not passed on yet, in the order of their
// submission. Valid during the call of plan().
struct KnownTasks {
  // Data and tasks have numbers of their own in each graph. What stays: a task is number `first` + its
  // number here, among all tasks of the run; a datum is its handle, until data_forgotten.
  const graph::Graph& graph;
  // By number here. Null: what the application acquires, prefetches or invalidates, which is never pushed. A policy may set
  // their policy_data.
  std::span<graph::Task* const> tasks;
  std::span<graph::Handle* const> data;  // by number here
  std::uint64_t first = 0;
  std::size_t planned_before = 0;  // so many of the tasks were known at the call before
};

// When it is to be decided whether a task is divided.
struct Situation {
  std::uint32_t workers = 0;
  std::uint32_t idle = 0;  // of them, that have found nothing to do
};

// What a policy wants and promises. Asked for once, when the engine is made.
struct PolicyTraits {
  bool concurrent = false;  // push, pop and may_move come from several threads at once
  // may_move is called: a policy that chooses the worker itself wants none of it.
  bool moves_tasks = false;
  // It has predicted which worker runs a task: the engine leaves a popped task that has to wait to the worker that popped it,
  // as long as that comes.
  bool chooses_workers = false;
  bool wants_ends = false;  // task_done is called
  // Tasks are timed: run_time() is known also where the application does not say.
  bool wants_run_times = false;
  // The same, only where devices work beside cores or beside others: their speeds differ by orders of magnitude.
  bool wants_speeds_of_kinds = false;
  // Tasks of a node are popped about in the order of PolicyContext::prefetch.
  bool keeps_order = true;
  // plan() is called: tasks are deferred until the submission window is full, the application waits, or it pauses
  // (Options::plan_pause).
  bool plans = false;
  // The policy asks for copies before tasks are popped (PolicyContext::load). The look-ahead keeps room free for results
  // alone.
  bool plans_copies = false;
  // The tasks of a node start in the order in which they are popped: also a task whose operands are there waits for the tasks
  // popped before, as far as its worker can run them.
  bool starts_in_order = false;
  // It runs a task where that says (Task::named_node): codelets are asked where their tasks are to run.
  bool follows_placement = false;
  // It has a second gear, in which the engine calls it while memory is short or accelerators take part: see
  // Policy::gear_changed. `concurrent` and `wants_ends` are those of the first; in the second it is serial, wants ends,
  // and plans, though no task is deferred for that. What else is said here holds in both.
  bool two_gears = false;
  // Tasks popped and not ended, per worker of an accelerator; a core beside accelerators gets one. 0: the look-ahead
  // of the engine decides, as it does where the option look_ahead says how far it goes.
  std::uint32_t in_flight = 0;
};

// Whether its tasks are timed on this machine.
inline bool wants_run_times(const PolicyTraits& traits, const MachineDescription& machine) {
  if (traits.wants_run_times || !traits.wants_speeds_of_kinds) return traits.wants_run_times;
  return std::ranges::any_of(machine.workers, [&](const WorkerDescription& device) {
    return !runs_on_host(device.kind) &&
           std::ranges::any_of(machine.workers, [&](const WorkerDescription& other) {
             return other.kind != device.kind;
           });
  });
}

// Of a policy that has two.
enum class Gear : std::uint8_t {
  immediate,  // nothing is planned
  planned,    // what was submitted and has not ended is known, and grows
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;
  virtual PolicyTraits traits() const { return {}; }
  // Before start(), at most once: tasks that the plan has are to run where it says, in its order. False: the policy follows
  // no plan.
  virtual bool follow(const std::shared_ptr<const graph::KeptPlan>& plan) {
    return static_cast<void>(plan), false;
  }
  // Called once, before any other method but follow(). The context outlives the policy.
  virtual void start(PolicyContext& context) = 0;
  // If its traits say that it plans: before any of the tasks that are new to it is pushed. Each is new once,
  // in the order of submission; they may be few at a time, for what is submitted inside tasks, or while a
  // thread waits, is passed on at once. A policy that wants ends hears of the end of each, also of one that
  // is cancelled before it was pushed. Which worker a combination of what tasks reduced is bound to is known
  // only when it is pushed (engine/kinds/combination.hpp). If this throws, or there is no memory to say what is known, the run
  // is cancelled: then ends come of tasks that it has not seen.
  virtual void plan(const KnownTasks& known) { (void)known; }
  // Of what plan() was told, that which waits for no other task has been pushed, but for tasks that the submission
  // window holds back.
  virtual void passed_on() {}
  // If it has two gears, of which the first is Gear::immediate: from now on it is called as in that one. No other call
  // is inside it meanwhile. The policy takes along the tasks that were pushed and are not popped. In the planned gear plan() is called
  // in slices, as `defer` does it: a task may be pushed, popped and ended before it is planned, and one that was
  // popped may be new to plan(). Ends come of tasks, too, that were not planned. What is known begins with all that
  // was submitted and has not ended; of tasks that have ended since KnownTasks::tasks is null, and `data` of handles that
  // were forgotten; now and then those that have ended are left out, so that the number of a task counts only when it is
  // new. In the immediate gear no plan counts, and no task is policy_data's: ends of planned tasks
  // do not come unless its traits say so.
  virtual void gear_changed(Gear gear) { (void)gear; }
  // `releasing` is the worker whose task released this one, or kNoWorker at submission.
  virtual void push(graph::Task& task, WorkerId releasing) = 0;
  virtual graph::Task* pop(WorkerId worker) = 0;
  // The task was popped by a worker of another node with workers of the same kind and has not started;
  // `to` has nothing to do. True: from now on it is as if `to` had popped it.
  virtual bool may_move(graph::Task& task, WorkerId to) { return (void)task, (void)to, true; }
  // Before the task's slot is reused.
  virtual void task_done(graph::Task& task, WorkerId worker) { (void)task, (void)worker; }
  // A replica has become valid on the node by a copy, or has left it. Serial policies only.
  virtual void data_loaded(graph::Handle& handle, NodeId node) { (void)handle, (void)node; }
  virtual void data_evicted(graph::Handle& handle, NodeId node) { (void)handle, (void)node; }
  // The handle is about to be forgotten: drop policy_data.
  virtual void data_forgotten(graph::Handle& handle) { (void)handle; }
  // The application waits: what has been submitted is all that comes for now.
  virtual void submission_closed() {}
  // A ready task whose codelet is recursive, before it is pushed: true, and its operands are divided in place of that
  // (vicinal/recursion.hpp). Several threads at once, under no lock.
  virtual bool divides(const graph::Task& task, const Situation& now) const {
    return (void)task, now.idle > 0;
  }
  // The policy's own choice of victims, or nullptr for LRU. Owned by the policy.
  virtual memory::VictimChoice* victims() { return nullptr; }
};

struct PolicyEntry {
  std::string_view name;
  std::string_view sentence;  // for `vicinal policies`
  std::unique_ptr<Policy> (*make)(const Settings&);
  std::span<const Setting> settings = {};
};

// The explicit table of the library's policies, and behind it those that were registered.
std::vector<PolicyEntry> policies();
// Makes a policy known by its name: to the option `policy`, lists, messages and the conformance tests. For the life of the
// process, as long as its texts must last, too: they are not copied. Any thread. Throws UsageError: there is nothing
// to make it with, another policy has the name, or it is not made of small letters, digits and underscores.
void register_policy(const PolicyEntry& entry);
std::vector<PolicyEntry> registered_policies();
// By its name, and settings behind it: "darts", "hfp:flip=no". Throws UsageError that names the nearest one.
std::unique_ptr<Policy> make_policy(std::string_view name);

}  // namespace vicinal::sched
