#include "sched/future_uses.hpp"

#include <algorithm>
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
  place = {.number = uses_.take_number(), .list = list};
  for (const graph::Access& access : task.accesses()) {
    uses_.add(record_of(*access.handle).lists[list], place.number);
  }
}

void FutureUses::forget(const graph::Task& task, Place& place) {
  if (place.number == 0) return;
  uses_.mark_left(std::exchange(place.number, 0));
  for (const graph::Access& access : task.accesses()) {
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

graph::Handle* FutureUses::choose(NodeId node, Bytes /*needed*/, memory::EvictionReason reason,
                                  memory::Candidates& candidates) {
  const auto has_no_use = [&](const graph::Handle& handle) {
    return next_use(handle, node).number == kNever;
  };
  if (graph::Handle* const unused = candidates.least_recent(has_no_use)) return unused;
  graph::Handle* victim = nullptr;
  NextUse latest;
  for (const memory::Candidate& candidate : candidates.all()) {
    const NextUse use = next_use(*candidate.handle, node);
    if (victim != nullptr && use <= latest) continue;
    victim = candidate.handle;
    latest = use;
    if (use.number == kNever) return victim;
  }
  // A copy that only comes early must not drive out what is used before it.
  const bool refuses = reason != memory::EvictionReason::firm && !latest.expected;
  return refuses ? nullptr : victim;
}

}  // namespace vicinal::sched
