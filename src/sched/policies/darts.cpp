// darts: data-aware reactive task scheduling (Gonthier, Marchal, Thibault 2024, section 5). A node
// that wants work looks for the datum whose loading sets most work free, plans all that work, and
// evicts what its plan uses least and latest.
//
// The engine plays the paper's bounded buffer in front of the policy: pop is a node's pull, the
// option look_ahead the buffer's size, and a task counts as pulled until it ends. All workers of a
// memory node share its plan.
//
// Departures from the paper and its reference implementation:
//  - Operands that are only written count for nothing when tasks are chosen. In the reference an
//    output without a replica keeps its task from ever being free; a product of matrices, whose
//    every task writes its own output, then loads six times the bytes (12,488 MiB against 1,955,
//    32 x 32 tasks in 500 MiB).
//  - The operands of pulled tasks count as present: the engine may ask for their copies later.
//  - A node that has pulled nothing and finds nothing in main takes a task from the longest plan
//    of another: a worker that asks must not wait for another that does not.
//  - A node leaves a task to faster ones where these would have ended it, and all that is ready, before
//    the node has. The paper's machines have GPUs alone. Cholesky of 24 x 24 tiles on 8 GPUs and 4 cores
//    (idgraf) takes 1.01 s with it and 10.2 s without, until the cores have ended what they took.
//  - RAM takes no task on release where other nodes compute too: data are at home there, so every
//    task of the beginning would be free there, and the accelerators would get none.

#include "sched/policies/darts_ledger.hpp"
#include "sched/policies/darts_selection.hpp"
#include "sched/policies/darts_victims.hpp"
#include "sched/policy.hpp"

namespace vicinal::sched {
namespace {

using darts::DataRecord;
using darts::kNoNode;
using darts::NodeIndex;
using darts::TaskRecord;

class Darts final : public Policy {
 public:
  std::string_view name() const override { return "darts"; }
  bool wants_ends() const override { return true; }
  // It takes Codelet::expected and asks for no more. Cholesky of 16 x 16 tiles of 500 on two cores with
  // room for 35: with learned times it loads 776 to 958 MB, median 870, without 800 to 814, as times that
  // come to be known one by one, and that differ a little, cannot be compared exactly.
  memory::VictimChoice* victims() override { return &least_used_; }

  void start(PolicyContext& context) override;
  void push(graph::Task& task, WorkerId releasing) override;
  graph::Task* pop(WorkerId worker) override;
  bool may_move(graph::Task& task, WorkerId to) override;
  bool moves_tasks() const override { return true; }
  void task_done(graph::Task& task, WorkerId worker) override;
  void data_loaded(graph::Handle& handle, NodeId node) override;
  void data_evicted(graph::Handle& handle, NodeId node) override;
  void data_forgotten(graph::Handle& handle) override;

 private:
  NodeIndex node_free_for(const TaskRecord& record) const;
  TaskRecord* first_planned_for(WorkerId worker) const;
  TaskRecord* taken_from_other(WorkerId worker) const;
  void settle(const TaskRecord& pulled);

  darts::Ledger ledger_;
  darts::Selection selection_{ledger_};
  darts::LeastUsed least_used_{ledger_};
};

void Darts::start(PolicyContext& context) {
  ledger_.start(context);
  selection_.start();
  least_used_.start();
}

void Darts::push(graph::Task& task, WorkerId /*releasing*/) {
  TaskRecord& record = ledger_.add(task);
  const NodeIndex node = node_free_for(record);
  if (node == kNoNode) {
    ledger_.enter_main(record);
  } else {
    ledger_.plan_before_missing(record, node);
  }
}

// Of the nodes where the task is free, the one with fewest tasks queued, the first on ties.
NodeIndex Darts::node_free_for(const TaskRecord& record) const {
  NodeIndex best = kNoNode;
  std::size_t fewest = 0;
  for (NodeIndex node = 0; node < ledger_.nodes().count(); ++node) {
    if (ledger_.nodes()[node].id == kRam && ledger_.nodes().count() > 1) continue;
    if (!ledger_.is_free_on(record, node)) continue;
    const auto& books = ledger_.books(node);
    const std::size_t queued = books.planned.size + books.pulled.size;
    if (best != kNoNode && queued >= fewest) continue;
    best = node;
    fewest = queued;
  }
  return best;
}

graph::Task* Darts::pop(WorkerId worker) {
  TaskRecord* record = first_planned_for(worker);
  while (record == nullptr && selection_.plan_some(worker)) record = first_planned_for(worker);
  if (record == nullptr) record = taken_from_other(worker);
  if (record == nullptr) return nullptr;
  ledger_.pull(*record, ledger_.nodes().of(worker));
  settle(*record);
  return record->task;
}

bool Darts::may_move(graph::Task& task, WorkerId to) {
  ledger_.move_pulled(*static_cast<TaskRecord*>(task.policy_data), ledger_.nodes().of(to));
  return true;
}

TaskRecord* Darts::first_planned_for(WorkerId worker) const {
  const auto& nodes = ledger_.nodes();
  TaskRecord* record = ledger_.books(nodes.of(worker)).planned.head;
  while (record != nullptr && !nodes.can_run(*record, worker)) record = record->next;
  return record;
}

// The last task of the longest plan that has one the worker can run.
TaskRecord* Darts::taken_from_other(WorkerId worker) const {
  const auto& nodes = ledger_.nodes();
  if (ledger_.books(nodes.of(worker)).pulled.size > 0) return nullptr;
  TaskRecord* best = nullptr;
  std::size_t longest = 0;
  for (NodeIndex node = 0; node < nodes.count(); ++node) {
    const auto& plan = ledger_.books(node).planned;
    if (node == nodes.of(worker) || plan.size <= longest) continue;
    TaskRecord* record = plan.tail;
    while (record != nullptr && !nodes.can_run(*record, worker)) record = record->previous;
    if (record == nullptr || ledger_.is_left_to_faster(*record, nodes.of(worker))) continue;
    best = record;
    longest = plan.size;
  }
  return best;
}

// What was to be evicted and was not is wanted again.
void Darts::settle(const TaskRecord& pulled) {
  for (const auto& use : pulled.uses) least_used_.settled(*use.data, pulled.node);
}

void Darts::task_done(graph::Task& task, WorkerId /*worker*/) {
  if (task.policy_data != nullptr) ledger_.finish(*static_cast<TaskRecord*>(task.policy_data));
}

void Darts::data_loaded(graph::Handle& handle, NodeId node_id) {
  auto* const data = static_cast<DataRecord*>(handle.policy_data);
  if (data == nullptr) return;
  ledger_.transfers_changed(*data);
  const NodeIndex node = ledger_.nodes().find(node_id);
  if (node != kNoNode) ledger_.refresh(*data, node);
}

void Darts::data_evicted(graph::Handle& handle, NodeId node_id) {
  auto* const data = static_cast<DataRecord*>(handle.policy_data);
  if (data == nullptr) return;
  ledger_.transfers_changed(*data);
  const NodeIndex node = ledger_.nodes().find(node_id);
  if (node == kNoNode) return;
  least_used_.settled(*data, node);
  ledger_.refresh(*data, node);
  // Again requested, or at home there: then nothing has to be withdrawn.
  if (!data->nodes[node].on_node) ledger_.leave_node(*data, node);
}

void Darts::data_forgotten(graph::Handle& handle) {
  auto* const data = static_cast<DataRecord*>(handle.policy_data);
  if (data == nullptr) return;
  for (NodeIndex node = 0; node < ledger_.nodes().count(); ++node) {
    least_used_.settled(*data, node);
  }
  ledger_.forget(*data);
}

}  // namespace

std::unique_ptr<Policy> make_darts() {
  return std::make_unique<Darts>();
}

}  // namespace vicinal::sched
