// Residency: copies between nodes.
#include <algorithm>
#include <bit>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/processor.hpp"
#include "base/sure_memory.hpp"
#include "base/warm.hpp"
#include "memory/coherence.hpp"
#include "memory/residency.hpp"
#include "vicinal/error.hpp"

namespace vicinal::memory {

void CopiesInFlight::throw_unknown(CopyId id) const {
  std::string why = "it was never started";
  if (id.table != this) {
    why = "no copy of this runtime has that id";
  } else if (id.slot < slots_.size() && id.generation <= slots_[id.slot].generation) {
    why = "it has ended before";
  }
  throw DeviceError("a driver reports the end of copy " + to_string(id) + ", and " + why +
                    "; a driver reports the end of each copy once, by the id of the copy");
}

Endpoint Residency::endpoint_of(const Replica& replica) const {
  const graph::Handle& handle = *replica.handle;
  Endpoint end;
  end.node = replica.node;
  end.address = replica.address;
  end.offset = replica.offset;
  end.layout = replica.own_layout ? handle.layout : handle.layout.packed();
  if (replica.fixed && !replica.own_layout) end.file = handle.home.file;
  return end;
}

const Source& Residency::ram_as_source(NodeId to) const {
  const Source* const ram = links_.between(kRam, to);
  if (ram == nullptr) {
    throw std::logic_error("no link from ram to " + nodes_[to.value].description.name);
  }
  return *ram;
}

// One that leaves meanwhile leaves another behind.
Residency::PinnedSource Residency::pin_best_source(const graph::Handle& handle, NodeId to) {
  for (;;) {
    const Source* const source = links_.best(handle.on.valid.get(), to);
    if (source == nullptr) return {};
    if (const auto version = pin_source(replica(handle, source->node))) return {source, *version};
    base::pause();
  }
}

std::optional<Endpoint> Residency::pin_where_it_lies(const graph::Task& task) {
  const graph::Handle& handle = *task.accesses()[0].handle;
  for (;;) {
    const std::uint64_t valid = handle.on.valid.get();
    const Source* const other = links_.best(valid, kRam);
    const bool is_in_ram = (valid & bit(kRam)) != 0;
    if (!is_in_ram && other == nullptr) return std::nullopt;
    Replica& r = replica(handle, is_in_ram ? kRam : other->node);
    if (pin_source(r)) return endpoint_of(r);
    base::pause();
  }
}

bool Residency::start_fetch(Replica& to, Request* waiter, CopyCause cause, Actions& actions) {
  graph::Handle& handle = *to.handle;
  const bool saves = waiter != nullptr && waiter->kind == RequestKind::eviction;
  PinnedSource from;
  if (saves) {
    // A task may be writing it otherwise: only the graph orders what runs while an eviction waits.
    const Replica& victim = *waiter->victim;
    const std::optional<std::uint64_t> version = pin_victim(*waiter->victim);
    if (!version) {
      drop_pins(*waiter, actions);
      cancel_eviction(*waiter, actions);
      return false;
    }
    from = {links_.between(victim.node, to.node), *version};
  } else {
    from = pin_best_source(handle, to.node);
    if (from.source == nullptr && waiter == nullptr) return false;  // it has become void
    // Who waits has access: nobody writes it before the copy through RAM has ended.
    if (from.source == nullptr) from.version = handle.version.load(std::memory_order_relaxed);
  }
  Fetch& fetch = node_of(to).fetches.take();
  fetch.handle = &handle;
  fetch.to = to.node;
  fetch.version = from.version;
  fetch.urgent = waiter != nullptr;
  fetch.cause = cause;
  fetch.number = next_copy_.fetch_add(1, std::memory_order_relaxed);
  fetch.owns = false;
  fetch.behind = false;
  fetch.started.store(false, std::memory_order_relaxed);
  fetch.has_source = false;
  fetch.relay = nullptr;
  fetch.waiters.clear();
  if (waiter != nullptr) fetch.waiters.push_back(waiter);
  pin(to);
  to.incoming = &fetch;
  to.word.fetch_or(kComing, std::memory_order_relaxed);
  copies_in_flight_.fetch_add(1, std::memory_order_acq_rel);
  node_of(to).traffic.store(true, std::memory_order_relaxed);
  if (records(trace::Category::transfers)) {
    recorder_->record<trace::Event::copy_wanted>(to.node.value, handle.id.value, cause);
  }
  if (from.source != nullptr) {
    queue_on_link(fetch, *from.source, actions);
  } else {
    Request& relay = own_request(RequestKind::relay, node_of(to), handle, kRam);
    relay.relayed = &fetch;
    fetch.relay = &relay;
    enqueue(relay, actions);
  }
  return to.incoming == &fetch;
}

// The source is pinned.
void Residency::queue_on_link(Fetch& fetch, const Source& from, Actions& actions) {
  fetch.from = from.node;
  fetch.link = from.link;
  fetch.has_source = true;
  links_.queue(fetch);
  pump_link(from.link, actions);
}

void Residency::make_urgent(Fetch& fetch) {
  if (fetch.urgent) return;
  if (fetch.has_source) {
    links_.hurry(fetch);
  } else {
    fetch.urgent = true;
  }
}

// A relay that still waits for room in RAM. False: it does not.
bool Residency::take_relay_back(Fetch& fetch, Actions& actions) {
  Request& relay = *fetch.relay;
  const bool waits = at(kRam, actions, [&] {
    if (relay.state.load(std::memory_order_relaxed) != RequestState::queued) return false;
    nodes_[kRam.value].requests.remove(relay);
    return true;
  });
  if (!waits) return false;
  recycle(relay, nodes_[fetch.to.value]);
  fetch.relay = nullptr;
  return true;
}

// A way through RAM that still waits for room there is not needed if the content has come to RAM by another one. An
// eviction from RAM that joins the copy would wait for room that itself is to make.
void Residency::go_directly(Fetch& fetch, Actions& actions) {
  if (fetch.relay == nullptr || fetch.has_source) return;
  const Source* const from = pin_best_source(*fetch.handle, fetch.to).source;
  if (from == nullptr) return;
  if (!take_relay_back(fetch, actions)) {
    return unpin_one(replica(*fetch.handle, from->node), actions, Waiters::looked_at);
  }
  queue_on_link(fetch, *from, actions);
  at(kRam, actions, [&] { pump(kRam, actions); });  // the relay may have been the first there
}

// Both ends are pinned, so they stay where they are.
void Residency::pump_link(std::uint32_t link, Actions& actions) {
  Links::Started started;
  do {
    started = links_.start_next(link);
    Fetch* const fetch = started.fetch;
    if (fetch == nullptr) return;
    actions.copies.push_back({given_.begin(*fetch), fetch->handle,
                              endpoint_of(replica(*fetch->handle, fetch->from)),
                              endpoint_of(replica(*fetch->handle, fetch->to)), started.urgent,
                              fetch->cause, fetch->number});
  } while (started.more);
}

// One that nobody waits for: a prefetch, or one whose way through RAM waits for room there. False: it has started.
bool Residency::cancel_fetch(Fetch& fetch, Actions& actions) {
  const bool on_link = fetch.has_source;
  if (on_link ? !links_.take_back(fetch) : !take_relay_back(fetch, actions)) return false;
  Replica& to = replica(*fetch.handle, fetch.to);
  to.incoming = nullptr;
  to.word.fetch_and(~kComing, std::memory_order_relaxed);
  node_of(to).lost(to);
  copies_in_flight_.fetch_sub(1, std::memory_order_acq_rel);
  if (on_link) {
    // Tasks that wait for this copy's destination are looked at when the earlier copies of the link end.
    unpin_one(replica(*fetch.handle, fetch.from), actions);
    actions.notices.push_back({to.handle, to.node, false});
  } else {
    at(kRam, actions, [&] { pump(kRam, actions); });
  }
  node_of(to).fetches.give_back(fetch);
  unpin_one(to, actions);
  return true;
}

bool Residency::cancel_prefetches(NodeId node, Actions& actions) {
  bool any = false;
  for (const std::uint32_t link : links_.into(node)) {
    if (!links_.any_prefetches(link)) continue;
    for (Fetch* const fetch : links_.prefetches(link)) {
      if (fetch->waiters.empty()) any |= cancel_fetch(*fetch, actions);
    }
  }
  return any;
}

// True if requests that wait at its end may get on: nobody uses what has come, or it has not come. Else whoever lets go
// of it last looks at them; a task of many operands waits for as many copies, and each look is at all that is there.
bool Residency::finish_fetch(Fetch& fetch, const std::exception_ptr& error, Actions& actions) {
  graph::Handle& handle = *fetch.handle;
  handle.copy_failed.store(error != nullptr, std::memory_order_relaxed);
  Replica& to = replica(handle, fetch.to);
  MemoryNode& node = node_of(to);
  to.incoming = nullptr;
  to.word.fetch_and(~kComing, std::memory_order_relaxed);
  const bool is_there = !error && make_valid(to, fetch.version);
  if (is_there) {
    node.gained();
    note_arrival(fetch, actions);
    if (node.description.kind != NodeKind::disk) {
      actions.notices.push_back({&handle, fetch.to, true});
    }
    if (fetch.owns) make_exclusive(to, actions);
  } else {
    node.lost(to);
  }
  if (fetch.has_source) unpin_one(replica(handle, fetch.from), actions);
  if (fetch.relay != nullptr) {
    Request& relay = *std::exchange(fetch.relay, nullptr);
    if (relay.state.load(std::memory_order_relaxed) == RequestState::ready) {
      at(kRam, actions, [&] { drop_pins(relay, actions); });
    }
    recycle(relay, node);
  }
  copies_in_flight_.fetch_sub(1, std::memory_order_acq_rel);
  unpin_one(to, actions);
  for (Request* request : fetch.waiters) {
    if (error) {
      fail(*request, error, actions);
    } else if (--request->missing == 0) {
      ended(*request, RequestState::ready, actions);
    }
  }
  node.fetches.give_back(fetch);  // not before: what has just ended may start another
  // Its pins are those of the waiters, but for evictions: these have ended.
  return !is_there || (to.word.load(std::memory_order_seq_cst) & kPinMask) == 0;
}

// Of what no submitted task uses, so that where it came from can be freed at once now: a worker of that node may
// wait for room. Where nobody asked for the copy it goes first, too.
void Residency::note_arrival(const Fetch& fetch, Actions& actions) {
  Replica& from = replica(*fetch.handle, fetch.from);
  if (!is_known_unused(from) || !graph::is_unused(*fetch.handle)) return;
  post(fetch.from, {.kind = Message::Kind::unused_source, .replica = &from}, actions);
  actions.arrivals.push_back(fetch.from);
  const bool evicts =
      !fetch.waiters.empty() && std::ranges::all_of(fetch.waiters, [](const Request* request) {
        return request->kind == RequestKind::eviction;
      });
  if (fetch.behind || evicts) {
    Replica& to = replica(*fetch.handle, fetch.to);
    node_of(to).victims.put_unused(to);
  }
}

// By value: the caller must not hold the last reference while whoever waits reads the error.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void Residency::copy_done(CopyId id, std::exception_ptr error, Actions& actions) {
  Fetch& fetch = given_.end(id);
  const std::uint32_t link = fetch.link;
  const NodeId from = fetch.from;
  const NodeId to = fetch.to;
  std::optional<Bytes> copied;
  if (!error) copied = fetch.handle->bytes();
  if (records(trace::Category::transfers)) {
    recorder_->record<trace::Event::copy_ended>(to.value, fetch.number, error != nullptr);
  }
  links_.end(link, copied);
  const bool frees = at(to, actions, [&] { return finish_fetch(fetch, error, actions); });
  pump_link(link, actions);
  const auto look_at = [&](NodeId node) {
    if (nodes_[node.value].requests.empty()) return;  // who comes later looks by himself
    at(node, actions, [&] { pump(node, actions); });
  };
  look_at(from);
  if (frees) look_at(to);
  write_behind(bit(from) | bit(to), actions);
  actions.arrivals.push_back(to);
}

bool Residency::prefetch(graph::Handle& handle, NodeId node, Actions& actions, PrefetchRoom room,
                         Ownership ownership) {
  bool through_ram = false;
  const bool coming = at(node, actions, [&] {
    return prefetch_to(replica(handle, node), room, ownership, through_ram, actions);
  });
  if (through_ram) {  // first as far as RAM
    at(kRam, actions,
       [&] { start_prefetch(replica(handle, kRam), room, CopyCause::prefetch, actions); });
  }
  return coming;
}

bool Residency::prefetch_to(Replica& to, PrefetchRoom room, Ownership ownership, bool& through_ram,
                            Actions& actions, CopyCause cause) {
  const bool owns = ownership == Ownership::alone;
  graph::Handle& handle = *to.handle;
  MemoryNode& node = node_of(to);
  node.victims.wanted_again(to);
  const std::uint64_t valid = handle.on.valid.get();
  if ((to.word.load(std::memory_order_relaxed) & kEvicting) != 0) {
    if (!node.requests.empty()) return false;  // somebody waits for its room
    rescue(to);
  }
  if (to.incoming != nullptr && owns) to.incoming->owns = true;
  const bool is_there = (valid & bit(to.node)) != 0;
  if (is_there && owns) make_exclusive(to, actions);
  if (is_there || to.incoming != nullptr) return true;
  const bool is_left = handle.copy_failed.load(std::memory_order_relaxed);
  if (valid == 0 || is_left) return true;  // nothing to bring
  const Source* const from = links_.best(valid, to.node);
  base::warm(&handle);  // what start_fetch looks at
  through_ram = from == nullptr;
  if (through_ram) return false;
  base::warm(&replica(handle, from->node), sizeof(Replica));
  if (!start_prefetch(to, room, cause, actions)) return false;
  if (owns && to.incoming != nullptr) to.incoming->owns = true;
  return true;
}

// False: there is no room now, or a copy is on its way.
bool Residency::start_prefetch(Replica& to, PrefetchRoom room, CopyCause cause, Actions& actions) {
  MemoryNode& node = node_of(to);
  // Both are looked at under this node's lock: it may have come, or begun to go, since another node was looked at.
  if (to.handle->on.valid.has(to.node) || to.handle->going.load(std::memory_order_seq_cst)) {
    return true;
  }
  const auto refuse = [&](trace::Reason why) {
    decisions_.put_off(links_, to, why);
    return false;
  };
  if (to.incoming != nullptr) return false;
  if (!node.requests.empty()) return refuse(trace::Reason::room_is_awaited);
  const bool free_alone = room == PrefetchRoom::free_alone;
  const bool unneeded = room == PrefetchRoom::unneeded;
  const bool planned = room == PrefetchRoom::planned || unneeded;
  if (room != PrefetchRoom::victims && !planned) {
    const Source* const source = links_.best(to.handle->on.valid.get(), to.node);
    if (source != nullptr && room == PrefetchRoom::unpromised && links_.load(source->link) >= 2) {
      return refuse(trace::Reason::link_is_busy);
    }
    if (source != nullptr && free_alone && links_.any_prefetches(source->link)) {
      return refuse(trace::Reason::link_is_busy);
    }
  }
  if ((to.word.load(std::memory_order_relaxed) & kAllocated) == 0) {
    const Bytes needed = Arena::padded(to.handle->bytes());
    if (free_alone && !node.room.has_free(needed)) return refuse(trace::Reason::no_room);
    while (!allocate(to)) {
      if (unneeded && evict_unneeded(node, actions)) continue;
      if (free_alone || planned || !node.room.is_limited() ||
          make_room(to.node, {needed, needed}, EvictionReason::prefetch, nullptr, actions) !=
              Outcome::again) {
        return refuse(trace::Reason::no_room);
      }
    }
  } else if ((to.word.load(std::memory_order_relaxed) & kPinMask) != 0) {
    return false;  // a void replica that a copy still reads
  }
  decisions_.prefetch(links_, to);
  if (!start_fetch(to, nullptr, cause, actions)) settle(to, actions);
  return true;
}

// False: there is nothing of the kind.
bool Residency::evict_unneeded(MemoryNode& node, Actions& actions) {
  node.note_last_copies();
  const auto goes = [this](const Replica& r) { return evictable(r, nullptr); };
  Replica* const victim = node.victims.saved(goes);
  return victim != nullptr && safe_elsewhere(*victim) && evict(*victim, actions);
}

bool Residency::pass_on(graph::Handle& handle, NodeId id, Actions& actions) {
  return at(id, actions, [&] {
    Replica& to = replica(handle, id);
    if (to.incoming != nullptr)
      return false;  // content of before: whoever wants this waits for that
    bool through_ram = false;
    prefetch_to(to, PrefetchRoom::unneeded, Ownership::shared, through_ram, actions,
                CopyCause::arrival);
    return to.incoming != nullptr;
  });
}

std::optional<NodeId> Residency::owner(const graph::Handle& handle) const {
  const std::uint64_t valid = handle.on.valid.get() & accelerators_;
  if (valid == 0) return std::nullopt;
  const std::uint8_t writer = handle.writer.load(std::memory_order_relaxed);
  if ((valid >> writer & 1) != 0) return NodeId{writer};
  return NodeId{static_cast<std::uint32_t>(std::countr_zero(valid))};
}

// Whoever waits for room comes first.
bool Residency::load(graph::Handle& handle, NodeId id, graph::Handle* victim, Actions& actions) {
  bool through_ram = false;
  const bool coming = at(id, actions, [&] {
    MemoryNode& node = nodes_[id.value];
    Replica& to = replica(handle, id);
    const auto fetch = [&](PrefetchRoom room) {
      return prefetch_to(to, room, Ownership::shared, through_ram, actions);
    };
    if (fetch(PrefetchRoom::planned)) return true;
    if (through_ram || !node.requests.empty() || !node.room.is_limited()) return false;
    if (to.incoming != nullptr) return false;
    if (victim == nullptr) return fetch(PrefetchRoom::victims);
    const Planned planned = evict_planned(victim, node, actions);
    if (planned == Planned::waits) return false;
    return fetch(planned == Planned::gone ? PrefetchRoom::victims : PrefetchRoom::planned);
  });
  if (through_ram) {
    at(kRam, actions, [&] {
      start_prefetch(replica(handle, kRam), PrefetchRoom::victims, CopyCause::prefetch, actions);
    });
  }
  return coming;
}

// Under the lock of its node.
Residency::Planned Residency::evict_planned(graph::Handle* victim, MemoryNode& node,
                                            Actions& actions) {
  if (victim->replicas == nullptr) return Planned::gone;
  Replica& leaves = replica(*victim, node.description.id);
  if ((leaves.word.load(std::memory_order_relaxed) & kAllocated) == 0) return Planned::gone;
  node.squeezed.store(true, std::memory_order_relaxed);
  // A task in the look-ahead will use it: then the plan is late.
  if (is_claimed(leaves) || !evictable(leaves, nullptr)) return Planned::waits;
  return evict(leaves, actions) ? Planned::leaves : Planned::waits;
}

void Residency::write_behind(std::uint64_t nodes, Actions& actions) {
  for (; nodes != 0; nodes &= nodes - 1) {
    const NodeId node{static_cast<std::uint32_t>(std::countr_zero(nodes))};
    const MemoryNode& from = nodes_[node.value];
    if (from.description.kind != NodeKind::device || rules_.hint) continue;
    if (!from.victims.any_unsaved() && !from.last_copies.any()) continue;
    if (!from.way_out || !links_.is_idle(*from.way_out)) continue;
    at(node, actions, [&] { write_behind(node, actions); });
  }
}

// Less than half of it is free or could be at once.
bool Residency::is_short(NodeId id) {
  MemoryNode& node = nodes_[id.value];
  if (!node.room.is_limited()) return false;
  const std::lock_guard lock(node.lock);
  node.note_last_copies();
  const Bytes room = node.room.unused() + node.room.leaving() + node.victims.saved_bytes();
  return room.value < node.room.capacity().value / 2;
}

// Saves what no submitted task uses before its room is needed, one copy at a time while the link is idle, as long
// as the node is short of room: runs that take less than half of the node move nothing more. Without this a link that
// results saturate stands still until the memory is full (numbers in docs/performance.md).
// Not to a disk: it would read more slowly meanwhile. And once only: RAM gives the saved replica up for a prefetch,
// even for a prefetch that gets no room in the end, and the replica would come and go for as long as that copy waits.
void Residency::write_behind(NodeId id, Actions& actions) {
  MemoryNode& node = nodes_[id.value];
  if (!node.victims.any_unsaved() || !is_short(id)) return;
  const NodeId parent = *node.parent;
  if (is_short(parent)) return;  // or the copies would come and go
  if (!node.way_out || !links_.is_idle(*node.way_out)) return;
  const auto goes = [this](const Replica& r) {
    return evictable(r, nullptr) && !r.saved_behind &&
           !r.handle->copy_failed.load(std::memory_order_relaxed);
  };
  Replica* const next = node.victims.unsaved(goes);
  // Unlike other copies it is made for nobody who has access, so a task may be submitted and begin to write
  // meanwhile: it has the pin, or this has.
  if (next == nullptr || !memory::try_pin(*next, AccessMode::RW, next->last_use)) return;
  decisions_.write_behind(node.victims, *next, goes);
  at(parent, actions, [&] {
    Replica& to = replica(*next->handle, parent);
    bool through_ram = false;
    prefetch_to(to, PrefetchRoom::free_alone, Ownership::shared, through_ram, actions,
                CopyCause::write_behind);
    if (to.incoming != nullptr) {
      to.incoming->behind = true;
      next->saved_behind = true;
    }
  });
  unpin_one(*next, actions);
}

void Residency::set_aside(Bytes bytes, Actions& actions) {
  note_set_aside(bytes);
  at(kRam, actions, [&] { nodes_[kRam.value].room.set_aside(bytes); });
}

void Residency::keep_free(NodeId id, Bytes reserve, Actions& actions) {
  at(id, actions, [&] {
    MemoryNode& node = nodes_[id.value];
    node.room.keep_free(reserve);
    if (!node.room.is_limited() || !node.requests.empty()) return;
    while (node.room.unused() + node.room.leaving() < reserve) {
      if (make_room(id, {reserve, reserve}, EvictionReason::prefetch, nullptr, actions) !=
          Outcome::again)
        return;
    }
  });
}

}  // namespace vicinal::memory
