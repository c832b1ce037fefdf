// belady: the tasks of eager, first in, first out, and victims by Belady's rule on what is known of the
// future: of the replicas that may go, the one whose next use by a ready task comes last.
//
// The rule is that of the dynamic Belady eviction of Gonthier, Marchal and Thibault (2022): a queue of
// uses per datum, victims without a use first. There each accelerator has an order of its own. Here the
// order is that of the one queue, whichever node its tasks will run on, behind what the node has been
// given and has not ended.

#include <utility>

#include "sched/decisions.hpp"
#include "sched/future_uses.hpp"
#include "sched/policy.hpp"
#include "sched/records.hpp"

namespace vicinal::sched {
namespace {

struct QueuedTask {
  graph::Task* task = nullptr;
  QueuedTask* previous = nullptr;  // in the queue
  QueuedTask* next = nullptr;
  FutureUses::Place place;
};

class Belady final : public Policy {
 public:
  std::string_view name() const override { return "belady"; }
  PolicyTraits traits() const override { return {.moves_tasks = true, .wants_ends = true}; }
  memory::VictimChoice* victims() override { return &future_; }
  void start(PolicyContext& context) override {
    context_ = &context;
    decisions_.start(context);
    future_.start(context);
  }

  void push(graph::Task& task, WorkerId releasing) override;
  graph::Task* pop(WorkerId worker) override;
  bool may_move(graph::Task& task, WorkerId to) override;
  void task_done(graph::Task& task, WorkerId worker) override;
  void data_forgotten(graph::Handle& handle) override { future_.forget(handle); }

 private:
  void give(QueuedTask& record, WorkerId worker) {
    future_.give(*record.task, context_->machine().workers[worker.value].node, record.place);
  }

  PolicyContext* context_ = nullptr;
  Decisions decisions_;
  FutureUses future_;
  Chain<QueuedTask> ready_;
  RecordPool<QueuedTask> tasks_;
};

void Belady::push(graph::Task& task, WorkerId /*releasing*/) {
  QueuedTask& record = tasks_.take();
  record.task = &task;
  future_.expect(task, record.place);
  task.policy_data = &record;
  ready_.insert(record);
}

graph::Task* Belady::pop(WorkerId worker) {
  QueuedTask* record = ready_.head;
  while (record != nullptr && !context_->can_run(*record->task, worker)) record = record->next;
  if (record == nullptr) return nullptr;
  if (decisions_.heard()) {
    decisions_.tell_first(*record->task, worker, trace::Reason::first_pushed,
                          [&](const auto& name) {
                            const QueuedTask* at = ready_.head;
                            while (at != nullptr && !name(*at->task)) at = at->next;
                          });
  }
  ready_.unlink(*record);
  give(*record, worker);
  return record->task;
}

bool Belady::may_move(graph::Task& task, WorkerId to) {
  give(*static_cast<QueuedTask*>(task.policy_data), to);
  return true;
}

void Belady::task_done(graph::Task& task, WorkerId /*worker*/) {
  auto& record = *static_cast<QueuedTask*>(std::exchange(task.policy_data, nullptr));
  future_.forget(task, record.place);
  tasks_.give_back(record);
}

}  // namespace

std::unique_ptr<Policy> make_belady() {
  return std::make_unique<Belady>();
}

}  // namespace vicinal::sched
