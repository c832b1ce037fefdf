// Tasks of main by how many operands they miss on one node, from three on: no datum counts them as free or
// near, see DataOnNode.
#pragma once

#include <cstdint>

#include "base/sure_memory.hpp"
#include "sched/policies/darts_records.hpp"

namespace vicinal::sched::darts {

class FewestMissing {
 public:
  static constexpr std::uint32_t kLeast = 3;

  // The task misses `missing` operands on the node, it can run there and is in main.
  void enter(TaskRecord& record, NodeIndex node, std::uint32_t missing) {
    if (missing < kLeast) return;
    if (missing >= first_.size()) first_.resize(missing + 1);
    TaskOnNode& here = record.nodes[node];
    here.previous = nullptr;
    here.next = first_[missing];
    if (here.next != nullptr) here.next->nodes[node].previous = &record;
    first_[missing] = &record;
    fewest_ = missing < fewest_ ? missing : fewest_;
  }
  // It missed so many until now.
  void leave(TaskRecord& record, NodeIndex node, std::uint32_t missing) {
    if (missing < kLeast) return;
    TaskOnNode& here = record.nodes[node];
    if (here.next != nullptr) here.next->nodes[node].previous = here.previous;
    (here.previous != nullptr ? here.previous->nodes[node].next : first_[missing]) = here.next;
  }

  // Of the tasks that miss fewest operands, and less than `less_than`, the wanted one of highest priority, of
  // the last few that have come to miss so many; nullptr: there is none.
  template <typename Predicate>
  TaskRecord* find(NodeIndex node, std::uint32_t less_than, Predicate&& wanted) {
    while (fewest_ < first_.size() && first_[fewest_] == nullptr) ++fewest_;
    for (std::uint32_t missing = fewest_; missing < less_than && missing < first_.size();
         ++missing) {
      TaskRecord* best = nullptr;
      int looks = kLooks;
      for (TaskRecord* at = first_[missing]; at != nullptr && looks > 0; --looks) {
        const bool higher = best == nullptr || at->task->priority > best->task->priority;
        if (higher && wanted(*at)) best = at;
        at = at->nodes[node].next;
      }
      if (best != nullptr) return best;
    }
    return nullptr;
  }

 private:
  static constexpr int kLooks = 16;

  base::SureVector<TaskRecord*> first_;  // by what they miss, the last that came
  std::uint32_t fewest_ = kLeast;        // none misses less, of those that are here
};

}  // namespace vicinal::sched::darts
