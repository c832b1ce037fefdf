#include "sched/future_uses.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace vicinal::sched {

FutureUses::DataRecord& FutureUses::record_of(graph::Handle& handle) {
  if (data_.find(handle) == nullptr) data_.open(handle).lists.resize(2 * nodes_ + 1);
  return data_.of(handle);
}

void FutureUses::put(const graph::Task& task, std::size_t list, TaskUses& place) {
  place = {.number = uses_.take_number(), .list = list};
  for (const graph::Access& access : task.accesses()) {
    uses_.add(record_of(*access.handle).lists[list], place.number);
    ++place.accesses;  // if memory runs out behind it, the rest is nowhere
  }
}

void FutureUses::forget(const graph::Task& task, TaskUses& place) {
  if (place.number == 0) return;
  uses_.mark_left(std::exchange(place.number, 0));
  for (const graph::Access& access : task.accesses().first(place.accesses)) {
    uses_.drop(record_of(*access.handle).lists[place.list]);
  }
}

FutureUses::NextUse FutureUses::next_use(const graph::Handle& handle, NodeId node) {
  DataRecord* const data = data_.find(handle);
  // Who uses it next reads nothing of it.
  const bool is_void = handle.overwritten_next.load(std::memory_order_relaxed);
  if (data == nullptr || is_void) return {};
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
          {{trace::Measure::next_use, known ? use.number : 0},
           {trace::Measure::queued, known && use.expected}}};
}

graph::Handle* FutureUses::choose(NodeId node, Bytes needed, memory::EvictionReason reason,
                                  memory::Candidates& candidates) {
  // With a ranking there was none. Where the last victim had a next use most have one: then all are looked at at once.
  if (!candidates.ranked() && !all_used_[node.value]) {
    std::optional<Telling> told;
    if (decisions_.heard()) told = decisions_.room_on(node, needed, trace::Reason::no_next_use);
    graph::Handle* const victim = Decisions::least_recent(
        candidates, std::move(told),
        [&](const graph::Handle& handle) { return next_use(handle, node).number == kNever; },
        [&](const graph::Handle& handle) { return scored(handle, node); });
    if (victim != nullptr) {
      refusals_.end(node.value);
      return victim;
    }
  }
  graph::Handle* victim = candidates.greatest(
      [&](const memory::Candidate& candidate) { return next_use(*candidate.handle, node).rank(); });
  const NextUse latest = victim != nullptr ? next_use(*victim, node) : NextUse{};
  all_used_[node.value] = victim != nullptr && latest.number != kNever;
  // A prefetch must not evict what is used before it.
  const bool refuses = reason != memory::EvictionReason::firm && !latest.expected;
  if (refuses) victim = nullptr;
  if (victim != nullptr) refusals_.end(node.value);
  if (decisions_.heard() && (victim != nullptr || refuses)) {
    const trace::Reason why = refuses                   ? trace::Reason::used_sooner
                              : latest.number != kNever ? trace::Reason::latest_next_use
                                                        : trace::Reason::no_next_use;
    Telling told = decisions_.room_on(node, needed, why);
    told.each(candidates.all(), [&](const memory::Candidate& candidate) {
      return Choice{scored(*candidate.handle, node), candidate.handle == victim};
    });
    refuses ? refusals_.tell(decisions_, node.value, std::move(told)) : told.tell();
  }
  return victim;
}

}  // namespace vicinal::sched
