#include "engine/prefetch_requests.hpp"

#include <bit>

#include "graph/dependencies.hpp"

namespace vicinal::engine {

using graph::Task;

void PrefetchRequests::add(const Task& task, NodeId node) {
  if (rules_.unified && node != kRam) return;
  residency_.warm(task, node);
  Node& lists = nodes_[node.value];
  const std::lock_guard lock(lists.mutex);
  ever_.store(true, std::memory_order_relaxed);
  if (PrefetchNotes::name(task, node)) {
    tasks_.keep_use(task, node, residency_.await_uses(task, node));
  }
  for (const graph::Access& access : task.accesses()) {
    const bool owns = rules_.owner && leaves_content(access.mode);
    if (!reads(access.mode) && !owns) continue;
    const bool there = residency_.on_node(*access.handle, node);
    if (there) residency_.touch(*access.handle, node);
    if (there && !owns) continue;
    // What is there already, or is not read, needs no copy: only the word that it belongs to this node.
    PrefetchQueue& takes = there || !reads(access.mode) ? lists.places : lists.copies;
    takes.add(task, *access.handle, rules_.prefetch ? task.priority : 0, access.mode);
    fresh_.store(true, std::memory_order_relaxed);
  }
}

void PrefetchRequests::plan(const Task& task, graph::Handle& handle, NodeId node,
                            graph::Handle* victim) {
  if (rules_.unified && node != kRam) return;
  Node& lists = nodes_[node.value];
  const std::lock_guard lock(lists.mutex);
  ever_.store(true, std::memory_order_relaxed);
  lists.planned.push_back(
      {&task, graph::TaskPool::id(task), &handle, victim, victim != nullptr ? victim->life() : 0});
  lists.any_planned.store(true, std::memory_order_relaxed);
  fresh_.store(true, std::memory_order_relaxed);
}

// True: some wait on. A copy whose victim is in use does not hold up the next ones, within the first kMostTried; planned
// copies get room that becomes free before requests do.
bool PrefetchRequests::grant_planned(Node& lists, NodeId node, memory::Actions& actions) {
  constexpr std::size_t kMostTried = 16;
  const auto is_to_come = [](const PlannedCopy& copy) {
    const graph::TaskState state = copy.task->state.load(std::memory_order_relaxed);
    return (state == graph::TaskState::submitted || state == graph::TaskState::ready) &&
           graph::TaskPool::alive(*copy.task, copy.id);
  };
  const auto is_written = [](const PlannedCopy& copy) {
    return copy.task->state.load(std::memory_order_relaxed) == graph::TaskState::ready ||
           graph::is_readable(*copy.handle);
  };
  std::size_t waiting = 0;
  std::erase_if(lists.planned, [&](const PlannedCopy& copy) {
    if (waiting >= kMostTried) return false;
    if (!is_to_come(copy)) return true;
    // Else an earlier task may be writing the content.
    if (!is_written(copy)) return false;
    const bool is_victim_there = copy.victim != nullptr && copy.victim->life() == copy.victim_life;
    if (residency_.load(*copy.handle, node, is_victim_there ? copy.victim : nullptr, actions)) {
      return true;
    }
    ++waiting;
    return false;
  });
  lists.any_planned.store(!lists.planned.empty(), std::memory_order_relaxed);
  return waiting > 0;
}

void PrefetchRequests::grant(NodeId node, memory::Actions& actions) {
  Node& lists = nodes_[node.value];
  const bool any_planned = lists.any_planned.load(std::memory_order_relaxed);
  if (!any_planned && !lists.copies.any() && !lists.places.any()) return;
  const std::lock_guard lock(lists.mutex);
  if (any_planned && grant_planned(lists, node, actions)) return;
  lists.copies.looked_at();
  lists.places.looked_at();
  const auto waits = [](const PrefetchRequest& request) {  // else it was pulled meanwhile
    return request.task->state.load(std::memory_order_relaxed) == graph::TaskState::ready &&
           graph::TaskPool::alive(*request.task, request.id);
  };
  for (PrefetchQueue& places = lists.places; !places.empty(); places.pop_front()) {
    const PrefetchRequest& request = places.front();
    if (waits(request) && !residency_.place_ahead(*request.handle, node, request.mode, actions))
      break;
  }
  for (PrefetchQueue& copies = lists.copies; !copies.empty(); copies.pop_front()) {
    if (waits(copies.front()) && !grant_copy(copies.front(), node, actions)) return;
  }
}

// False: it got no room.
bool PrefetchRequests::grant_copy(const PrefetchRequest& request, NodeId node,
                                  memory::Actions& actions) {
  const bool owns = rules_.owner && leaves_content(request.mode);
  if (!owns && residency_.comes_or_stays(*request.handle, node)) return true;
  const auto room =
      rules_.prefetch ? memory::PrefetchRoom::unpromised : memory::PrefetchRoom::free_alone;
  return residency_.prefetch(*request.handle, node, actions, room,
                             owns ? memory::Ownership::alone : memory::Ownership::shared);
}

void PrefetchRequests::grant_fresh(memory::Actions& actions) {
  fresh_.store(false, std::memory_order_relaxed);
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    const Node& lists = nodes_[n];
    if (lists.any_planned.load(std::memory_order_relaxed) || lists.copies.fresh() ||
        lists.places.fresh()) {
      grant(NodeId{n}, actions);
    }
  }
}

void PrefetchRequests::grant_through_ram(memory::Actions& actions) {
  for (std::uint32_t n = 1; n < nodes_.size(); ++n) grant(NodeId{n}, actions);
}

// On whatever node it was to run: it may have been popped for another one.
[[gnu::noinline]] void PrefetchRequests::forget_all(const Task& task) {
  for (std::uint64_t nodes = PrefetchNotes::take(task); nodes != 0; nodes &= nodes - 1) {
    const NodeId node{static_cast<std::uint32_t>(std::countr_zero(nodes))};
    const std::lock_guard lock(nodes_[node.value].mutex);
    residency_.forget_uses(task, tasks_.take_use(task, node), node);
  }
}

void PrefetchRequests::let_pass() const {
  if (!ever_.load(std::memory_order_relaxed)) return;
  for (const Node& node : nodes_) const std::lock_guard passed(node.mutex);
}

}  // namespace vicinal::engine
