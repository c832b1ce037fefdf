// prio: one queue for all workers, by decreasing priority; first in, first out among equals.

#include "sched/decisions.hpp"
#include "sched/policy.hpp"
#include "sched/priority_list.hpp"

namespace vicinal::sched {
namespace {

class Prio final : public Policy {
 public:
  std::string_view name() const override { return "prio"; }
  PolicyTraits traits() const override { return {.moves_tasks = true}; }
  void start(PolicyContext& context) override {
    context_ = &context;
    decisions_.start(context);
  }

  void push(graph::Task& task, WorkerId /*releasing*/) override { ready_.push_back(task); }

  graph::Task* pop(WorkerId worker) override {
    graph::Task* const task = ready_.find_first(
        [&](const graph::Task& ready) { return context_->can_run(ready, worker); });
    if (task == nullptr) return nullptr;
    if (decisions_.heard()) {
      decisions_.tell_first(*task, worker, trace::Reason::highest_priority,
                            [&](const auto& name) { ready_.find_first(name); });
    }
    ready_.remove(*task);
    return task;
  }

 private:
  PolicyContext* context_ = nullptr;
  Decisions decisions_;
  TaskList ready_;
};

}  // namespace

std::unique_ptr<Policy> make_prio() {
  return std::make_unique<Prio>();
}

}  // namespace vicinal::sched
