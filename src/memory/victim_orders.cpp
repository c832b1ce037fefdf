#include "memory/victim_orders.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "memory/arena.hpp"

namespace vicinal::memory {

void VictimOrders::set_up(UseOrder order, bool notes_unused) {
  in_order_ = order == UseOrder::as_announced;
  notes_unused_ = notes_unused;
}

void VictimOrders::add(Replica& replica) {
  residents_.append(replica);
  replica.listed = true;
  put(replica);
}

void VictimOrders::remove(Replica& replica) {
  residents_.remove(replica);
  replica.listed = false;
  leave(replica);
}

void VictimOrders::put_first(Replica& replica) {
  replica.last_use.store(0, std::memory_order_relaxed);
  residents_.remove(replica);
  residents_.prepend(replica);
  put_again(replica);
}

void VictimOrders::count_saved(const Replica& replica, bool more) {
  const Bytes bytes = Arena::padded(replica.handle->bytes());
  saved_bytes_.store(more ? saved_bytes() + bytes : saved_bytes() - bytes,
                     std::memory_order_relaxed);
}

void VictimOrders::leave(Replica& replica) {
  switch (class_of(replica)) {
    case VictimClass::none:
      return;
    case VictimClass::recency:
      recency_.remove(replica);
      break;
    case VictimClass::awaited:
      awaited_.erase(replica.awaited_as);
      break;
    case VictimClass::unsaved:
      unsaved_.remove(replica);
      break;
    case VictimClass::saved:
      saved_.remove(replica);
      count_saved(replica, false);
      break;
  }
  set_class(replica, VictimClass::none);
}

// Where the order of the uses is known, the replica with the farthest next use goes first: Belady's choice. Where
// a policy takes tasks out of their order, the replica with the fewest uses goes first (LUF, Gonthier et al. 2024,
// section 5.4). Each rule loads more in the other's case (numbers in docs/performance.md).
Awaited VictimOrders::awaited_place(Replica& replica) {
  const std::lock_guard held(next_uses.lock);
  const std::uint64_t next = next_uses.first(replica);
  if (next == 0) return {};
  return {in_order_ ? 0 : replica.uses.load(std::memory_order_relaxed), ~next};
}

// As long as room was not short whether a task that waits with the policy will read it is asked when its turn
// comes; then at once, or each search would come to it first.
void VictimOrders::put(Replica& replica) {
  if (!replica.listed || is_claimed(replica)) return;
  if (class_of(replica) != VictimClass::none) return;
  if (!awaited_.empty() && replica.uses.load(std::memory_order_relaxed) != 0) {
    put_aside(replica);
  } else {
    recency_.add(replica);
    set_class(replica, VictimClass::recency);
  }
}

// It is awaited, and stays so while the node's lock is held; or claimed: then it is put when it no longer is.
void VictimOrders::put_aside(Replica& replica) {
  if (is_claimed(replica)) return;
  replica.awaited_as = awaited_place(replica);
  if (!awaited_.emplace(replica.awaited_as, &replica).second) {
    throw std::logic_error("memory: " + replica.handle->name +
                           " awaits the same use as another replica");
  }
  set_class(replica, VictimClass::awaited);
}

void VictimOrders::put_unused(Replica& replica) {
  if (!notes_unused_ || !replica.listed || is_claimed(replica)) return;
  const VictimClass of = safe_elsewhere(replica) ? VictimClass::saved : VictimClass::unsaved;
  if (class_of(replica) == of) return;
  leave(replica);
  set_class(replica, of);
  if (of == VictimClass::unsaved) return unsaved_.add(replica);
  saved_.add(replica);
  count_saved(replica, true);
}

// Uses are stamped without the lock; here those stamped since they were listed move behind, in the
// order of their stamps.
void VictimOrders::refresh() {
  touched_.clear();
  for (Replica* r = oldest(); r != nullptr; r = newer_than(*r)) {
    if (residents_.was_used(*r)) touched_.push_back(r);
  }
  if (touched_.empty()) return;
  std::stable_sort(touched_.begin(), touched_.end(), [](const Replica* a, const Replica* b) {
    return a->last_use.load(std::memory_order_relaxed) <
           b->last_use.load(std::memory_order_relaxed);
  });
  for (Replica* r : touched_) {
    residents_.remove(*r);
    residents_.append(*r);
  }
}

// A task that came to await the replica after its placement in the order moves the replica back: found out here. A task
// that left the policy moved the replica at once.
Replica* VictimOrders::awaited_victim(const Goes& goes) {
  for (auto at = awaited_.begin(); at != awaited_.end();) {
    Replica& replica = *at++->second;
    if (awaited_place(replica) != replica.awaited_as) {
      leave(replica);
      put_aside(replica);
      // It goes behind where it was, and may still stand before the next one.
      const bool is_next = class_of(replica) == VictimClass::awaited &&
                           (at == awaited_.end() || replica.awaited_as < at->first);
      if (is_next) at = awaited_.find(replica.awaited_as);
    } else if (!is_claimed(replica) && goes(replica)) {
      return &replica;
    }
  }
  return nullptr;
}

// What is no longer in that class is found out here.
Replica* VictimOrders::first_unused(VictimClass of, const Goes& goes) {
  const bool saved = of == VictimClass::saved;
  Recency& among = saved ? saved_ : unsaved_;
  if (among.size() == 0) return nullptr;
  const auto is_no_longer = [&](const Replica& r) {
    return !graph::is_unused(*r.handle) || safe_elsewhere(r) != saved;
  };
  const auto put_right = [&](Replica& r) {
    set_class(r, VictimClass::none);
    if (saved) count_saved(r, false);
    if (graph::is_unused(*r.handle)) {
      put_unused(r);
    } else {
      put(r);
    }
  };
  return among.least(goes, is_no_longer, put_right);
}

Replica* VictimOrders::least_needed(const Goes& goes) {
  const auto is_known_to_be_used = [](const Replica& r) {
    return is_claimed(r) || r.uses.load(std::memory_order_relaxed) != 0;
  };
  const auto wait = [&](Replica& r) {
    set_class(r, VictimClass::none);
    put_aside(r);
  };
  if (Replica* const victim = recency_.least(goes, is_known_to_be_used, wait)) return victim;
  return awaited_victim(goes);
}

Replica* VictimOrders::least_recent(const Goes& goes) {
  refresh();
  for (Replica* r = oldest(); r != nullptr; r = newer_than(*r)) {
    if (goes(*r)) return r;
  }
  return nullptr;
}

Replica* VictimOrders::least_recent_unclaimed(const Goes& goes) {
  const auto is_claimed_now = [](const Replica& r) { return is_claimed(r); };
  const auto stay_out = [](Replica& r) { set_class(r, VictimClass::none); };
  return recency_.least(goes, is_claimed_now, stay_out);
}

void VictimOrders::check(const std::string& node) const {
  std::array<std::size_t, 5> counted{};  // by VictimClass
  Bytes saved;
  for (const Replica* r = oldest(); r != nullptr; r = newer_than(*r)) {
    ++counted[static_cast<std::size_t>(class_of(*r))];
    if (class_of(*r) == VictimClass::saved) saved += Arena::padded(r->handle->bytes());
    if (is_claimed(*r) || class_of(*r) != VictimClass::none) continue;
    throw std::logic_error("replica of " + r->handle->name + " on " + node +
                           " is in no order of victims");
  }
  const auto agrees = [&](VictimClass of, std::size_t size) {
    return counted[static_cast<std::size_t>(of)] == size;
  };
  if (saved_bytes() == saved && agrees(VictimClass::recency, recency_.size()) &&
      agrees(VictimClass::awaited, awaited_.size()) &&
      agrees(VictimClass::unsaved, unsaved_.size()) && agrees(VictimClass::saved, saved_.size())) {
    return;
  }
  throw std::logic_error("node " + node +
                         ": its orders of victims do not hold what its replicas say");
}

}  // namespace vicinal::memory
