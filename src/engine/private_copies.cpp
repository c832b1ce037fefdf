#include "engine/private_copies.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "engine/lifecycle.hpp"
#include "engine/task_state.hpp"

namespace vicinal::engine {

using graph::PrivateCopy;
using graph::ReducedOperand;

PrivateCopies::PrivateCopies(const MachineDescription& machine) : at_once_(machine.nodes.size()) {
  for (const WorkerDescription& worker : machine.workers) {
    at_once_[worker.node.value] += std::max<std::uint32_t>(1, worker.pipeline);
  }
}

std::uint32_t PrivateCopies::most() const {
  return std::accumulate(at_once_.begin(), at_once_.end(), std::uint32_t{0});
}

// One on the node that was used before; or one more, up to as many as tasks run there, if there is room for it; or, where
// there is none for a first one, one that comes from elsewhere.
PrivateCopy* PrivateCopies::choose(graph::Reduction& reduction, NodeId node) const {
  PrivateCopy* fresh = nullptr;
  PrivateCopy* elsewhere = nullptr;
  std::uint32_t lent_here = 0;
  for (PrivateCopy& copy : reduction.copies) {
    if (copy.is_lent) {
      if (copy.node == node) ++lent_here;
    } else if (copy.is_fresh) {
      if (fresh == nullptr || (copy.has_room && !fresh->has_room)) fresh = &copy;
    } else if (copy.node == node) {
      return &copy;
    } else {
      elsewhere = &copy;
    }
  }
  if (lent_here >= at_once_[node.value]) return nullptr;
  if (fresh != nullptr && (fresh->has_room || reduction.take_room(*fresh))) return fresh;
  return lent_here > 0 ? nullptr : elsewhere;
}

bool PrivateCopies::lend(graph::Task& task, NodeId node) {
  for (ReducedOperand& operand : task.extension->reduced) {
    const std::lock_guard lock(operand.reduction->mutex);
    operand.copy = choose(*operand.reduction, node);
    if (operand.copy == nullptr) break;
    operand.was_at = std::exchange(operand.copy->node, node);
    operand.copy->is_lent = true;
    operand.is_fresh = operand.copy->is_fresh;
  }
  if (task.extension->reduced.back().copy != nullptr) return true;
  for (ReducedOperand& operand : task.extension->reduced) {
    if (operand.copy == nullptr) break;
    const std::lock_guard lock(operand.reduction->mutex);
    operand.copy->node = operand.was_at;
    operand.copy->is_lent = false;
    operand.copy = nullptr;
    returns_.fetch_add(1, std::memory_order_release);
  }
  return false;
}

void PrivateCopies::enter(graph::Task& task) {
  for (const ReducedOperand& operand : task.extension->reduced) {
    graph::Access& access = task.accesses()[operand.access];
    access.handle = operand.copy->handle;
    access.mode = operand.is_fresh ? AccessMode::W : AccessMode::RW;
  }
}

void PrivateCopies::take_back(graph::Task& task, bool ran) {
  for (ReducedOperand& operand : task.extension->reduced) {
    if (operand.copy == nullptr) continue;
    graph::Access& access = task.accesses()[operand.access];
    access.handle = operand.reduction->of;
    access.mode = AccessMode::reduction;
    const std::lock_guard lock(operand.reduction->mutex);
    operand.copy->is_lent = false;
    if (ran) operand.copy->is_fresh = false;
    operand.copy = nullptr;
    returns_.fetch_add(1, std::memory_order_release);
  }
}

// --- what the engine does for them

// Where every replica stays for ever a copy gets its room when the first task is lent it.
[[gnu::noinline]] bool Engine::begin_in_place(graph::Task& task, WorkerId worker) {
  std::exception_ptr error;
  try {
    if (!copies_.lend(task, node_of(worker))) {
      throw std::logic_error("more tasks reduce at once than there are workers");
    }
    PrivateCopies::enter(task);
    for (const ReducedOperand& operand : task.extension->reduced) {
      residency_.give_room(*operand.copy->handle, operand.copy->life);
    }
    return true;
  } catch (...) {
    error = std::current_exception();
  }
  copies_.take_back(task, false);
  move(task, graph::TaskState::running);  // as if its kernel had thrown
  errors_.fail(task, error);
  if (contention_.active()) leave_memory(task, worker);
  graph::ReadyList ready;
  record_end(task, worker, Outcome::failed);
  end(task, worker, Outcome::failed, ready);
  make_ready(ready, worker);
  return false;
}

// Before anybody else gets access to what it accessed.
[[gnu::noinline]] void Engine::end_reduction(graph::Task& task, Outcome outcome) {
  if (!task.extension->reduced.empty()) {
    copies_.take_back(task, outcome != Outcome::cancelled);
    for (const auto& ahead : look_aheads_) {
      if (ahead->any_without_copy()) sleepers_.wake_node(ahead->node());
    }
  }
  if (task.kind == graph::TaskKind::combination) begin_anew(*task.extension->combines);
}

// What the private copies held has been combined, or is lost.
void Engine::begin_anew(graph::Reduction& reduction) {
  for (PrivateCopy& copy : reduction.copies) {
    if (!copy.is_fresh) data_.invalidate(*copy.handle);
    graph::leave(*copy.handle, graph::Content::none);
    copy.handle->poisoned.store(false, std::memory_order_relaxed);
    const std::lock_guard lock(reduction.mutex);
    copy.is_fresh = true;
    if (copy.has_room && &copy != &reduction.copies.front()) reduction.give_back_room(copy);
  }
}

void Engine::read_too(graph::Task& task, graph::Handle& handle) {
  // It becomes ready once more.
  task.state.store(graph::TaskState::submitted, std::memory_order_relaxed);
  const std::size_t number = task.access_count;
  task.access_count = (number + 1) & 0x3fffU;
  graph::Access& access = task.accesses()[number];
  access = graph::Access(handle, AccessMode::R, number, task.outside);
  if (!graph::insert_more(task, access)) return;
  graph::ReadyList ready;
  ready.append(task);
  make_ready(ready, kNoWorker, Releaser::goes_on);
}

void Engine::end_unstarted(graph::Task& task, Outcome outcome) {
  graph::ReadyList ready;
  record_end(task, kNoWorker, outcome);
  end(task, kNoWorker, outcome, ready);
  make_ready(ready, kNoWorker);
  notify_waiters();
}

}  // namespace vicinal::engine
