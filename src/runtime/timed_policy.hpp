// A policy around another: times its calls, by the wall clock also in a simulation.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "sched/policy.hpp"
#include "vicinal/units.hpp"

namespace vicinal::runtime {

class TimedPolicy final : public sched::Policy, private memory::VictimChoice {
 public:
  explicit TimedPolicy(std::unique_ptr<sched::Policy> policy);

  Time time() const;

  std::string_view name() const override { return policy_->name(); }
  bool concurrent() const override { return policy_->concurrent(); }
  void start(sched::PolicyContext& context) override { policy_->start(context); }
  void push(graph::Task& task, WorkerId releasing) override;
  graph::Task* pop(WorkerId worker) override;
  bool may_move(graph::Task& task, WorkerId to) override;
  bool moves_tasks() const override { return policy_->moves_tasks(); }
  void task_done(graph::Task& task, WorkerId worker) override;
  bool wants_ends() const override { return policy_->wants_ends(); }
  bool wants_run_times() const override { return policy_->wants_run_times(); }
  bool keeps_order() const override { return policy_->keeps_order(); }
  void data_loaded(graph::Handle& handle, NodeId node) override;
  void data_evicted(graph::Handle& handle, NodeId node) override;
  void data_forgotten(graph::Handle& handle) override { policy_->data_forgotten(handle); }
  void submission_closed() override;
  memory::VictimChoice* victims() override {
    return policy_->victims() != nullptr ? this : nullptr;
  }

 private:
  graph::Handle* choose(NodeId node, Bytes needed, memory::EvictionReason reason,
                        memory::Candidates& candidates) override;

  std::unique_ptr<sched::Policy> policy_;
  std::atomic<std::int64_t> ticks_{0};  // in calls
  const std::int64_t first_ticks_;
  const Time first_time_;
};

}  // namespace vicinal::runtime
