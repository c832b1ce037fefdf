// Which replica of a node was used least recently, without a walk over all of them.
//
// A use only stamps a replica (Replica::last_use), without any lock. Here each has one entry with the
// stamp it had when the entry was made; the least entry is the least recently used replica, unless it
// has been used since: then its entry is made anew. So a use costs at most one new entry, O(log n),
// and what is never looked at costs nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "memory/replica.hpp"

namespace vicinal::memory {

class Recency {
 public:
  // Has no entry.
  void add(Replica& replica) {
    push(replica, replica.last_use.load(std::memory_order_relaxed));
    ++live_;
  }
  void remove(Replica& replica) {
    if (replica.recency_entry == 0) return;
    replica.recency_entry = 0;  // the entry is dropped when it is met
    --live_;
    if (entries_.size() > 2 * live_ + 64) drop_dead();
  }
  // The least recently used one that `accept` says yes to, which keeps its entry; nullptr: none. What
  // `leave_out` says yes to loses its entry: it is to be added again when that has changed.
  template <typename Accept, typename LeaveOut>
  Replica* least(const Accept& accept, const LeaveOut& leave_out) {
    Replica* found = nullptr;
    while (!entries_.empty() && found == nullptr) {
      std::pop_heap(entries_.begin(), entries_.end(), later);
      const Entry entry = entries_.back();
      entries_.pop_back();
      Replica& replica = *entry.replica;
      if (replica.recency_entry != entry.number) continue;
      const std::uint64_t use = replica.last_use.load(std::memory_order_relaxed);
      if (use != entry.use) {
        push(replica, use);
      } else if (leave_out(replica)) {
        replica.recency_entry = 0;
        --live_;
      } else {
        aside_.push_back(entry);
        if (accept(replica)) found = &replica;
      }
    }
    for (const Entry& entry : aside_) push(entry);
    aside_.clear();
    return found;
  }

 private:
  struct Entry {
    std::uint64_t use;
    std::uint64_t number;
    Replica* replica;
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.use != b.use ? a.use > b.use : a.number > b.number;
  }
  void push(const Entry& entry) {
    entries_.push_back(entry);
    std::push_heap(entries_.begin(), entries_.end(), later);
  }
  void push(Replica& replica, std::uint64_t use) {
    replica.recency_entry = ++last_number_;
    push(Entry{use, last_number_, &replica});
  }
  void drop_dead() {
    std::erase_if(entries_, [](const Entry& e) { return e.replica->recency_entry != e.number; });
    std::make_heap(entries_.begin(), entries_.end(), later);
  }

  std::vector<Entry> entries_;  // a heap, least first
  std::vector<Entry> aside_;    // of least(), a member to keep its room
  std::size_t live_ = 0;
  std::uint64_t last_number_ = 0;
};

}  // namespace vicinal::memory
