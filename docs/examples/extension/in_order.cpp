#include "in_order.hpp"

#include <cstdint>
#include <map>

namespace {

using namespace vicinal;

// in_order: of the ready tasks the one submitted first; what is used last by all that were submitted goes.
class InOrder final : public sched::Policy {
 public:
  std::string_view name() const override { return kInOrder.name; }
  sched::PolicyTraits traits() const override { return {.wants_ends = true, .plans = true}; }
  memory::VictimChoice* victims() override { return &future_; }
  void start(sched::PolicyContext& context) override {
    context_ = &context;
    future_.start(context);
  }

  void plan(const sched::KnownTasks& known) override {
    for (std::size_t i = known.planned_before; i < known.tasks.size(); ++i) {
      graph::Task* const task = known.tasks[i];
      if (task == nullptr) continue;
      Record& record = records_.open(*task);
      record.number = known.first + i;
      future_.expect(*task, record.place);  // on whichever node
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
    if (task.policy_data == nullptr) return;  // the plan failed before it
    future_.forget(task, records_.of(task).place);
    records_.close(task);
  }
  void data_forgotten(graph::Handle& handle) override { future_.forget(handle); }

 private:
  struct Record {
    std::uint64_t number = 0;
    sched::FutureUses::TaskUses place;
  };

  sched::PolicyContext* context_ = nullptr;
  sched::FutureUses future_;
  std::map<std::uint64_t, graph::Task*> ready_;  // by number
  sched::Records<Record> records_;
};

}  // namespace

std::unique_ptr<vicinal::sched::Policy> make_in_order(const vicinal::sched::Settings& /*none*/) {
  return std::make_unique<InOrder>();
}
