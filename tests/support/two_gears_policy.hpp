// A policy with two gears: one list for all in the first, the order of submission as it was planned in the second, where
// it asks for copies in place of victims that it draws. It looks whether the engine keeps to what it promises.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "sched/policy.hpp"

namespace vicinal::testing {

class TwoGearsPolicy : public sched::Policy {
 public:
  // What a test looks at; outlives the policy.
  struct Seen {
    std::array<std::atomic<std::uint64_t>, 2> changes{};  // to each gear
    std::atomic<std::uint64_t> pushed_planned{0};         // in the second gear, of which:
    std::atomic<std::uint64_t> planned_before{0};         // known when they were pushed
    std::atomic<std::uint64_t> planned{0};
    std::atomic<std::uint64_t> planned_passed_on{0};  // had been pushed in the first gear
    std::atomic<std::uint64_t> faults{0};             // of the engine
  };
  explicit TwoGearsPolicy(Seen& seen) : seen_(seen) {}

  std::string_view name() const override { return "two_gears"; }
  sched::PolicyTraits traits() const override { return {.concurrent = true, .two_gears = true}; }
  void start(sched::PolicyContext& context) override { context_ = &context; }

  void gear_changed(sched::Gear gear) override {
    const Call call(*this, Call::Alone::yes);
    expect(gear != gear_);
    gear_ = gear;
    ++seen_.changes[static_cast<std::size_t>(gear)];
    if (gear == sched::Gear::planned) {
      for (graph::Task* const task : queue_) keep(*task);
      queue_.clear();
      return;
    }
    for (const auto& [number, task] : ready_) queue_.push_back(task);
    for (const auto& [task, number] : planned_) task->policy_data = nullptr;
    ready_.clear();
    late_.clear();
    planned_.clear();
  }
  void plan(const sched::KnownTasks& known) override {
    const Call call(*this, Call::Alone::yes);
    expect(gear_ == sched::Gear::planned);
    expect(known.first + known.planned_before >= told_);
    told_ = known.first + known.tasks.size();
    for (std::size_t i = known.planned_before; i < known.tasks.size(); ++i) {
      graph::Task* const task = known.tasks[i];
      if (task == nullptr) continue;
      expect(planned_.emplace(task, known.first + i).second);
      task->policy_data = this;
      ++seen_.planned;
      if (const auto late = late_.find(task); late != late_.end()) {
        ++seen_.planned_passed_on;
        ready_.erase(late->second);
        late_.erase(late);
        ready_.emplace(known.first + i, task);
      }
      ask_for_copy(known, i);
    }
  }
  void push(graph::Task& task, WorkerId /*releasing*/) override {
    if (gear_ == sched::Gear::planned) {
      const Call call(*this, Call::Alone::yes);
      ++seen_.pushed_planned;
      keep(task);
    } else {
      const Call call(*this, Call::Alone::no);
      const std::lock_guard lock(mutex_);
      queue_.push_back(&task);
    }
  }
  graph::Task* pop(WorkerId worker) override {
    if (gear_ == sched::Gear::planned) {
      const Call call(*this, Call::Alone::yes);
      for (const auto& [number, task] : ready_) {
        if (!context_->can_run(*task, worker)) continue;
        graph::Task* const popped = task;
        ready_.erase(number);
        late_.erase(popped);
        return popped;
      }
      return nullptr;
    }
    const Call call(*this, Call::Alone::no);
    const std::lock_guard lock(mutex_);
    for (auto task = queue_.begin(); task != queue_.end(); ++task) {
      if (!context_->can_run(**task, worker)) continue;
      graph::Task* const popped = *task;
      queue_.erase(task);
      return popped;
    }
    return nullptr;
  }
  void task_done(graph::Task& task, WorkerId /*worker*/) override {
    const Call call(*this, Call::Alone::yes);
    expect(gear_ == sched::Gear::planned);
    expect((planned_.erase(&task) == 1) == (task.policy_data != nullptr));
  }
  void data_loaded(graph::Handle& /*handle*/, NodeId /*node*/) override { hear_of_copy(); }
  void data_evicted(graph::Handle& /*handle*/, NodeId /*node*/) override { hear_of_copy(); }

 private:
  // Of the engine; in the second gear, and while that changes, there is one at most.
  class Call {
   public:
    enum class Alone : bool { no, yes };
    Call(TwoGearsPolicy& policy, Alone alone) : policy_(policy) {
      const int before = policy.inside_.fetch_add(1);
      policy.expect(alone == Alone::no || before == 0);
    }
    ~Call() { --policy_.inside_; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    TwoGearsPolicy& policy_;
  };
  void expect(bool holds) {
    if (!holds) ++seen_.faults;
  }
  void hear_of_copy() {
    const Call call(*this, Call::Alone::yes);
    expect(gear_ == sched::Gear::planned);
  }
  // In its place if it was planned, else behind all that were.
  void keep(graph::Task& task) {
    constexpr std::uint64_t kLate = std::uint64_t{1} << 62;
    std::uint64_t number = 0;
    if (const auto planned = planned_.find(&task); planned != planned_.end()) {
      number = planned->second;
      ++seen_.planned_before;
    } else {
      number = kLate + next_late_++;
      late_.emplace(&task, number);
    }
    ready_.emplace(number, &task);
  }
  // For the first datum that it reads, in place of any other.
  void ask_for_copy(const sched::KnownTasks& known, std::size_t number) {
    if (context_->random().below(4) != 0) return;
    const auto& nodes = context_->machine().nodes;
    const NodeId node = nodes[context_->random().below(nodes.size())].id;
    if (nodes[node.value].kind == NodeKind::disk) return;
    for (const auto& access : known.graph.accesses_of(known.graph.tasks()[number])) {
      if (!reads(access.mode)) continue;
      graph::Handle* const victim = known.data[context_->random().below(known.data.size())];
      context_->load(*known.tasks[number], *known.data[access.datum], node, victim);
      return;
    }
  }

  Seen& seen_;
  sched::PolicyContext* context_ = nullptr;
  sched::Gear gear_ = sched::Gear::immediate;  // changes while no other call is inside
  std::atomic<int> inside_{0};
  std::mutex mutex_;  // of the first gear
  std::deque<graph::Task*> queue_;
  // Of the second, under no lock of its own.
  std::map<std::uint64_t, graph::Task*> ready_;
  std::unordered_map<graph::Task*, std::uint64_t> late_;  // of ready_, those that were not planned
  std::unordered_map<graph::Task*, std::uint64_t> planned_;  // and have not ended
  std::uint64_t next_late_ = 0;
  std::uint64_t told_ = 0;
};

}  // namespace vicinal::testing
