// The only way to the policy. Lets concurrent policies through; for the others it serialises: an
// event that finds the policy busy is left in an inbox, which whoever holds the policy empties. A policy with two gears
// is let through in one of them alone: the calls that are inside are counted, and who changes gear waits for them.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "base/stopwatch.hpp"
#include "base/sure_memory.hpp"
#include "engine/submission_log.hpp"
#include "graph/dependencies.hpp"
#include "graph/task.hpp"
#include "memory/residency.hpp"
#include "sched/policy.hpp"
#include "trace/recorder.hpp"

namespace vicinal::engine {

class PolicyGate {
 public:
  // `retire` is called, under the policy's lock, for an ended task that the policy is the last to have
  // done with.
  // `refused` is called, perhaps under that lock, when there is a task that the policy had no memory to take: it is
  // for take_refused. `timed`: the policy's calls are timed, by the wall clock also in a simulation. The recorder
  // outlives it, and is told what the policy is given and gives.
  using Retire = std::function<void(graph::Task&, WorkerId)>;
  static void ignore() {}
  PolicyGate(sched::Policy& policy, Retire retire, trace::Recorder& recorder,
             std::function<void()> refused = ignore, bool timed = false);

  // Before any other call: its policy changes gear, and plans on what was submitted, which outlives the gate.
  void set_gears(SubmissionLog& submissions, std::size_t workers);
  sched::Gear gear() const { return gear_.load(std::memory_order_seq_cst); }
  // False: it was in that gear. By a thread that is in no call of the policy.
  bool change_gear(sched::Gear to);

  void push(graph::Task& task, WorkerId releasing) {
    if (concurrent_) return push_at_once(task, releasing);
    push_in_gear(task, releasing);
  }
  graph::Task* pop(WorkerId worker) {
    if (concurrent_) return pop_at_once(worker);
    return pop_in_gear(worker);
  }
  bool may_move(graph::Task& task, WorkerId to) {
    if (concurrent_) return may_move_at_once(task, to);
    return may_move_in_gear(task, to);
  }
  bool any_refused() const { return any_refused_.load(std::memory_order_relaxed); }
  graph::ReadyList take_refused();
  bool wants_ends() const { return wants_ends_; }
  // Only if wants_ends(). The task is done; the gate lets its slot go when the policy has heard (let_slot_go), at once if
  // the policy's gear wants no ends.
  void task_done(graph::Task& task, WorkerId worker);
  void notice(const memory::Notice& notice);
  void submission_closed();
  // `failed` is given what the policy throws, under the policy's lock: no task comes out of a plan that failed before
  // that.
  using Failed = std::function<void(std::exception_ptr)>;
  void plan(const sched::KnownTasks& known, const Failed& failed);
  void passed_on();
  // Long work of the policy, by the policy; then by any thread a slice of it. Work that throws is over.
  void defer(std::function<bool()> slice);
  bool has_deferred() const { return deferred_count_.load(std::memory_order_seq_cst) != 0; }
  enum class Slice : std::uint8_t { none, done, last };
  // None: there is nothing to do, or another thread is at it.
  Slice run_slice(WorkerId current, const Failed& failed);
  void forget(graph::Handle& handle);
  graph::Handle* choose_victim(const memory::VictimQuery& query, memory::Candidates& candidates);
  Time time_in_policy() const { return watch_ ? watch_->time() : Time{0}; }

 private:
  struct Event {
    enum class Kind : std::uint8_t { push, done, loaded, evicted } kind;
    graph::Task* task = nullptr;
    graph::Handle* handle = nullptr;
    WorkerId worker;
    NodeId node;
  };

  // Calls are timed or recorded: one look for both.
  static constexpr trace::Categories kTimed = trace::Categories{1} << 16;
  bool watched() const { return recorder_.any(trace::bit(trace::Category::scheduler) | kTimed); }
  void push_at_once(graph::Task& task, WorkerId releasing) {
    if (watched()) [[unlikely]]
      return push_watched(task, releasing);
    try {
      policy_.push(task, releasing);
    } catch (const std::bad_alloc&) {
      refuse(task);
    }
  }
  graph::Task* pop_at_once(WorkerId worker) {
    if (watched()) [[unlikely]]
      return pop_watched(worker);
    return policy_.pop(worker);
  }
  void push_watched(graph::Task& task, WorkerId releasing);
  graph::Task* pop_watched(WorkerId worker);
  bool may_move_at_once(graph::Task& task, WorkerId to) {
    const base::Stopwatch::Lap lap(watch_.get());
    return policy_.may_move(task, to);
  }
  void refuse(graph::Task& task);

  // --- gears
  struct alignas(64) Calls {
    std::atomic<std::uint32_t> inside{0};
  };
  // A call in the concurrent gear; no call in the other.
  class Inside {
   public:
    Inside(PolicyGate& gate, WorkerId worker) : calls_(gate.calls_of(worker)) {
      calls_.fetch_add(1, std::memory_order_seq_cst);
      is_inside_ = gate.first_concurrent_ && gate.gear() == sched::Gear::immediate;
      if (!is_inside_) calls_.fetch_sub(1, std::memory_order_release);
    }
    ~Inside() {
      if (is_inside_) calls_.fetch_sub(1, std::memory_order_release);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    explicit operator bool() const { return is_inside_; }

   private:
    std::atomic<std::uint32_t>& calls_;
    bool is_inside_ = false;
  };
  bool has_gears() const { return log_ != nullptr; }
  std::atomic<std::uint32_t>& calls_of(WorkerId worker) {
    return calls_[worker == kNoWorker ? calls_.size() - 1 : worker.value].inside;
  }
  // Of policies that are not concurrent in all gears; apart, so that the way of the others stays short.
  void push_in_gear(graph::Task& task, WorkerId releasing);
  graph::Task* pop_in_gear(WorkerId worker);
  bool may_move_in_gear(graph::Task& task, WorkerId to);
  // Under the policy's lock: what the gear does not hear of.
  bool hears_copies() const {
    return !has_gears() || !first_concurrent_ || gear() == sched::Gear::planned;
  }
  bool hears_ends() const {
    return !has_gears() || first_wants_ends_ || gear() == sched::Gear::planned;
  }
  void apply_done(const Event& event, WorkerId current);

  Slice run_first(const Failed& failed);
  graph::Task* pop_serial(WorkerId worker);
  bool may_move_serial(graph::Task& task, WorkerId to);
  void post(const Event& event, WorkerId current);
  void apply(const Event& event, WorkerId current);
  // `current`: the worker whose thread this is. drain() under the lock, drain_leftovers() not.
  void drain(WorkerId current);
  void drain_leftovers(WorkerId current);

  sched::Policy& policy_;
  std::function<void(graph::Task&, WorkerId)> retire_;
  trace::Recorder& recorder_;
  bool concurrent_;  // in all gears
  bool wants_ends_;  // in one of them
  const bool first_concurrent_;
  const bool first_wants_ends_;
  SubmissionLog* log_ = nullptr;  // null: the policy has one gear
  std::vector<Calls> calls_;      // by worker, and of other threads
  std::atomic<sched::Gear> gear_{sched::Gear::immediate};
  const std::unique_ptr<base::Stopwatch> watch_;  // null: the policy is not timed
  std::mutex mutex_;                              // the policy's lock
  std::mutex inbox_mutex_;
  base::SureVector<Event> inbox_;
  base::SureVector<Event> draining_;
  std::atomic<bool> inbox_filled_{false};
  base::SureDeque<std::function<bool()>> deferred_;  // under inbox_mutex_; the first is being done
  std::atomic<std::size_t> deferred_count_{0};
  std::atomic<bool> in_slice_{false};
  std::function<void()> tell_refused_;
  graph::ReadyList refused_;  // under inbox_mutex_
  std::atomic<bool> any_refused_{false};
};

}  // namespace vicinal::engine
