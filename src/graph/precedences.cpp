#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/asymmetric_fence.hpp"
#include "base/sure_memory.hpp"
#include "graph/dependencies.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graph {

void Precedences::check(TaskId before, const Task& task) const {
  const bool is_own = before.value == TaskPool::id(task).value;
  if (!is_own && pool_.has_begun(before)) return;
  throw UsageError("task " + std::string(task.name()) +
                   " is declared after a task id that no submission returned; name what submit "
                   "has returned before");
}

// Nobody in the table has ended: who ends a task takes it out first.
std::string Precedences::describe(std::size_t most) const {
  const std::lock_guard guard(mutex_);
  std::map<std::uint64_t, std::string> lines;  // by the id of who is waited for
  for (const auto& [first, after] : successors_) {
    std::string names;
    for (std::size_t i = 0; i < std::min(most, after.size()); ++i) {
      names += (i == 0 ? "" : ", ") + std::string(after[i]->name());
    }
    if (after.size() > most) names += " ...";
    lines[TaskPool::id(*first).value] =
        "declared after task " + std::string(first->name()) + ", which has not ended: " + names;
  }
  std::string text;
  std::size_t listed = 0;
  for (const auto& [id, line] : lines) {
    if (listed++ == kMostDescribed) break;
    text += line + "\n";
  }
  return text;
}

void Precedences::add(TaskId before, Task& task) {
  Task* first = pool_.find(before);
  const std::lock_guard guard(mutex_);
  if (!used_.load(std::memory_order_relaxed)) {
    used_.store(true, std::memory_order_relaxed);
    base::heavy_fence();  // with the light one of end_life
  }
  std::uint32_t life = static_cast<std::uint32_t>(before.value >> 32);
  // Either the bit is set before the life ends, and end_life sees it, or the life has ended.
  std::uint32_t expected = life;
  if (!first->life.compare_exchange_strong(expected, life | kHasSuccessors,
                                           std::memory_order_acq_rel) &&
      expected != (life | kHasSuccessors)) {
    return;
  }
  task.blocked.fetch_add(1, std::memory_order_relaxed);
  successors_[first].push_back(&task);
}

void Precedences::release_successors(Task& task, ReadyList& ready) {
  base::SureVector<Task*> after;
  {
    const std::lock_guard guard(mutex_);
    const auto found = successors_.find(&task);
    if (found == successors_.end()) return;
    after = std::move(found->second);
    successors_.erase(found);
  }
  for (Task* next : after) {
    if (next->blocked.fetch_sub(1, std::memory_order_acq_rel) == 1) ready.append(*next);
  }
}

}  // namespace vicinal::graph
