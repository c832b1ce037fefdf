// What memory asks for: copies to start, notices for the policy, victims to be chosen, nodes to look at again.
#include <new>
#include <utility>

#include "base/sure_memory.hpp"
#include "engine/lifecycle.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

[[gnu::noinline]] void Engine::perform_all(memory::Actions& actions) {
  performing_.fetch_add(1, std::memory_order_acq_rel);
  if (config_.simulated) ++performances_;
  bool arrived = false;
  ActionsPool::Lease todo(actions_);
  while (!actions.empty()) {
    todo->clear();
    std::swap(*todo, actions);
    arrived |= !todo->arrivals.empty();
    perform_once(*todo, actions);
  }
  performing_.fetch_sub(1, std::memory_order_acq_rel);
  if (arrived) notify_waiters();  // who may ask whether everything is stalled
}

// What follows goes to `actions`.
void Engine::perform_once(const memory::Actions& todo, memory::Actions& actions) {
  for (const memory::Notice& notice : todo.notices) gate_.notice(notice);
  for (const memory::Copy& copy : todo.copies) start_copy(copy, actions);
  for (const memory::VictimQuery& query : todo.queries) {
    memory::Residency::Search candidates(residency_, query);
    while (residency_.answer(query, gate_.choose_victim(query, candidates), actions)) {
      candidates.go_on();
    }
  }
  for (memory::Request* const request : todo.ended) RamHold::of(*request).ended();
  for (const NodeId node : todo.arrivals) {
    // A worker that wakes looks for itself.
    if (!sleepers_.wake_node(node)) look_again(node, actions);
  }
  if (prefetch_requests_.fresh()) prefetch_requests_.grant_fresh(actions);
}

void Engine::start_copy(const memory::Copy& copy, memory::Actions& actions) {
  if (records(trace::Category::transfers)) record_started(copy);
  if (contention_.active()) contention_.begin(copy);
  try {
    drivers_.of(copy.to.node == kRam ? copy.from.node : copy.to.node).start_copy(copy);
  } catch (const std::exception&) {  // then it has ended
    end_copy(copy.id, base::say_out_of_memory(std::current_exception(), "started a copy"), actions);
  }
}

// Something has changed on the node while its workers may be in long kernels: prefetches go on.
void Engine::look_again(NodeId node, memory::Actions& actions) {
  LookAhead& ahead = *look_aheads_[node.value];
  if (ahead.size() != 0) {
    if (!ahead.mutex().try_lock()) return;  // whoever has it does the same
    const std::lock_guard lock(ahead.mutex(), std::adopt_lock);
    if (!ahead.prefetch(actions)) return;
  }
  prefetch_requests_.grant(node, actions);
  if (node == kRam) prefetch_requests_.grant_through_ram(actions);
}

[[gnu::noinline]] void Engine::grant_prefetches() {
  memory::Actions actions;
  prefetch_requests_.grant_fresh(actions);
  perform(actions);
}

void Engine::end_copy(memory::CopyId copy, std::exception_ptr error, memory::Actions& actions) {
  if (contention_.active() && contention_.end(copy)) sleepers_.wake_node(kRam);
  try {
    residency_.copy_done(copy, std::move(error), actions);
  } catch (const DeviceError&) {  // there is no such copy
    return errors_.cancel(std::current_exception());
  }
  if (const auto broken = residency_.broken()) errors_.cancel_broken(broken);
}

void Engine::copy_done(memory::CopyId copy, std::exception_ptr error) {
  if (data_.has_read(copy)) return data_.end_read(copy, error);
  ActionsPool::Lease actions(actions_);
  performing_.fetch_add(1, std::memory_order_acq_rel);  // not stalled before what follows is done
  end_copy(copy, std::move(error), *actions);
  perform(*actions);
  performing_.fetch_sub(1, std::memory_order_acq_rel);
  notify_waiters();
}

}  // namespace vicinal::engine
