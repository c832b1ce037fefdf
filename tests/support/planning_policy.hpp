// A small policy that plans: tasks in the order of their submission, victims by what is known of that order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "sched/future_uses.hpp"
#include "sched/policy.hpp"
#include "sched/records.hpp"

namespace vicinal::testing {

class PlanningPolicy : public sched::Policy {
 public:
  std::string_view name() const override { return "planning"; }
  sched::PolicyTraits traits() const override { return {.wants_ends = true, .plans = true}; }
  memory::VictimChoice* victims() override { return &future_; }
  void start(sched::PolicyContext& context) override {
    context_ = &context;
    future_.start(context);
  }
  void plan(const sched::KnownTasks& known) override {
    if (on_plan) on_plan(known);
    for (std::size_t i = known.planned_before; i < known.tasks.size(); ++i) {
      graph::Task* const task = known.tasks[i];
      if (task == nullptr) continue;
      Record& record = records_.open(*task);
      record.number = known.first + i;
      future_.expect(*task, record.place);
      ++planned;
    }
  }
  void push(graph::Task& task, WorkerId /*releasing*/) override {
    ready_.emplace(records_.of(task).number, &task);
  }
  graph::Task* pop(WorkerId worker) override {
    for (const auto& [number, task] : ready_) {
      if (!context_->can_run(*task, worker)) continue;
      graph::Task* const popped = task;
      ready_.erase(number);
      const NodeId node = context_->machine().workers[worker.value].node;
      future_.give(*popped, node, records_.of(*popped).place);
      return popped;
    }
    return nullptr;
  }
  void task_done(graph::Task& task, WorkerId /*worker*/) override {
    if (task.policy_data == nullptr) return;
    future_.forget(task, records_.of(task).place);
    records_.close(task);
    ++ended;
  }
  void data_evicted(graph::Handle& handle, NodeId node) override {
    if (on_evicted) on_evicted(handle, node);
  }
  void data_forgotten(graph::Handle& handle) override { future_.forget(handle); }

  // What a test looks at.
  std::function<void(const sched::KnownTasks&)> on_plan;
  std::function<void(const graph::Handle&, NodeId)> on_evicted;
  std::size_t planned = 0;
  std::size_t ended = 0;

 protected:
  struct Record {
    std::uint64_t number = 0;
    sched::FutureUses::TaskUses place;
  };

  sched::PolicyContext* context_ = nullptr;

 private:
  sched::FutureUses future_;
  std::map<std::uint64_t, graph::Task*> ready_;  // by number
  sched::Records<Record> records_;
};

}  // namespace vicinal::testing
