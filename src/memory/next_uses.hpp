// What tasks that are still with the policy will read on one memory node, in the order in which the
// policy named them: how many will read a replica, and which is the first of them.
//
// StarPU counts such tasks per replica (nb_tasks_prefetch) and lets no prefetch drive out what one of
// them will use. The order is kept besides, for when all that could go is awaited.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/replica.hpp"

namespace vicinal::memory {

// Tasks by the number of their slot. One caller at a time; Replica::next_use and ::uses are read by
// anybody.
class NextUses {
 public:
  bool names(std::uint64_t task) const { return task < first_of_.size() && first_of_[task] != 0; }

  void add(std::uint64_t task, Replica& replica) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(uses_.size()));
      uses_.emplace_back();
    }
    const std::uint32_t at = free_.back();
    free_.pop_back();
    if (task >= first_of_.size()) first_of_.resize(task + task / 2 + 64);
    uses_[at] = {.replica = &replica,
                 .number = ++last_number_,
                 .earlier = replica.last_named,
                 .of_task = first_of_[task]};
    first_of_[task] = at;
    (replica.last_named != 0 ? uses_[replica.last_named].later : replica.first_named) = at;
    replica.last_named = at;
    replica.uses.fetch_add(1, std::memory_order_relaxed);
    if (replica.first_named == at) say_next(replica);
  }

  // It is not with the policy any more. Calls `changed` for each replica that it was to read.
  template <typename Changed>
  void remove(std::uint64_t task, const Changed& changed) {
    std::uint32_t at = first_of_[task];
    first_of_[task] = 0;
    while (at != 0) {
      const Use use = uses_[at];
      Replica& replica = *use.replica;
      (use.earlier != 0 ? uses_[use.earlier].later : replica.first_named) = use.later;
      (use.later != 0 ? uses_[use.later].earlier : replica.last_named) = use.earlier;
      replica.uses.fetch_sub(1, std::memory_order_relaxed);
      if (use.earlier == 0) say_next(replica);
      changed(replica);
      free_.push_back(at);
      at = use.of_task;
    }
  }

 private:
  struct Use {
    Replica* replica = nullptr;
    std::uint64_t number = 0;
    std::uint32_t earlier = 0;  // of the same replica; 0: none
    std::uint32_t later = 0;
    std::uint32_t of_task = 0;  // another of the same task
  };
  void say_next(Replica& replica) {
    replica.next_use.store(uses_[replica.first_named].number, std::memory_order_relaxed);
  }

  std::vector<Use> uses_{1};  // the one at 0 says: no use
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> first_of_;  // by task
  std::uint64_t last_number_ = 0;
};

}  // namespace vicinal::memory
