// Residency: in which order replicas leave a node.
#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "memory/residency.hpp"

namespace vicinal::memory {

void Residency::list_append(Node& node, Replica& replica) {
  node.residents.append(replica);
  replica.listed = true;
  put_in_order(node, replica);
}

void Residency::list_remove(Node& node, Replica& replica) {
  node.residents.remove(replica);
  replica.listed = false;
  leave_order(node, replica);
}

void Residency::leave_order(Node& node, Replica& replica) {
  switch (order_of(replica)) {
    case Order::none:
      return;
    case Order::recency:
      node.recency.remove(replica);
      break;
    case Order::awaited:
      node.awaited.erase(replica.awaited_as);
      break;
    case Order::unsaved:
      node.unsaved.remove(replica);
      break;
    case Order::saved:
      node.saved.remove(replica);
      node.saved_bytes -= Arena::padded(replica.handle->bytes());
      break;
  }
  set_order(replica, Order::none);
}

// Where the order of the uses is known, the one whose turn comes last goes first: Belady's choice. Where
// a policy takes tasks out of their order, the one with the fewest uses (LUF, Gonthier et al. 2024,
// section 5.4): with the order alone dmdar loads 2.7 times the bytes for a product of 50 x 50 blocks
// with room for 35. Where the order is kept, the number alone loads up to 1.3 times (random tasks under
// dmda).
Awaited Residency::awaited_place(Node& node, Replica& replica) {
  const std::lock_guard held(node.next_uses.lock);
  const std::uint64_t next = node.next_uses.first(replica);
  if (next == 0) return {};
  return {in_order_ ? 0 : replica.uses.load(std::memory_order_relaxed), ~next};
}

// Of those from which the victim is chosen, unless it is among them. As long as room was not short whether a task
// that waits with the policy will read it is asked when its turn comes; then at once, or each search would
// come to it first.
void Residency::put_in_order(Node& node, Replica& replica) {
  if (!replica.listed || replica.claims > 0) return;
  if (order_of(replica) != Order::none) return;
  if (!node.awaited.empty() && replica.uses.load(std::memory_order_relaxed) != 0) {
    put_aside(node, replica);
  } else {
    node.recency.add(replica);
    set_order(replica, Order::recency);
  }
}

// It is awaited, and stays so while the residency's lock is held; or claimed: then unclaim puts it in order.
void Residency::put_aside(Node& node, Replica& replica) {
  if (replica.claims > 0) return;
  replica.awaited_as = awaited_place(node, replica);
  if (!node.awaited.emplace(replica.awaited_as, &replica).second) {
    throw std::logic_error("memory: " + replica.handle->name + " on " + node.description.name +
                           " awaits the same use as another replica");
  }
  set_order(replica, Order::awaited);
}

// No task that was submitted uses it.
void Residency::put_unused(Replica& replica) {
  Node& node = nodes_[replica.node.value];
  if ((notes_unused_ & bit(replica.node)) == 0 || !replica.listed || replica.claims > 0) return;
  const Order order = safe_elsewhere(replica) ? Order::saved : Order::unsaved;
  if (order_of(replica) == order) return;
  leave_order(node, replica);
  set_order(replica, order);
  if (order == Order::unsaved) return node.unsaved.add(replica);
  node.saved.add(replica);
  node.saved_bytes += Arena::padded(replica.handle->bytes());
}

// A replica has gone that made another one safe.
void Residency::keep_last(const graph::Handle& handle) {
  const std::uint32_t valid = handle.on.valid.get();
  if (!std::has_single_bit(valid)) return;
  Replica& last = replica(handle, NodeId{static_cast<std::uint32_t>(std::countr_zero(valid))});
  if (order_of(last) == Order::saved) put_unused(last);
}

// By somebody whose task is not submitted yet.
void Residency::wanted_again(Replica& replica) {
  if (!is_known_unused(replica)) return;
  Node& node = nodes_[replica.node.value];
  leave_order(node, replica);
  put_in_order(node, replica);
}

// Uses are stamped without the lock; here those stamped since they were listed move behind, in the
// order of their stamps.
void Residency::refresh_order(Node& node) {
  touched_.clear();
  for (Replica* r = node.residents.oldest(); r != nullptr; r = node.residents.newer_than(*r)) {
    if (node.residents.was_used(*r)) touched_.push_back(r);
  }
  if (touched_.empty()) return;
  std::stable_sort(touched_.begin(), touched_.end(), [](const Replica* a, const Replica* b) {
    return a->last_use.load(std::memory_order_relaxed) <
           b->last_use.load(std::memory_order_relaxed);
  });
  for (Replica* r : touched_) {
    node.residents.remove(*r);
    node.residents.append(*r);
  }
}

// A task that named it after it was put in its place moved it back: found out here. One that has left
// the policy did so at once.
Replica* Residency::awaited_victim(Node& node, const Request* asks) {
  for (auto at = node.awaited.begin(); at != node.awaited.end();) {
    Replica& replica = *at++->second;
    if (awaited_place(node, replica) != replica.awaited_as) {
      leave_order(node, replica);
      put_aside(node, replica);
    } else if (replica.claims == 0 && evictable(replica, asks)) {
      return &replica;
    }
  }
  return nullptr;
}

// What is saved goes first, as its room is free at once. What is not goes where there is room for it, or can be: else
// it would fill a RAM without a disk while others have nothing to lose.
Replica* Residency::unused_victim(Node& node, const Goes& goes) {
  if (Replica* const victim = first_unused(node, Order::saved, goes)) return victim;
  if (node.unsaved.size() == 0 || !node.parent) return nullptr;
  const Node& to = nodes_[node.parent->value];
  return first_unused(node, Order::unsaved, [&](const Replica& r) {
    return goes(r) && (to.parent || has_free(to, Arena::padded(r.handle->bytes())));
  });
}

// The least recently used one of `saved` or `unsaved`. What is no longer one of these is found out here.
Replica* Residency::first_unused(Node& node, Order order, const Goes& goes) {
  const bool saved = order == Order::saved;
  Recency& among = saved ? node.saved : node.unsaved;
  if (among.size() == 0) return nullptr;
  const auto is_no_longer = [&](const Replica& r) {
    return !graph::is_unused(*r.handle) || safe_elsewhere(r) != saved;
  };
  const auto put = [&](Replica& r) {
    set_order(r, Order::none);
    if (saved) node.saved_bytes -= Arena::padded(r.handle->bytes());
    if (graph::is_unused(*r.handle)) {
      put_unused(r);
    } else {
      put_in_order(node, r);
    }
  };
  return among.least(goes, is_no_longer, put);
}

void Residency::note_unused(const graph::Task& task, Actions& actions) {
  const std::lock_guard lock(mutex_);
  std::uint32_t changed = 0;
  for (const graph::Access& access : task.accesses()) {
    if (graph::is_unused(*access.handle)) changed |= note_unused(*access.handle);
  }
  write_behind(changed, actions);
}

// On which nodes?
std::uint32_t Residency::note_unused(graph::Handle& handle) {
  const std::uint32_t there = handle.on.placed.get() & notes_unused_;
  for (std::uint32_t left = there; left != 0; left &= left - 1) {
    const NodeId id{static_cast<std::uint32_t>(std::countr_zero(left))};
    replica(handle, id).saved_behind = false;
    put_unused(replica(handle, id));
  }
  return there;
}

// The least recently used one that nobody is known to use; else one of those that tasks wait with the
// policy to read; else, for who cannot do without, the least recently used of those in the look-ahead.
Replica* Residency::lru_victim(Node& node, EvictionReason reason, const Request* asks) {
  const auto goes = [&](const Replica& r) { return evictable(r, asks); };
  if (by_recency(node)) {
    const auto is_known_to_be_used = [](const Replica& r) {
      return r.claims > 0 || r.uses.load(std::memory_order_relaxed) != 0;
    };
    const auto wait = [&](Replica& r) {
      set_order(r, Order::none);
      put_aside(node, r);
    };
    if (Replica* const victim = node.recency.least(goes, is_known_to_be_used, wait)) return victim;
    if (Replica* const victim = awaited_victim(node, asks)) return victim;
    if (reason != EvictionReason::firm) return nullptr;
  }
  refresh_order(node);  // rare: all are claimed, or the policy gave none
  for (Replica* r = node.residents.oldest(); r != nullptr; r = node.residents.newer_than(*r)) {
    if (goes(*r)) return r;
  }
  return nullptr;
}

}  // namespace vicinal::memory
