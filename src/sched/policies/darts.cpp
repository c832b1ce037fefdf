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
//    every task writes its own output, then loads many more bytes.
//  - The operands of pulled tasks count as present: the engine may ask for their copies later.
//  - A node that has pulled less than a task for each of its workers and finds nothing in main takes one from
//    the longest plan of another, if that one would not end it first: a worker that asks must not wait for another that
//    does not.
//  - What misses nothing when it is planned is started by priority; the paper keeps one order for all.
//  - Durations that differ by 2 % or less count as equal, see Durations. What it takes to load a datum, per time of the
//    tasks that this sets free, is compared by powers of 4 (setting cost=exact: as it is, which is the paper's rule).
//  - The paper's machines have GPUs alone. Where nodes differ, a task that is free on several goes to the one
//    that would end it first, and a node leaves a task to faster ones where these would have ended it, and all
//    that is ready and fastest there, before the node has (darts_speeds.cpp). Else cores beside GPUs take tasks whose
//    end all others wait for. docs/performance.md has numbers for this departure and for the first.
//  - RAM takes a task on release only if others have its data, too, or are slower even with its data: data are
//    at home in RAM, so every task of the beginning would be free there, and the accelerators would get none.

#include <utility>

#include "sched/policies/darts_ledger.hpp"
#include "sched/policies/darts_selection.hpp"
#include "sched/policies/darts_victims.hpp"
#include "sched/policy.hpp"
#include "sched/settings.hpp"
#include "sched/theft.hpp"

namespace vicinal::sched {
namespace {

using darts::DataRecord;
using darts::TaskRecord;

class Darts final : public Policy {
 public:
  explicit Darts(darts::Costs costs) : selection_(ledger_, explanation_, costs) {}
  std::string_view name() const override { return "darts"; }
  PolicyTraits traits() const override {
    return {.moves_tasks = true, .wants_ends = true, .wants_speeds_of_kinds = true};
  }
  // On cores it takes Codelet::expected and asks for no more. Cholesky of 16 x 16 tiles of 500 on two cores with
  // room for 35: with learned times, which come to be known one by one, it loads 776 to 958 MB, median 870,
  // without 800 to 814.
  memory::VictimChoice* victims() override { return &least_used_; }

  void start(PolicyContext& context) override {
    ledger_.start(context);
    explanation_.start(context);
    selection_.start();
    least_used_.start();
  }

  void push(graph::Task& task, WorkerId /*releasing*/) override {
    TaskRecord& record = ledger_.add(task);
    const NodeIndex node = node_free_for(record);
    if (explanation_.heard()) explanation_.pushed(record, node);
    if (node == kNoNode) {
      ledger_.enter_main(record);
    } else {
      ledger_.plan_before_missing(record, node);
      // Of workers of two kinds the one that hears of the push may not be able to run it.
      if (!ledger_.nodes()[node].one_kind) ledger_.wake_for(record, node);
    }
  }

  graph::Task* pop(WorkerId worker) override {
    First first = first_planned_for(worker);
    TaskRecord* record = first_of(first, worker);
    while (record == nullptr && selection_.plan_some(worker)) {
      first = first_planned_for(worker);
      record = first_of(first, worker);
    }
    const bool taken = record == nullptr;
    if (taken) record = taken_from_other(worker);
    if (record == nullptr) {
      ledger_.wake_the_fastest(worker);
      return nullptr;
    }
    if (explanation_.heard()) {
      taken ? tell_theft(*record, worker)
            : explanation_.ordered(first.by_priority, first.other, *record, worker);
    }
    ledger_.pull(*record, ledger_.nodes().of(worker));
    settle(*record);
    return record->task;
  }

  bool may_move(graph::Task& task, WorkerId to) override {
    ledger_.move_pulled(Records<TaskRecord>::of(task), ledger_.nodes().of(to));
    return true;
  }
  void task_done(graph::Task& task, WorkerId worker) override {
    if (task.policy_data == nullptr) return;
    ledger_.finish(Records<TaskRecord>::of(task));
    // The worker asks again, and may not be able to run what is there for its neighbours.
    if (worker != kNoWorker) ledger_.wake_neighbours(worker);
  }

  void data_loaded(graph::Handle& handle, NodeId node_id) override {
    DataRecord* const data = Records<DataRecord>::find(handle);
    if (data == nullptr) return;
    ledger_.transfers_changed(*data);
    const NodeIndex node = ledger_.nodes().find(node_id);
    if (node != kNoNode) ledger_.refresh(*data, node);
  }

  void data_evicted(graph::Handle& handle, NodeId node_id) override {
    DataRecord* const data = Records<DataRecord>::find(handle);
    if (data == nullptr) return;
    ledger_.transfers_changed(*data);
    const NodeIndex node = ledger_.nodes().find(node_id);
    if (node == kNoNode) return;
    least_used_.settled(*data, node);
    ledger_.refresh(*data, node);
    // Again requested, or at home there: then nothing has to be withdrawn.
    if (!data->nodes[node].on_node) ledger_.leave_node(*data, node);
  }

  void data_forgotten(graph::Handle& handle) override {
    DataRecord* const data = Records<DataRecord>::find(handle);
    if (data == nullptr) return;
    for (NodeIndex node = 0; node < ledger_.nodes().count(); ++node) {
      least_used_.settled(*data, node);
    }
    ledger_.forget(*data);
  }

 private:
  // The node among those where the task is free: with the fewest queued tasks, the first on ties, if nodes are alike;
  // else with the earliest end of the task. RAM must have a reason besides the home of the data, which makes every task
  // free there: another node has all operands, too, or no node, its operands given, would end the task sooner.
  NodeIndex node_free_for(const TaskRecord& record) const {
    const auto& nodes = ledger_.nodes();
    NodeIndex best = kNoNode;
    NodeIndex ram = kNoNode;
    std::int64_t least = 0;
    for (NodeIndex node = 0; node < nodes.count(); ++node) {
      if (!ledger_.is_free_on(record, node)) continue;
      if (nodes[node].id == kRam && nodes.count() > 1) {
        ram = node;
        continue;
      }
      const std::int64_t cost = cost_on(record, node);
      if (best != kNoNode && cost >= least) continue;
      best = node;
      least = cost;
    }
    if (ram == kNoNode || nodes.all_alike() || nodes.present_workers(ram) == 0) return best;
    const std::int64_t there = ledger_.end_ns(record, ram);
    if (best != kNoNode) return there < least ? ram : best;
    for (NodeIndex node = 0; node < nodes.count(); ++node) {
      if (node == ram || !record.nodes[node].can_run) continue;
      if (record.nodes[node].duration_ns <= record.nodes[ram].duration_ns ||
          ledger_.end_ns(record, node) <= there) {
        return kNoNode;
      }
    }
    return ram;
  }

  std::int64_t cost_on(const TaskRecord& record, NodeIndex node) const {
    if (!ledger_.nodes().all_alike()) return ledger_.end_ns(record, node);
    return static_cast<std::int64_t>(ledger_.books(node).load.tasks());
  }
  // The first that the worker can run of those that are planned.
  struct First {
    TaskRecord* by_priority = nullptr;  // of those that missed nothing
    TaskRecord* other = nullptr;
  };
  First first_planned_for(WorkerId worker) const {
    const auto& books = ledger_.books(ledger_.nodes().of(worker));
    const auto can_run = [&](const TaskRecord& record) { return ledger_.can_run(record, worker); };
    TaskRecord* record = books.planned.head;
    while (record != nullptr && !can_run(*record)) record = record->next;
    return {books.in_order.find_first(can_run), record};
  }

  // Of those that need no loading the one of highest priority, then the others in the order of the plan.
  TaskRecord* first_of(const First& first, WorkerId worker) const {
    const auto& [by_priority, other] = first;
    if (other == nullptr || by_priority == nullptr) return other != nullptr ? other : by_priority;
    const bool goes_first = other->nodes[ledger_.nodes().of(worker)].missing == 0 &&
                            other->task->priority >= by_priority->task->priority;
    return goes_first ? other : by_priority;
  }

  // From the longest plan that has one to take.
  TaskRecord* taken_from_other(WorkerId worker) const {
    const auto& nodes = ledger_.nodes();
    const NodeIndex own = nodes.of(worker);
    if (ledger_.books(own).load.given() >= nodes[own].workers.size()) return nullptr;
    return find_where_most(
        nodes.count(),
        [&](NodeIndex node) { return node == own ? 0 : ledger_.books(node).load.queued(); },
        [&](NodeIndex node) { return taken_from(node, worker); });
  }

  // A planned task of `node` that the worker can run and would not end later than `node` does; any task if the workers of
  // `node` are away. The last task with missing operands; else, where nodes are alike, the last of highest priority, and
  // where nodes differ, the first that gains.
  TaskRecord* taken_from(NodeIndex node, WorkerId worker) const {
    const auto& nodes = ledger_.nodes();
    const auto& books = ledger_.books(node);
    const NodeIndex own = nodes.of(worker);
    const bool away = nodes.present_workers(node) == 0;
    const std::int64_t last_ns = ledger_.busy_ns(node);
    const auto gains = [&](const TaskRecord& record, std::int64_t until_ns) {
      const std::int64_t alone = record.nodes[own].duration_ns;
      return ledger_.can_run(record, worker) &&
             (away || alone <= record.nodes[node].duration_ns || alone < until_ns);
    };
    TaskRecord* record = books.planned.tail;
    while (record != nullptr && !gains(*record, last_ns)) record = record->previous;
    if (record != nullptr) return record;
    if (nodes.all_alike()) {
      return books.in_order.find_last_of_highest(
          [&](const TaskRecord& other) { return gains(other, last_ns); });
    }
    std::int64_t runs_ns =
        books.load.given_ns();  // the other node's work up to the end of this task
    return books.in_order.find_first([&](const TaskRecord& other) {
      runs_ns += other.nodes[node].duration_ns;
      return gains(other, runs_ns / nodes.workers(node));
    });
  }

  void tell_theft(const TaskRecord& taken, WorkerId worker) const {
    const auto& nodes = ledger_.nodes();
    Telling told = explanation_.asked_by(worker, trace::Reason::longest_plan, trace::Among::nodes);
    for (NodeIndex node = 0; node < nodes.count(); ++node) {
      if (node == nodes.of(worker) || taken_from(node, worker) == nullptr) continue;
      told.consider(
          {nodes[node].id.value, {{trace::Measure::tasks, ledger_.books(node).load.queued()}}},
          node == taken.node);
    }
    told.of(*taken.task).tell();
  }

  // What was to be evicted and was not is wanted again.
  void settle(const TaskRecord& pulled) {
    for (const auto& use : pulled.uses) least_used_.settled(*use.data, pulled.node);
  }

  darts::Ledger ledger_;
  darts::Explanation explanation_{ledger_};
  darts::Selection selection_;
  darts::LeastUsed least_used_{ledger_, explanation_};
};

}  // namespace

std::unique_ptr<Policy> make_darts(const Settings& settings) {
  return std::make_unique<Darts>(settings.text("cost") == "exact" ? darts::Costs::exact
                                                                  : darts::Costs::classes);
}

}  // namespace vicinal::sched
