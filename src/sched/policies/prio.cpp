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
  void start(PolicyContext& context) override { decisions_.start(context); }

  void push(graph::Task& task, WorkerId /*releasing*/) override { ready_.push_back(task); }

  graph::Task* pop(WorkerId worker) override {
    return decisions_.take_first(ready_, worker, trace::Reason::highest_priority);
  }

 private:
  Decisions decisions_;
  TaskList ready_;
};

}  // namespace

std::unique_ptr<Policy> make_prio() {
  return std::make_unique<Prio>();
}

}  // namespace vicinal::sched
