// Where the look-ahead of a memory node gets its tasks: from the policy, from those that make new data and wait for
// memory, and from a node that has many.
#include <algorithm>
#include <mutex>

#include "engine/lifecycle.hpp"

namespace vicinal::engine {

using graph::ReadyList;
using graph::Task;
using trace::Category;

bool Engine::has_any_ended(const LookAhead& ahead, WorkerId worker) {
  const std::lock_guard lock(ahead.mutex());
  return ahead.anything_ended(worker);
}

// True: it has pulled more than its own workers need at once.
bool Engine::refill(LookAhead& ahead, WorkerId worker, ReadyList& cancelled) {
  bool pulled_more = false;
  ahead.note_traffic();
  if (producers_.any_throttled()) [[unlikely]]
    ahead.disturb();  // memory is short: what goes first is prefetched
  while (ahead.wants_more(worker) && !has_enough_held(ahead, worker)) {
    Task* const task = pop(worker);
    if (task == nullptr) break;
    if (errors_.cancels(*task)) {
      cancelled.append(*task);
    } else {
      pulled_more = keep_or_hold(ahead, *task);
    }
  }
  if (producers_.any_throttled()) [[unlikely]]
    pulled_more |= keep_held(ahead, worker, cancelled);
  return pulled_more;
}

// One that makes new data waits where memory is short; see Producers.
bool Engine::keep_or_hold(LookAhead& ahead, Task& task) {
  if (producers_.active() && producers_.throttle(task, eligibility_.any_confined())) return false;
  return ahead.keep(task);
}

// Others are looked for only for a worker that has none, so that not all that is ready waits here, where no policy
// orders it.
bool Engine::has_enough_held(const LookAhead& ahead, WorkerId worker) const {
  return producers_.holds_many() && ahead.has_one_for(worker);
}

bool Engine::keep_held(LookAhead& ahead, WorkerId worker, ReadyList& cancelled) {
  bool pulled_more = false;
  if (errors_.cancelling()) {
    while (Task* const task = producers_.take_any()) cancelled.append(*task);
    return false;
  }
  const auto keep = [&](Task& task) {
    producers_.begin(task);
    pulled_more = ahead.keep(task);
  };
  const bool all_go = eligibility_.any_confined();
  while (all_go || ahead.wants_more(worker)) {
    Task* const task = all_go ? producers_.take_any() : producers_.take_fitting();
    if (task == nullptr) break;
    keep(*task);
  }
  if (ahead.has_one_for(worker)) return pulled_more;
  Task* task = producers_.take_in_need();
  // Whatever the accounts say: where nothing is in flight nothing will change.
  if (task == nullptr && ahead.size() == 0 && !any_started(kRam)) task = producers_.take_any();
  if (task != nullptr) keep(*task);
  return pulled_more;
}

bool Engine::any_started(NodeId node) const {
  return std::ranges::any_of(node_workers_[node.value].ids,
                             [this](WorkerId worker) { return counters_.started(worker) > 0; });
}

// Where few tasks are ready one node's look-ahead may hold them all. A worker that has none gets one
// from the longest look-ahead of the nodes like its own, if the policy agrees.
bool Engine::move_from_peer(WorkerId worker) {
  const NodeId node = node_of(worker);
  const std::vector<NodeId>& peers = node_workers_[node.value].peers;
  if (peers.empty() || errors_.cancelling()) return false;
  const auto held = [&](NodeId peer) { return look_aheads_[peer.value]->size(); };
  const NodeId richest = std::ranges::max(peers, {}, held);
  LookAhead& peer = *look_aheads_[richest.value];
  if (peer.size() == 0) return false;
  memory::Actions actions;
  Task* task = nullptr;
  {
    const std::lock_guard lock(peer.mutex());
    task = peer.give_away(worker, actions);
  }
  if (task != nullptr) {
    if (records(Category::scheduler)) record_moved(*task, worker);
    {
      LookAhead& own = *look_aheads_[node.value];
      const std::lock_guard lock(own.mutex());
      own.keep(*task);
    }
    // They may pull more again, also what was pushed while the node was satisfied; and the task may have
    // been the one whose operands were on their way.
    sleepers_.wake_node(richest);
  }
  perform(actions);
  return task != nullptr;
}

}  // namespace vicinal::engine
