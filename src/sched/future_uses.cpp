#include "sched/future_uses.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace vicinal::sched {

FutureUses::DataRecord& FutureUses::record_of(graph::Handle& handle) {
  if (handle.policy_data == nullptr) {
    DataRecord& data = data_.take();
    data.lists.resize(2 * nodes_ + 1);
    handle.policy_data = &data;
  }
  return *static_cast<DataRecord*>(handle.policy_data);
}

void FutureUses::put(const graph::Task& task, std::size_t list, Place& place) {
  place = {.number = uses_.take_number(), .list = list, .accesses = task.accesses().size()};
  for (const graph::Access& access : task.accesses()) {
    uses_.add(record_of(*access.handle).lists[list], place.number);
  }
}

void FutureUses::forget(const graph::Task& task, Place& place) {
  if (place.number == 0) return;
  uses_.mark_left(std::exchange(place.number, 0));
  for (const graph::Access& access : task.accesses().first(place.accesses)) {
    uses_.drop(record_of(*access.handle).lists[place.list]);
  }
}

void FutureUses::forget(graph::Handle& handle) {
  if (handle.policy_data == nullptr) return;
  data_.give_back(*static_cast<DataRecord*>(std::exchange(handle.policy_data, nullptr)));
}

FutureUses::NextUse FutureUses::next_use(const graph::Handle& handle, NodeId node) {
  auto* const data = static_cast<DataRecord*>(handle.policy_data);
  if (data == nullptr) return {};
  if (const std::uint64_t given = uses_.first(data->lists[node.value])) return {false, given};
  NextUse next;
  for (const std::size_t list : {nodes_ + node.value, 2 * nodes_}) {
    if (const std::uint64_t number = uses_.first(data->lists[list])) {
      next.number = std::min(next.number, number);
    }
  }
  return next;
}

trace::Candidate FutureUses::scored(const graph::Handle& handle, NodeId node) {
  const NextUse use = next_use(handle, node);
  const bool known = use.number != kNever;
  return {handle.id.value,
          {{trace::Measure::next_use, known ? static_cast<std::int64_t>(use.number) : 0},
           {trace::Measure::queued, known && use.expected ? 1 : 0}}};
}

trace::Decision FutureUses::explained(trace::Decision decision, const graph::Handle* victim,
                                      std::span<const memory::Candidate> among) {
  for (const memory::Candidate& candidate : among) {
    decision.consider(scored(*candidate.handle, *decision.node), candidate.handle == victim);
  }
  return decision;
}

graph::Handle* FutureUses::unused(NodeId node, Bytes needed, memory::Candidates& candidates) {
  std::optional<trace::Decision> decision;
  if (decisions_.heard()) decision = decisions_.room_on(node, needed, trace::Reason::no_next_use);
  graph::Handle* const victim = candidates.least_recent([&](const graph::Handle& handle) {
    const bool goes = next_use(handle, node).number == kNever;
    if (decision) decision->consider(scored(handle, node), goes);
    return goes;
  });
  if (victim != nullptr && decision) {
    decision->choose(victim->id.value);
    decisions_.tell(*std::move(decision));
  }
  return victim;
}

graph::Handle* FutureUses::choose(NodeId node, Bytes needed, memory::EvictionReason reason,
                                  memory::Candidates& candidates) {
  // With a ranking there was none. Where the last victim had a next use most have one: then all are looked at at once.
  if (!candidates.ranked() && !all_used_[node.value]) {
    if (graph::Handle* const victim = unused(node, needed, candidates)) {
      refusals_.end(node.value);
      return victim;
    }
  }
  graph::Handle* victim = candidates.greatest(
      [&](const memory::Candidate& candidate) { return next_use(*candidate.handle, node).rank(); });
  const NextUse latest = victim != nullptr ? next_use(*victim, node) : NextUse{};
  all_used_[node.value] = victim != nullptr && latest.number != kNever;
  // A copy that only comes early must not drive out what is used before it.
  const bool refuses = reason != memory::EvictionReason::firm && !latest.expected;
  if (refuses) victim = nullptr;
  if (victim != nullptr) refusals_.end(node.value);
  if (decisions_.heard() && (victim != nullptr || refuses)) {
    const trace::Reason why = refuses                   ? trace::Reason::used_sooner
                              : latest.number != kNever ? trace::Reason::latest_next_use
                                                        : trace::Reason::no_next_use;
    trace::Decision told =
        explained(decisions_.room_on(node, needed, why), victim, candidates.all());
    if (refuses) {
      refusals_.tell(decisions_, node.value, std::move(told));
    } else {
      decisions_.tell(std::move(told));
    }
  }
  return victim;
}

}  // namespace vicinal::sched
