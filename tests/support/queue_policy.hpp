// The simplest policy: first in, first out, for whoever asks.
#pragma once

#include <deque>
#include <string_view>

#include "sched/policy.hpp"

namespace vicinal::sched {

class QueuePolicy : public Policy {
 public:
  std::string_view name() const override { return "queue"; }
  void start(PolicyContext& /*context*/) override {}
  void push(graph::Task& task, WorkerId /*releasing*/) override { tasks_.push_back(&task); }
  graph::Task* pop(WorkerId /*worker*/) override {
    if (tasks_.empty()) return nullptr;
    graph::Task* const task = tasks_.front();
    tasks_.pop_front();
    return task;
  }

 private:
  std::deque<graph::Task*> tasks_;
};

}  // namespace vicinal::sched
