// Residency: room on a node, and how it is made.
#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "base/sure_memory.hpp"
#include "memory/coherence.hpp"
#include "memory/residency.hpp"
#include "vicinal/error.hpp"

namespace vicinal::memory {

// It has changed.
void Residency::record_room(trace::Event event, const Replica& replica) const {
  if (!records(trace::Category::memory)) return;
  const std::uint32_t node = replica.node.value;
  const std::uint64_t handle = replica.handle->id.value;
  const std::uint64_t used = node_of(replica).room.used().value;
  if (event == trace::Event::room_taken) {
    recorder_->record<trace::Event::room_taken>(node, handle, used);
  } else {
    recorder_->record<trace::Event::room_freed>(node, handle, used);
  }
}

bool Residency::allocate(Replica& replica) {
  MemoryNode& node = node_of(replica);
  if (!node.room.allocate(replica)) return false;
  replica.word.fetch_or(kAllocated, std::memory_order_relaxed);
  replica.handle->on.placed.add(replica.node);
  replica.last_use.store(epoch_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  node.victims.add(replica);
  record_room(trace::Event::room_taken, replica);
  return true;
}

// It is claimed against pins, and void: so it stays until it has no room any more.
void Residency::free_replica(Replica& replica, bool was_valid, Actions& actions) {
  MemoryNode& node = node_of(replica);
  graph::Handle& handle = *replica.handle;
  const std::uint32_t word = replica.word.load(std::memory_order_relaxed);
  if ((word & (kPinMask | kValid)) != 0 || (word & kEvicting) == 0 || replica.incoming != nullptr ||
      replica.fixed) {
    throw std::logic_error("replica of " + handle.name + " on " + node.description.name +
                           " is freed while in use, word " + std::to_string(word));
  }
  if (handle.on.leaving.has(replica.node)) {
    node.room.stays_or_is_gone(replica);
    handle.on.leaving.remove(replica.node);
  }
  handle.on.placed.remove(replica.node);
  node.victims.remove(replica);
  node.room.free(replica);
  record_room(trace::Event::room_freed, replica);
  replica.placed_ahead = false;
  replica.put_off = 0;
  replica.word.store(0, std::memory_order_release);
  note_last_copy(handle);
  if (was_valid && node.description.kind != NodeKind::disk) {
    actions.notices.push_back({&handle, replica.node, false});
  }
}

// A replica has gone that made another one safe.
void Residency::note_last_copy(const graph::Handle& handle) {
  const std::uint64_t valid = handle.on.valid.get();
  if (!std::has_single_bit(valid) || handle.going.load(std::memory_order_seq_cst)) return;
  Replica& last = replica(handle, NodeId{static_cast<std::uint32_t>(std::countr_zero(valid))});
  if (class_of(last) == VictimClass::saved) node_of(last).last_copies.leave(&last);
}

// Against lock-free pins. False if somebody uses the replica, or it is claimed already.
bool Residency::claim_room(Replica& replica, std::uint32_t and_mark) {
  std::uint32_t word = replica.word.load(std::memory_order_relaxed);
  do {
    if ((word & (kPinMask | kEvicting)) != 0 || (word & kAllocated) == 0) return false;
    // Acquire pairs with the release of the last pin.
  } while (!replica.word.compare_exchange_weak(
      word, word | kEvicting | and_mark, std::memory_order_acquire, std::memory_order_relaxed));
  node_of(replica).lost(replica);
  return true;
}

// It was claimed, and takes its room until its content is safe.
void Residency::begin_to_leave(Replica& replica) {
  replica.handle->on.leaving.add(replica.node);
  node_of(replica).room.begins_to_leave(replica);
}

void Residency::pin(Replica& replica) {
  replica.word.fetch_add(1, std::memory_order_relaxed);
  if (replica.fixed) replica.handle->on.placed.add(replica.node);
}

void Residency::settle(Replica& replica, Actions& actions) {
  const std::uint32_t word = replica.word.load(std::memory_order_acquire);
  if ((word & kPinMask) != 0 || (word & kAllocated) == 0) return;
  if (replica.fixed) {
    if ((word & kValid) == 0) replica.handle->on.placed.remove(replica.node);
    return;
  }
  if (replica.incoming != nullptr) return;
  const bool leaves = (word & kEvicting) != 0;
  if (!leaves && ((word & kValid) != 0 || !claim_room(replica))) return;
  const Dropped dropped = drop(replica);
  if (dropped.result == Dropped::Result::gone) {
    free_replica(replica, dropped.was_valid, actions);
  } else if (!leaves) {
    begin_to_leave(replica);
  } else if (dropped.result == Dropped::Result::last) {
    save(replica, actions);  // it was safe when it was chosen
  }
}

// By any thread: what follows is left to the replica's node.
void Residency::unpin_one(Replica& replica, Actions& actions, Waiters waiters) {
  const bool pumps = waiters == Waiters::looked_at;
  const std::uint32_t old = replica.word.fetch_sub(1, std::memory_order_seq_cst);
  if ((old & kPinMask) == 0) {
    throw std::logic_error("replica of " + replica.handle->name + " unpinned more than pinned");
  }
  if ((old & kPinMask) != 1) return;
  const bool stays = (old & (kEvicting | kValid)) == kValid;
  if (stays && !(pumps && node_of(replica).waiting.load(std::memory_order_seq_cst))) return;
  if (node_of(replica).lock.held() && !pumps) return settle(replica, actions);
  post(replica.node, {.kind = Message::Kind::unused_room, .replica = &replica, .waiters = waiters},
       actions);
}

// Whoever is about to use a victim keeps it; its way to safety goes on and leaves it clean.
void Residency::rescue(Replica& replica) {
  if ((replica.word.load(std::memory_order_relaxed) & kEvicting) == 0) return;
  replica.word.fetch_and(~kEvicting, std::memory_order_release);  // it may have moved
  if (replica.handle->on.leaving.has(replica.node)) {
    replica.handle->on.leaving.remove(replica.node);
    node_of(replica).room.stays_or_is_gone(replica);
    if (records(trace::Category::memory)) {
      recorder_->record<trace::Event::kept>(replica.node.value, replica.handle->id.value);
    }
  }
  node_of(replica).gained();
}

bool Residency::evictable(const Replica& replica, const Request* asks) const {
  return may_leave(replica, replica.word.load(std::memory_order_relaxed), asks) &&
         !replica.handle->going.load(std::memory_order_relaxed);
}

bool Residency::may_leave(const Replica& replica, std::uint32_t word, const Request* asks) const {
  if (replica.fixed || (word & kAllocated) == 0 || (word & (kPinMask | kEvicting)) != 0)
    return false;
  if ((word & kComing) != 0 || replica.handle->bytes().value == 0) return false;
  if (asks != nullptr && replica.asked_by == asks->number) return false;
  if (!is_needed(replica) || safe_elsewhere(replica) || (word & kValid) == 0) return true;
  return !is_broken_.load(std::memory_order_relaxed) && node_of(replica).parent.has_value();
}

// The room of the victim is free at once, or when its content is safe.
bool Residency::evict(Replica& replica, Actions& actions) {
  MemoryNode& node = node_of(replica);
  Dropped dropped;
  {
    const NodeLock::Evicting evicting(node.lock);
    if (!claim_room(replica)) return false;
    epoch_.fetch_add(1, std::memory_order_relaxed);
    ++node.evictions;
    node.traffic.store(true, std::memory_order_relaxed);
    dropped = drop(replica, is_needed(replica) ? LastCopy::stays : LastCopy::may_be_lost);
    if (records(trace::Category::memory)) {
      recorder_->record<trace::Event::evicted>(node.description.id.value, replica.handle->id.value,
                                               dropped.result == Dropped::Result::last);
    }
    if (dropped.result == Dropped::Result::gone) {
      free_replica(replica, dropped.was_valid, actions);
      return true;
    }
  }
  begin_to_leave(replica);
  if (dropped.result == Dropped::Result::last) {
    ++node.write_backs;
    save(replica, actions);
  }
  return true;
}

void Residency::save(Replica& replica, Actions& actions) {
  if (replica.eviction != nullptr) return;  // an earlier one, rescued, is still on its way
  if (!node_of(replica).parent) return rescue(replica);  // it was safe when it was chosen
  Request& request = own_request(RequestKind::eviction, node_of(replica), *replica.handle,
                                 *node_of(replica).parent);
  request.victim = &replica;
  replica.eviction = &request;
  enqueue(request, actions);
}

// An eviction that has waited in its queue holds nothing, and only the graph orders what runs
// meanwhile: the victim may have been rescued (then a task may be writing it: nobody must copy it),
// freed, or made void by a task that overwrites the content, perhaps right where the eviction would bring it.
bool Residency::nothing_to_save(const Request& eviction, Actions& actions) {
  Replica& victim = *eviction.victim;
  const std::uint32_t word = victim.word.load(std::memory_order_relaxed);
  if ((word & kEvicting) == 0 || (word & kValid) == 0) return true;
  if (is_needed(victim) && !replica(*victim.handle, eviction.node).overwritten) return false;
  if (make_void(victim)) {
    became_void(*victim.handle, bit(victim.node), actions, Waiters::not_looked_at);
  }
  return true;
}

// The content of a victim has arrived where it is safe, needs no saving, or could not be saved.
void Residency::saved(Request& eviction, Actions& actions) {
  Replica& victim = *eviction.victim;
  victim.eviction = nullptr;
  if (eviction.error) {
    note_broken(eviction);
    rescue(victim);
  } else {
    const std::uint32_t word = victim.word.load(std::memory_order_relaxed);
    if ((word & kEvicting) != 0 && (word & kValid) != 0 && !safe_elsewhere(victim)) {
      save(victim, actions);  // rescued, written and evicted again meanwhile
    } else {
      settle(victim, actions);
    }
  }
  recycle(eviction, node_of(victim));
  actions.arrivals.push_back(victim.node);
  pump(victim.node, actions);
}

void Residency::note_broken(const Request& eviction) {
  if (eviction.attempt != attempt_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(broken_mutex_);
  if (!broken_) broken_ = eviction.error;
  is_broken_.store(true, std::memory_order_release);
}

std::exception_ptr Residency::first_broken() const {
  const std::lock_guard lock(broken_mutex_);
  return broken_;
}

void Residency::try_again(Actions& actions) {
  {
    const std::lock_guard lock(broken_mutex_);
    if (!broken_) return;
    broken_ = nullptr;
    is_broken_.store(false, std::memory_order_release);
    attempt_.fetch_add(1, std::memory_order_relaxed);
  }
  at_each(actions, [&](NodeId id) { pump(id, actions); });
}

// Of what no submitted task uses that which is saved goes first, as its room is free at once. What is not goes where
// there is room for it, or can be: else it would fill a RAM without a disk while others have nothing to lose.
Replica* Residency::unused_victim(MemoryNode& node, VictimOrders::Goes goes) {
  if (Replica* const victim = node.victims.saved(goes)) return victim;
  if (!node.victims.any_unsaved() || !node.parent) return nullptr;
  const MemoryNode& to = nodes_[node.parent->value];
  return node.victims.unsaved([&](const Replica& r) {
    return goes(r) && (to.parent || to.room.has_free(Arena::padded(r.handle->bytes())));
  });
}

// The least recently used one that nobody is known to use; else one of those that tasks wait with the
// policy to read; else, for who cannot do without, the least recently used of those in the look-ahead.
Replica* Residency::lru_victim(MemoryNode& node, EvictionReason reason, const Request* asks,
                               Bytes needed) {
  const auto goes = [&](const Replica& r) { return evictable(r, asks); };
  if (by_recency(node)) {
    if (Replica* const victim = node.victims.least_needed(goes)) {
      decisions_.victim(node.victims, *victim, needed, goes);
      return victim;
    }
    if (reason != EvictionReason::firm) return nullptr;
  }
  Replica* const victim =
      node.victims.least_recent(goes);  // rare: all are claimed, or the policy gave none
  if (victim != nullptr) decisions_.last_of_all(node.victims, *victim, needed, goes);
  return victim;
}

Residency::Outcome Residency::make_room(NodeId id, Lack lack, EvictionReason reason, Request* asks,
                                        Actions& actions) {
  MemoryNode& node = nodes_[id.value];
  const Bytes needed = lack.bytes;
  const bool by_rules = rules_.lru && node.description.kind == NodeKind::device;
  if (!by_rules && reason == EvictionReason::firm && cancel_prefetches(id, actions)) {
    return Outcome::again;
  }
  if (node.room.leaving().value > 0 && node.room.unused() + node.room.leaving() >= needed) {
    return Outcome::waits;
  }
  const auto goes = [&](const Replica& r) { return evictable(r, asks); };
  if (by_rules) {
    if (evict_by_rules(node, lack.operand, reason, asks, actions)) return Outcome::again;
  } else if (Replica* const victim = unused_victim(node, goes); victim != nullptr) {
    decisions_.victim(node.victims, *victim, needed, goes);
    evict(*victim, actions);  // pinned meanwhile: chosen again
    return Outcome::again;
  } else if (node.squeezed.store(true, std::memory_order_relaxed); !by_recency(node)) {
    if (node.query_open) return Outcome::waits;
    if (any_may_go(node, asks)) {
      node.query_open = true;
      actions.queries.push_back({id, needed, reason, asks != nullptr ? asks->number : 0});
      return Outcome::waits;
    }
  } else if (Replica* const chosen = lru_victim(node, reason, asks, needed); chosen != nullptr) {
    evict(*chosen, actions);
    return Outcome::again;
  }
  if (reason == EvictionReason::prefetch) return Outcome::never;
  return last_resort(id, needed, asks, actions);
}

// Nothing but operands of the request itself may go. If nobody uses them either, the room is there
// but in pieces: they go too, and all are placed anew. Where content has nowhere to go (RAM without a
// disk) what is there moves together.
Residency::Outcome Residency::last_resort(NodeId id, Bytes needed, Request* asks,
                                          Actions& actions) {
  MemoryNode& node = nodes_[id.value];
  if (node.room.leaving().value > 0) return Outcome::waits;
  base::SureVector<Replica*> own;
  bool held = false;  // by somebody who will end: a task, a copy, an acquisition, an unregistration
  for (Replica* r = node.victims.oldest(); r != nullptr; r = node.victims.newer_than(*r)) {
    // Each is read once: who lets go of it between two looks would be seen by neither.
    const bool going = r->handle->going.load(std::memory_order_seq_cst);
    const std::uint32_t word = r->word.load(std::memory_order_seq_cst);
    held |= going || (word & kPinMask) != 0 || r->incoming != nullptr;
    if (!going && may_leave(*r, word, nullptr)) own.push_back(r);
  }
  if (held) return Outcome::waits;
  if (asks == nullptr) return Outcome::never;
  if (own.empty()) {
    const bool in_pieces = needed <= node.room.unused();
    return in_pieces && node.description.kind == NodeKind::ram ? compact(node) : Outcome::never;
  }
  asks->empties = true;  // none of them is rescued before all have left
  for (Replica* r : own) evict(*r, actions);
  return Outcome::again;
}

// None is used; whoever is about to pin one without the lock comes before or after, and a copy that is to read one
// waits (pin_source).
Residency::Outcome Residency::compact(MemoryNode& node) {
  base::SureVector<Replica*> moving;
  Replica* next = node.victims.oldest();
  for (; next != nullptr && claim_room(*next, kComing); next = node.victims.newer_than(*next)) {
    moving.push_back(next);
  }
  const bool all = next == nullptr;
  if (all) node.room.compact(moving);
  for (Replica* r : moving) {
    // Release: whoever pins it finds it where it is now.
    r->word.fetch_and(~kComing, std::memory_order_release);
    rescue(*r);
  }
  return all ? Outcome::again : Outcome::waits;
}

bool Residency::answer(const VictimQuery& query, graph::Handle* victim, Actions& actions) {
  return at(query.node, actions, [&] {
    MemoryNode& node = nodes_[query.node.value];
    const Request* const asks = who_asks(node, query.reason);
    // It may have been unregistered since it was chosen.
    if (victim != nullptr && victim->replicas == nullptr) victim = nullptr;
    Replica* chosen = victim != nullptr ? &replica(*victim, query.node) : nullptr;
    if (chosen == nullptr && query.reason == EvictionReason::firm) {
      chosen = lru_victim(node, EvictionReason::firm, asks, query.needed);
    }
    if (chosen != nullptr && evictable(*chosen, asks) && evict(*chosen, actions)) {
      if (node.room.leaving().value == 0) actions.arrivals.push_back(query.node);
      const bool lacks = node.room.unused() + node.room.leaving() < query.needed;
      if (victim != nullptr && asks != nullptr && asks->number == query.request && lacks) {
        return true;
      }
    }
    node.query_open = false;
    pump(query.node, actions);
    return false;
  });
}

}  // namespace vicinal::memory
