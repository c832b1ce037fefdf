// Which replica of a node was used least recently, without a walk over all of them.
//
// A use only stamps a replica (Replica::last_use), without any lock. Here each has one entry with the
// stamp it had when the entry was made; the least entry is the least recently used replica, unless it
// has been used since: then its entry is made anew. So a use costs at most one new entry, O(log n),
// and what is never looked at costs nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/sure_memory.hpp"
#include "base/warm.hpp"
#include "memory/replica.hpp"

namespace vicinal::memory {

class Recency {
 public:
  std::size_t size() const { return live_.load(std::memory_order_relaxed); }  // any thread
  // Has no entry.
  void add(Replica& replica) {
    if (free_slots_.empty()) {
      slots_.emplace_back();
      free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));  // 0: none
    }
    replica.recency_slot = free_slots_.back();
    free_slots_.pop_back();
    Slot& taken = slot(replica.recency_slot);
    taken.replica = &replica;
    taken.handle = replica.handle;
    push(replica.recency_slot);
    live_.store(size() + 1, std::memory_order_relaxed);
  }
  // Or it has none. Whoever forgets the replica does this before: an entry that is dead is told by its
  // slot alone.
  void remove(Replica& replica) {
    if (replica.recency_slot == 0) return;
    slot(replica.recency_slot) = Slot{};
    free_slots_.push_back(replica.recency_slot);
    replica.recency_slot = 0;
    live_.store(size() - 1, std::memory_order_relaxed);
    if (entries_.size() > 2 * size() + 64) drop_dead();
  }
  // The least recently used one that `accept` says yes to, which keeps its entry; nullptr: none. What
  // `leave_out` says yes to loses its entry and is told to `left`: it is to be added again when that has
  // changed, which may be at once. Neither of the two predicates changes anything here.
  template <typename Accept, typename LeaveOut, typename Left>
  Replica* least(const Accept& accept, const LeaveOut& leave_out, const Left& left) {
    Replica* found = nullptr;
    while (!entries_.empty()) {
      warm_next();
      const Stamp entry = entries_.front();
      if (is_dead(entry)) {
        pop();
        continue;
      }
      Replica& replica = *slot(entry.slot).replica;
      if (replica.last_use.load(std::memory_order_relaxed) != entry.use) {
        pop();
        push(entry.slot);
      } else if (leave_out(replica)) {
        pop();
        remove(replica);
        left(replica);
      } else if (accept(replica)) {
        found = &replica;
        break;
      } else {
        pop();
        aside_.push_back(entry);
      }
    }
    for (const Stamp& entry : aside_) push(entry);
    aside_.clear();
    return found;
  }

 private:
  struct Stamp {
    std::uint64_t use;
    std::uint64_t number;
    std::uint32_t slot;
  };
  struct Slot {
    std::uint64_t number = 0;  // of the entry that counts
    Replica* replica = nullptr;
    const graph::Handle* handle = nullptr;  // its own
  };
  // One of the two behind the first will be the first next; see base/warm.hpp.
  void warm_next() {
    for (std::size_t i = 1; i < std::min<std::size_t>(entries_.size(), 3); ++i) {
      if (is_dead(entries_[i])) continue;
      const Slot& next = slot(entries_[i].slot);
      base::warm(next.replica, sizeof(Replica));
      base::warm(next.handle, graph::kHotBytes);
    }
  }
  static bool later(const Stamp& a, const Stamp& b) {
    return a.use != b.use ? a.use > b.use : a.number > b.number;
  }
  Slot& slot(std::uint32_t number) { return slots_[number - 1]; }
  bool is_dead(const Stamp& entry) { return slot(entry.slot).number != entry.number; }
  void push(const Stamp& entry) {
    entries_.push_back(entry);
    std::push_heap(entries_.begin(), entries_.end(), later);
  }
  void pop() {
    std::pop_heap(entries_.begin(), entries_.end(), later);
    entries_.pop_back();
  }
  void push(std::uint32_t of) {
    Slot& taken = slot(of);
    taken.number = ++last_number_;
    push(Stamp{taken.replica->last_use.load(std::memory_order_relaxed), last_number_, of});
  }
  void drop_dead() {
    std::erase_if(entries_, [this](const Stamp& entry) { return is_dead(entry); });
    std::make_heap(entries_.begin(), entries_.end(), later);
  }

  base::SureVector<Stamp> entries_;  // a heap, least first; some are dead
  base::SureVector<Stamp> aside_;    // of least(), a member to keep its room
  base::SureVector<Slot> slots_;
  base::SureVector<std::uint32_t> free_slots_;
  std::atomic<std::size_t> live_{0};
  std::uint64_t last_number_ = 0;
};

}  // namespace vicinal::memory
