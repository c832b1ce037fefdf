// Residency: room on a node and how it is made.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/sure_memory.hpp"
#include "memory/residency.hpp"
#include "vicinal/error.hpp"

namespace vicinal::memory {

bool Residency::allocate(Replica& replica) {
  Node& node = nodes_[replica.node.value];
  const Bytes bytes = taken(replica);
  if (node.arena) {
    const auto place = node.arena->allocate(bytes);
    if (!place) return false;
    replica.offset = place->offset;
    replica.block = place->block;
    replica.address = node.base != nullptr ? node.base + place->offset : nullptr;
  } else {
    try {
      replica.address = source_.allocate(replica.node, bytes);
    } catch (...) {  // expected where memory is not limited
      refused_ = std::current_exception();
      return false;
    }
    node.outside += bytes;
    node.peak_outside = std::max(node.peak_outside, node.outside);
  }
  replica.word.fetch_or(kAllocated, std::memory_order_relaxed);
  replica.handle->on.placed.add(replica.node);
  replica.last_use.store(epoch_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  list_append(node, replica);
  return true;
}

// The replica stays claimed against lock-free pins until it has no room any more.
void Residency::free_replica(Replica& replica, Actions& actions) {
  Node& node = nodes_[replica.node.value];
  const Bytes bytes = taken(replica);
  const std::uint32_t word = replica.word.load(std::memory_order_relaxed);
  if ((word & kPinMask) != 0 || (word & kEvicting) == 0 || replica.incoming != nullptr ||
      replica.fixed) {
    throw std::logic_error("replica of " + replica.handle->name + " on " + node.description.name +
                           " is freed while in use, word " + std::to_string(word));
  }
  node.leaving -= Arena::padded(bytes);
  replica.handle->on.valid.remove(replica.node);
  replica.handle->on.placed.remove(replica.node);
  replica.handle->on.leaving.remove(replica.node);
  list_remove(node, replica);
  keep_last(*replica.handle);
  if (node.arena) {
    node.arena->free(replica.block, bytes);
  } else {
    source_.release(replica.node, replica.address, bytes);
    node.outside -= bytes;
  }
  replica.address = nullptr;
  replica.placed_early = false;
  replica.word.store(0, std::memory_order_release);
  if ((word & kValid) != 0 && node.description.kind != NodeKind::disk) {
    actions.notices.push_back({replica.handle, replica.node, false});
  }
}

// Against lock-free pins. False if somebody uses the replica, or it is claimed already.
bool Residency::claim_room(Replica& replica) {
  std::uint32_t word = replica.word.load(std::memory_order_relaxed);
  do {
    if ((word & (kPinMask | kEvicting)) != 0 || (word & kAllocated) == 0) return false;
    // Acquire pairs with the release of the last pin.
  } while (!replica.word.compare_exchange_weak(word, word | kEvicting, std::memory_order_acquire,
                                               std::memory_order_relaxed));
  replica.handle->on.leaving.add(replica.node);
  nodes_[replica.node.value].leaving += Arena::padded(replica.handle->bytes());
  lost(replica);
  return true;
}

// It has room.
void Residency::set_valid(Replica& replica) {
  replica.word.fetch_or(kValid, std::memory_order_release);
  if (replica.fixed) replica.handle->on.placed.add(replica.node);
  replica.handle->on.valid.add(replica.node);
  gained(replica.node);
}

void Residency::make_invalid(Replica& replica, Actions& actions) {
  lost(replica);
  replica.word.fetch_and(~kValid, std::memory_order_relaxed);
  replica.handle->on.valid.remove(replica.node);
  if (nodes_[replica.node.value].description.kind != NodeKind::disk) {
    actions.notices.push_back({replica.handle, replica.node, false});
  }
  settle(replica, actions);
}

void Residency::pin(Replica& replica) {
  replica.word.fetch_add(1, std::memory_order_relaxed);
  if (replica.fixed) {
    replica.handle->on.placed.add(replica.node);
  }
}

// Frees a replica that nobody uses and that has nothing to lose.
void Residency::settle(Replica& replica, Actions& actions) {
  const std::uint32_t word = replica.word.load(std::memory_order_acquire);
  if ((word & kPinMask) != 0 || (word & kAllocated) == 0) return;
  if (replica.fixed) {
    if ((word & kValid) == 0) {
      replica.handle->on.placed.remove(replica.node);
    }
    return;
  }
  if (replica.incoming != nullptr) return;
  if ((word & kEvicting) != 0) {
    if (safe_elsewhere(replica) || (word & kValid) == 0) free_replica(replica, actions);
  } else if ((word & kValid) == 0 && claim_room(replica)) {
    free_replica(replica, actions);
  }
}

void Residency::unpin_one(Replica& replica, Actions& actions) {
  const std::uint32_t old = replica.word.fetch_sub(1, std::memory_order_acq_rel);
  if ((old & kPinMask) == 0) {
    throw std::logic_error("replica of " + replica.handle->name + " unpinned more than pinned");
  }
  if ((old & kPinMask) == 1) settle(replica, actions);
}

// Whoever is about to use a victim keeps it; its way to safety goes on and leaves it clean.
void Residency::rescue(Replica& replica) {
  if ((replica.word.load(std::memory_order_relaxed) & kEvicting) == 0) return;
  replica.word.fetch_and(~kEvicting, std::memory_order_release);  // it may have moved
  replica.handle->on.leaving.remove(replica.node);
  nodes_[replica.node.value].leaving -= Arena::padded(replica.handle->bytes());
  gained(replica.node);
}

bool Residency::safe_elsewhere(const Replica& replica) const {
  const std::uint32_t valid = replica.handle->on.valid.get();
  return (valid & ~bit(replica.node)) != 0;
}

bool Residency::evictable(const Replica& replica, const Request* asks) const {
  const std::uint32_t word = replica.word.load(std::memory_order_relaxed);
  if (replica.fixed || (word & kAllocated) == 0 || (word & (kPinMask | kEvicting)) != 0)
    return false;
  if ((word & kComing) != 0 || replica.handle->bytes().value == 0) return false;
  if (asks != nullptr) {
    for (const graph::Access& access : asks->operands) {
      if (access.handle == replica.handle) return false;
    }
  }
  if (safe_elsewhere(replica) || (word & kValid) == 0) return true;
  return !broken_ && nodes_[replica.node.value].parent.has_value();
}

// The room of the victim is free at once, or when its content is safe.
bool Residency::evict(Replica& replica, Actions& actions) {
  if (!claim_room(replica)) return false;
  Node& node = nodes_[replica.node.value];
  epoch_.fetch_add(1, std::memory_order_relaxed);
  ++node.statistics.evictions;
  node.traffic.store(true, std::memory_order_relaxed);
  const bool valid = (replica.word.load(std::memory_order_relaxed) & kValid) != 0;
  if (!valid || safe_elsewhere(replica)) {
    free_replica(replica, actions);
  } else {
    ++node.statistics.write_backs;
    save(replica, actions);
  }
  return true;
}

void Residency::save(Replica& replica, Actions& actions) {
  if (replica.eviction != nullptr) return;  // an earlier one, rescued, is still on its way
  Request& request =
      own_request(RequestKind::eviction, *replica.handle, *nodes_[replica.node.value].parent);
  request.victim = &replica;
  replica.eviction = &request;
  enqueue(request, actions);
}

// An eviction that has waited in its queue holds nothing, and only the graph orders what runs
// meanwhile: the victim may have been rescued (then a task may be writing it: nobody must copy it),
// freed, or made void by a task that overwrites the content right where the eviction would bring it.
bool Residency::moot(const Request& eviction, Actions& actions) {
  Replica& victim = *eviction.victim;
  const std::uint32_t word = victim.word.load(std::memory_order_relaxed);
  if ((word & kEvicting) == 0 || (word & kValid) == 0) return true;
  const Replica& there = replica(*victim.handle, eviction.node);
  if (!there.overwritten) return false;
  make_invalid(victim, actions);
  return true;
}

// The content of a victim has arrived where it is safe, needs no saving, or could not be saved.
void Residency::saved(Request& eviction, Actions& actions) {
  Replica& victim = *eviction.victim;
  victim.eviction = nullptr;
  if (eviction.error) {
    if (eviction.attempt == attempt_) {
      if (!broken_) broken_ = eviction.error;
      is_broken_.store(true, std::memory_order_release);
    }
    rescue(victim);
  } else {
    if (eviction.state.load(std::memory_order_relaxed) == RequestState::ready) {
      drop_pins(eviction, actions);
    }
    const std::uint32_t word = victim.word.load(std::memory_order_relaxed);
    if ((word & kEvicting) != 0 && (word & kValid) != 0 && !safe_elsewhere(victim)) {
      save(victim, actions);  // rescued, written and evicted again meanwhile
    } else {
      settle(victim, actions);
    }
  }
  recycle(eviction);
  actions.arrivals.push_back(victim.node);
  pump(victim.node, actions);
}

Residency::Room Residency::make_room(NodeId id, Lack lack, EvictionReason reason, Request* asks,
                                     Actions& actions) {
  Node& node = nodes_[id.value];
  const Bytes needed = lack.bytes;
  const bool by_rules = rules_.lru && node.description.kind == NodeKind::device;
  if (!by_rules && reason == EvictionReason::firm && cancel_early_copies(id, actions)) {
    return Room::again;
  }
  const Bytes unused = node.arena->capacity() - node.arena->used();
  if (node.leaving.value > 0 && unused + node.leaving >= needed) return Room::waits;
  const auto goes = [&](const Replica& r) { return evictable(r, asks); };
  if (by_rules) {
    if (evict_by_rules(node, lack.operand, reason, asks, actions)) return Room::again;
  } else if (Replica* const victim = unused_victim(node, goes); victim != nullptr) {
    evict(*victim, actions);  // pinned meanwhile: chosen again
    return Room::again;
  } else if (!by_recency(node)) {
    if (node.query_open) return Room::waits;
    if (any_may_go(node, asks)) {
      node.query_open = true;
      actions.queries.push_back({id, needed, reason});
      return Room::waits;
    }
  } else if (Replica* const chosen = lru_victim(node, reason, asks); chosen != nullptr) {
    evict(*chosen, actions);
    return Room::again;
  }
  if (reason == EvictionReason::prefetch) return Room::never;
  return last_resort(id, needed, asks, actions);
}

// Nothing but operands of the request itself may go. If nobody uses them either, the room is there
// but in pieces: they go too, and all are placed anew. Where content has nowhere to go (RAM without a
// disk) what is there moves together.
Residency::Room Residency::last_resort(NodeId id, Bytes needed, Request* asks, Actions& actions) {
  Node& node = nodes_[id.value];
  if (node.leaving.value > 0) return Room::waits;
  base::SureVector<Replica*> own;
  bool held = false;  // by somebody who will end: a task, a copy, an acquisition
  for (Replica* r = node.residents.oldest(); r != nullptr; r = node.residents.newer_than(*r)) {
    const std::uint32_t word = r->word.load(std::memory_order_acquire);
    held |= (word & kPinMask) != 0 || r->incoming != nullptr;
    if (evictable(*r, nullptr)) own.push_back(r);
  }
  if (held) return Room::waits;
  if (asks == nullptr) return Room::never;
  if (own.empty()) {
    const bool in_pieces = needed <= node.arena->capacity() - node.arena->used();
    return in_pieces && node.description.kind == NodeKind::ram ? compact(node) : Room::never;
  }
  asks->empties = true;  // none of them is rescued before all have left
  for (Replica* r : own) evict(*r, actions);
  return Room::again;
}

// Moves the replicas to the front of the arena, in their order, so that one hole remains. None is
// used; whoever is about to pin one without the lock comes before or after.
Residency::Room Residency::compact(Node& node) {
  base::SureVector<Replica*> moving;
  Replica* next = node.residents.oldest();
  for (; next != nullptr && claim_room(*next); next = node.residents.newer_than(*next)) {
    moving.push_back(next);
  }
  const bool all = next == nullptr;
  if (all) {
    std::sort(moving.begin(), moving.end(),
              [](const Replica* a, const Replica* b) { return a->offset < b->offset; });
    const auto size = [](const Replica* r) { return Arena::padded(r->handle->bytes()); };
    for (const Replica* r : moving) node.arena->free(r->block, size(r));
    for (Replica* r : moving) {
      const Arena::Place place = node.arena->allocate(size(r)).value();  // not behind where it was
      r->offset = place.offset;
      r->block = place.block;
      std::byte* const address = node.base != nullptr ? node.base + r->offset : nullptr;
      if (address != r->address)
        source_.relocate(node.description.id, address, r->address, size(r));
      r->address = address;
    }
  }
  for (Replica* r : moving) rescue(*r);
  return all ? Room::again : Room::waits;
}

void Residency::answer(const VictimQuery& query, graph::Handle* victim, Actions& actions) {
  const std::lock_guard lock(mutex_);
  Node& node = nodes_[query.node.value];
  node.query_open = false;
  const Request* const asks = who_asks(node, query.reason);
  // It may have been unregistered since it was chosen.
  if (victim != nullptr && victim->replicas == nullptr) victim = nullptr;
  Replica* chosen = victim != nullptr ? &replica(*victim, query.node) : nullptr;
  if (chosen == nullptr && query.reason == EvictionReason::firm) {
    chosen = lru_victim(node, EvictionReason::firm, asks);
  }
  if (chosen != nullptr && evictable(*chosen, asks) && evict(*chosen, actions)) {
    if (node.leaving.value == 0) actions.arrivals.push_back(query.node);
  }
  pump(query.node, actions);
}

}  // namespace vicinal::memory
