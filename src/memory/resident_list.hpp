// The replicas that have room on a node, in an order that whoever keeps it decides.
//
// Links lie side by side here, and not in the replicas: who is evicted has not been looked at for long,
// and neither have its neighbours, so that each link would be a line from memory.
#pragma once

#include <cstdint>

#include "base/sure_memory.hpp"
#include "memory/replica.hpp"

namespace vicinal::memory {

class ResidentList {
 public:
  // Replica::resident_slot is the list's; a replica is in one list at most.
  void append(Replica& replica) { insert(replica, entries_[kEnds].older, kEnds); }
  void prepend(Replica& replica) { insert(replica, kEnds, entries_[kEnds].newer); }
  void remove(Replica& replica) {
    const std::uint32_t slot = replica.resident_slot;
    const Link& entry = entries_[slot];
    entries_[entry.older].newer = entry.newer;
    entries_[entry.newer].older = entry.older;
    entries_[slot] = {};
    free_.push_back(slot);
    replica.resident_slot = 0;
  }

  // nullptr: it is empty.
  Replica* oldest() const { return entries_[entries_[kEnds].newer].replica; }
  // Of one that is in the list. nullptr: it is the newest.
  Replica* newer_than(const Replica& replica) const {
    return entries_[entries_[replica.resident_slot].newer].replica;
  }
  // Since it was put in its place.
  bool was_used(const Replica& replica) const {
    return replica.last_use.load(std::memory_order_relaxed) !=
           entries_[replica.resident_slot].last_use;
  }

 private:
  struct Link {
    Replica* replica = nullptr;
    std::uint64_t last_use = 0;  // the replica's when it was put in its place
    std::uint32_t older = 0;
    std::uint32_t newer = 0;
  };
  static constexpr std::uint32_t kEnds = 0;  // before the oldest and behind the newest

  void insert(Replica& replica, std::uint32_t older, std::uint32_t newer) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(entries_.size()));
      entries_.emplace_back();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    entries_[slot] = {&replica, replica.last_use.load(std::memory_order_relaxed), older, newer};
    entries_[older].newer = entries_[newer].older = slot;
    replica.resident_slot = slot;
  }

  base::SureVector<Link> entries_{1};
  base::SureVector<std::uint32_t> free_;
};

}  // namespace vicinal::memory
