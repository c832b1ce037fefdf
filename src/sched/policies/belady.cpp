// belady: the tasks of eager, first in, first out, and victims by Belady's rule on what is known of the
// future: of the replicas that may go, the one whose next use by a ready task comes last.
//
// The rule is that of the dynamic Belady eviction of Gonthier, Marchal and Thibault (2022): a queue of
// uses per datum, victims without a use first. There each accelerator has an order of its own. Here the
// order is that of the one queue, whichever node its tasks will run on, behind what the node has been
// given and has not ended.

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/sure_memory.hpp"
#include "sched/decisions.hpp"
#include "sched/policy.hpp"
#include "sched/records.hpp"

namespace vicinal::sched {
namespace {

struct DataRecord;
struct TaskRecord;

struct Use {
  DataRecord* data = nullptr;
  TaskRecord* task = nullptr;
  Use* previous = nullptr;
  Use* next = nullptr;
};

struct DataRecord {
  Chain<Use> queued;                   // by tasks of the queue, in its order
  base::SureVector<Chain<Use>> given;  // by node: by tasks it was given, in that order
};

struct TaskRecord {
  graph::Task* task = nullptr;
  TaskRecord* previous = nullptr;  // in the queue
  TaskRecord* next = nullptr;
  std::uint64_t number = 0;  // of its push, and from then on of its pop
  NodeId node;               // that it was given to
  base::SureVector<Use> uses;
};

class Belady final : public Policy, private memory::VictimChoice {
 public:
  std::string_view name() const override { return "belady"; }
  PolicyTraits traits() const override { return {.moves_tasks = true, .wants_ends = true}; }
  memory::VictimChoice* victims() override { return this; }
  void start(PolicyContext& context) override {
    context_ = &context;
    decisions_.start(context);
  }

  void push(graph::Task& task, WorkerId releasing) override;
  graph::Task* pop(WorkerId worker) override;
  bool may_move(graph::Task& task, WorkerId to) override;
  void task_done(graph::Task& task, WorkerId worker) override;
  void data_forgotten(graph::Handle& handle) override;

 private:
  // Later ones are greater: what was given comes before what is queued.
  struct NextUse {
    bool queued = false;
    std::uint64_t number = 0;
    friend auto operator<=>(const NextUse&, const NextUse&) = default;
  };

  graph::Handle* choose(NodeId node, Bytes needed, memory::EvictionReason reason,
                        memory::Candidates& candidates) override;
  static bool next_use(const graph::Handle& handle, NodeId node, NextUse& use);
  graph::Handle* unused(NodeId node, Bytes needed, memory::Candidates& candidates) const;
  DataRecord& record_of(graph::Handle& handle);
  static trace::Candidate scored(const graph::Handle& handle, NodeId node);
  void explain(trace::Decision decision, const graph::Handle* victim,
               std::span<const memory::Candidate> among) const;

  PolicyContext* context_ = nullptr;
  Decisions decisions_;
  Chain<TaskRecord> ready_;
  std::uint64_t next_number_ = 0;
  RecordPool<TaskRecord> tasks_;
  RecordPool<DataRecord> data_;
};

DataRecord& Belady::record_of(graph::Handle& handle) {
  if (handle.policy_data == nullptr) {
    DataRecord& data = data_.take();
    data.given.resize(context_->machine().nodes.size());
    handle.policy_data = &data;
  }
  return *static_cast<DataRecord*>(handle.policy_data);
}

void Belady::push(graph::Task& task, WorkerId /*releasing*/) {
  TaskRecord& record = tasks_.take();
  record.task = &task;
  record.number = next_number_++;
  record.uses.resize(task.accesses().size());
  for (std::size_t i = 0; i < record.uses.size(); ++i) {
    DataRecord& data = record_of(*task.accesses()[i].handle);
    record.uses[i] = {.data = &data, .task = &record};
    data.queued.insert(record.uses[i]);
  }
  task.policy_data = &record;
  ready_.insert(record);
}

graph::Task* Belady::pop(WorkerId worker) {
  TaskRecord* record = ready_.head;
  while (record != nullptr && !context_->can_run(*record->task, worker)) record = record->next;
  if (record == nullptr) return nullptr;
  if (decisions_.heard()) {
    decisions_.tell_first(*record->task, worker, trace::Reason::first_pushed,
                          [&](const auto& name) {
                            const TaskRecord* at = ready_.head;
                            while (at != nullptr && !name(*at->task)) at = at->next;
                          });
  }
  ready_.unlink(*record);
  record->number = next_number_++;
  record->node = context_->machine().workers[worker.value].node;
  for (Use& use : record->uses) {
    use.data->queued.unlink(use);
    use.data->given[record->node.value].insert(use);
  }
  return record->task;
}

bool Belady::may_move(graph::Task& task, WorkerId to) {
  auto& record = *static_cast<TaskRecord*>(task.policy_data);
  const NodeId from = std::exchange(record.node, context_->machine().workers[to.value].node);
  record.number = next_number_++;
  for (Use& use : record.uses) {
    use.data->given[from.value].unlink(use);
    use.data->given[record.node.value].insert(use);
  }
  return true;
}

void Belady::task_done(graph::Task& task, WorkerId /*worker*/) {
  auto& record = *static_cast<TaskRecord*>(std::exchange(task.policy_data, nullptr));
  for (Use& use : record.uses) use.data->given[record.node.value].unlink(use);
  tasks_.give_back(record);
}

void Belady::data_forgotten(graph::Handle& handle) {
  if (handle.policy_data == nullptr) return;
  data_.give_back(*static_cast<DataRecord*>(std::exchange(handle.policy_data, nullptr)));
}

// False: none is known.
bool Belady::next_use(const graph::Handle& handle, NodeId node, NextUse& use) {
  const auto* const data = static_cast<const DataRecord*>(handle.policy_data);
  if (data == nullptr) return false;
  const Use* const given = data->given[node.value].head;
  const Use* const first = given != nullptr ? given : data->queued.head;
  if (first == nullptr) return false;
  use = {.queued = given == nullptr, .number = first->task->number};
  return true;
}

trace::Candidate Belady::scored(const graph::Handle& handle, NodeId node) {
  NextUse use;
  const bool known = next_use(handle, node, use);
  return {handle.id.value,
          {{trace::Measure::next_use, known ? static_cast<std::int64_t>(use.number) + 1 : 0},
           {trace::Measure::queued, use.queued ? 1 : 0}}};
}

void Belady::explain(trace::Decision decision, const graph::Handle* victim,
                     std::span<const memory::Candidate> among) const {
  for (const memory::Candidate& candidate : among) {
    decision.consider(scored(*candidate.handle, *decision.node), candidate.handle == victim);
  }
  decisions_.tell(std::move(decision));
}

// O(log n) of n candidates for each one up to the first without a use.
graph::Handle* Belady::unused(NodeId node, Bytes needed, memory::Candidates& candidates) const {
  std::optional<trace::Decision> decision;
  if (decisions_.heard()) decision = decisions_.room_on(node, needed, trace::Reason::no_next_use);
  graph::Handle* const victim = candidates.least_recent([&](const graph::Handle& handle) {
    NextUse use;
    const bool goes = !next_use(handle, node, use);
    if (decision) decision->consider(scored(handle, node), goes);
    return goes;
  });
  if (victim != nullptr && decision) {
    decision->choose(victim->id.value);
    decisions_.tell(*std::move(decision));
  }
  return victim;
}

graph::Handle* Belady::choose(NodeId node, Bytes needed, memory::EvictionReason reason,
                              memory::Candidates& candidates) {
  if (graph::Handle* const victim = unused(node, needed, candidates)) return victim;
  graph::Handle* victim = nullptr;
  NextUse latest;
  bool is_used = true;
  const std::span<const memory::Candidate> all = candidates.all();
  for (const memory::Candidate& candidate : all) {
    NextUse use;
    is_used = next_use(*candidate.handle, node, use);
    if (is_used && victim != nullptr && use <= latest) continue;
    victim = candidate.handle;
    latest = use;
    if (!is_used) break;
  }
  // A copy that only comes early must not drive out what is used before it.
  const bool refuses = is_used && reason != memory::EvictionReason::firm && !latest.queued;
  if (refuses) victim = nullptr;
  if (decisions_.heard() && !all.empty()) {
    const trace::Reason why = refuses   ? trace::Reason::used_sooner
                              : is_used ? trace::Reason::latest_next_use
                                        : trace::Reason::no_next_use;
    explain(decisions_.room_on(node, needed, why), victim, all);
  }
  return victim;
}

}  // namespace

std::unique_ptr<Policy> make_belady() {
  return std::make_unique<Belady>();
}

}  // namespace vicinal::sched
