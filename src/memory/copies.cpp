// Residency: copies between nodes.
#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "base/sure_memory.hpp"
#include "memory/residency.hpp"
#include "vicinal/error.hpp"

namespace vicinal::memory {

Place Residency::place_of(const Replica& replica) const {
  const graph::Handle& handle = *replica.handle;
  Place place;
  place.node = replica.node;
  place.address = replica.address;
  place.offset = replica.offset;
  place.layout = replica.own_layout ? handle.layout : handle.layout.packed();
  if (replica.fixed && !replica.own_layout) place.file = handle.home.file;
  return place;
}

// nullptr: no link from any valid replica.
const Residency::Source* Residency::best_source(const graph::Handle& handle, NodeId to) const {
  const std::uint32_t valid = handle.on.valid.get();
  for (const Source& source : sources_[to.value]) {
    if ((valid & bit(source.node)) != 0) return &source;
  }
  return nullptr;
}

// nullptr: no link joins them.
const Residency::Source* Residency::source_on(NodeId from, NodeId to) const {
  const auto& sources = sources_[to.value];
  const auto found = std::ranges::find(sources, from, &Source::node);
  return found != sources.end() ? &*found : nullptr;
}

const Residency::Source& Residency::ram_as_source(NodeId to) const {
  const Source* const ram = source_on(kRam, to);
  if (ram == nullptr) {
    throw std::logic_error("no link from ram to " + nodes_[to.value].description.name);
  }
  return *ram;
}

bool Residency::start_fetch(Replica& to, Request* waiter, Actions& actions) {
  if (free_fetches_.empty()) {
    Fetch& added = fetches_.emplace_back();
    added.id = fetches_.size() - 1;
    free_fetches_.push_back(&added);
  }
  Fetch& fetch = *free_fetches_.back();
  free_fetches_.pop_back();
  fetch.handle = to.handle;
  fetch.to = to.node;
  fetch.version = to.handle->version;
  fetch.urgent = waiter != nullptr;
  fetch.owns = false;
  fetch.behind = false;
  fetch.started = false;
  fetch.has_source = false;
  fetch.relay = nullptr;
  fetch.waiters.clear();
  if (waiter != nullptr) fetch.waiters.push_back(waiter);
  pin(to);
  to.incoming = &fetch;
  to.word.fetch_or(kComing, std::memory_order_relaxed);
  ++copies_in_course_;
  nodes_[to.node.value].traffic.store(true, std::memory_order_relaxed);
  if (const Source* const from = best_source(*to.handle, to.node)) {
    queue_on_link(fetch, *from, actions);
  } else {
    Request& relay = own_request(RequestKind::relay, *to.handle, kRam);
    relay.relayed = &fetch;
    fetch.relay = &relay;
    enqueue(relay, actions);
  }
  return to.incoming == &fetch;
}

void Residency::queue_on_link(Fetch& fetch, const Source& from, Actions& actions) {
  Replica& source = replica(*fetch.handle, from.node);
  pin(source);
  fetch.from = from.node;
  fetch.has_source = true;
  fetch.link = from.link;
  Link& link = links_[fetch.link];
  (fetch.urgent ? link.urgent : link.early).push_back(&fetch);
  pump_link(fetch.link, actions);
}

void Residency::make_urgent(Fetch& fetch) {
  if (fetch.urgent) return;
  fetch.urgent = true;
  if (fetch.started || !fetch.has_source) return;
  Link& link = links_[fetch.link];
  take_off_link(fetch);
  link.urgent.push_back(&fetch);
}

// A way through RAM that still waits for room there is not needed if the content has come to RAM by another one. An
// eviction from RAM that joins the copy would wait for room that itself is to make.
void Residency::go_directly(Fetch& fetch, Actions& actions) {
  if (fetch.relay == nullptr) return;
  Request& relay = *fetch.relay;
  if (relay.state.load(std::memory_order_relaxed) != RequestState::queued) return;
  const Source* const from = best_source(*fetch.handle, fetch.to);
  if (from == nullptr) return;
  take_from_queue(relay);
  recycle(relay);
  fetch.relay = nullptr;
  queue_on_link(fetch, *from, actions);
  pump(kRam, actions);  // the relay may have been the first there
}

// It waits there as an early copy.
void Residency::take_off_link(Fetch& fetch) {
  base::SureDeque<Fetch*>& early = links_[fetch.link].early;
  const auto at = std::ranges::find(early, &fetch);
  if (at == early.end()) {
    throw std::logic_error("early copy of " + fetch.handle->name + " does not wait for its link");
  }
  early.erase(at);
}

void Residency::pump_link(std::uint32_t index, Actions& actions) {
  Link& link = links_[index];
  while (link.in_flight < link.description.copies_in_flight) {
    auto& queue = link.urgent.empty() ? link.early : link.urgent;
    if (queue.empty()) return;
    Fetch& fetch = *queue.front();
    queue.pop_front();
    ++link.in_flight;
    fetch.started = true;
    if (!queue.empty()) warm(*queue.front());
    actions.copies.push_back({fetch.id, fetch.handle, place_of(replica(*fetch.handle, fetch.from)),
                              place_of(replica(*fetch.handle, fetch.to)), fetch.urgent});
  }
}

// One that was not started and nobody waits for: an early copy, or one whose way through RAM waits for
// room there.
void Residency::cancel_fetch(Fetch& fetch, Actions& actions) {
  Replica& to = replica(*fetch.handle, fetch.to);
  to.incoming = nullptr;
  to.word.fetch_and(~kComing, std::memory_order_relaxed);
  lost(to);
  --copies_in_course_;
  free_fetches_.push_back(&fetch);
  if (fetch.has_source) {
    take_off_link(fetch);
    unpin_one(replica(*fetch.handle, fetch.from), actions);
    actions.notices.push_back({to.handle, to.node, false});
  } else {
    take_from_queue(*fetch.relay);
    recycle(*fetch.relay);
    pump(kRam, actions);
  }
  unpin_one(to, actions);
}

bool Residency::cancel_early_copies(NodeId node, Actions& actions) {
  bool any = false;
  for (const std::uint32_t link : links_into_[node.value]) {
    if (links_[link].early.empty()) continue;
    const base::SureDeque<Fetch*> early = links_[link].early;
    for (Fetch* fetch : early) {
      if (!fetch->waiters.empty()) continue;
      cancel_fetch(*fetch, actions);
      any = true;
    }
  }
  return any;
}

void Residency::finish_fetch(Fetch& fetch, const std::exception_ptr& error, Actions& actions) {
  fetch.handle->early_failed = error != nullptr;
  Replica& to = replica(*fetch.handle, fetch.to);
  to.incoming = nullptr;
  to.word.fetch_and(~kComing, std::memory_order_relaxed);
  if (error || fetch.version != fetch.handle->version) lost(to);
  if (!error && fetch.version == fetch.handle->version) {
    set_valid(to);
    note_arrival(fetch, actions);
    if (nodes_[fetch.to.value].description.kind != NodeKind::disk) {
      actions.notices.push_back({fetch.handle, fetch.to, true});
    }
    if (fetch.owns) make_sole(to, actions);
  }
  if (fetch.has_source) {
    Replica& from = replica(*fetch.handle, fetch.from);
    unpin_one(from, actions);
  }
  if (fetch.relay != nullptr) {
    if (fetch.relay->state.load(std::memory_order_relaxed) == RequestState::ready) {
      drop_pins(*fetch.relay, actions);
    }
    recycle(*fetch.relay);
    fetch.relay = nullptr;
  }
  --copies_in_course_;
  unpin_one(to, actions);
  for (Request* request : fetch.waiters) {
    if (error) {
      fail(*request, error, actions);
    } else if (--request->missing == 0) {
      ended(*request, RequestState::ready, actions);
    }
  }
  free_fetches_.push_back(&fetch);  // not before: what has just ended may start another
}

// Of what no submitted task uses, so that where it came from can be freed at once now: a worker of that node may
// wait for room. Where nobody asked for the copy it goes first, too.
void Residency::note_arrival(const Fetch& fetch, Actions& actions) {
  Replica& from = replica(*fetch.handle, fetch.from);
  if (!is_known_unused(from) || !graph::is_unused(*fetch.handle)) return;
  put_unused(from);
  actions.arrivals.push_back(fetch.from);
  const bool evicts =
      !fetch.waiters.empty() && std::ranges::all_of(fetch.waiters, [](const Request* request) {
        return request->kind == RequestKind::eviction;
      });
  if (fetch.behind || evicts) put_unused(replica(*fetch.handle, fetch.to));
}

// By value: the caller must not hold the last reference while whoever waits reads the error.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void Residency::copy_done(std::uint64_t id, std::exception_ptr error, Actions& actions) {
  const std::lock_guard lock(mutex_);
  Fetch& fetch = fetches_[id];
  const std::uint32_t index = fetch.link;
  const NodeId from = fetch.from;
  const NodeId to = fetch.to;
  Link& link = links_[index];
  --link.in_flight;
  if (!error) {
    const Bytes bytes = fetch.handle->bytes();
    link.statistics.bytes += bytes;
    ++link.statistics.copies;
    nodes_[from.value].statistics.bytes_out += bytes;
    nodes_[to.value].statistics.bytes_in += bytes;
  }
  finish_fetch(fetch, error, actions);
  pump_link(index, actions);
  pump(from, actions);
  pump(to, actions);
  write_behind(bit(from) | bit(to), actions);
  actions.arrivals.push_back(to);
}

bool Residency::prefetch(graph::Handle& handle, NodeId node, Actions& actions, EarlyRoom room,
                         bool owns) {
  const std::lock_guard lock(mutex_);
  return fetch_early(handle, node, actions, room, owns);
}

bool Residency::fetch_early(graph::Handle& handle, NodeId node, Actions& actions, EarlyRoom room,
                            bool owns) {
  Replica& to = replica(handle, node);
  wanted_again(to);
  const std::uint32_t valid = handle.on.valid.get();
  if ((to.word.load(std::memory_order_relaxed) & kEvicting) != 0) {
    if (nodes_[node.value].first != nullptr) return false;  // somebody waits for its room
    rescue(to);
  }
  if (to.incoming != nullptr && owns) to.incoming->owns = true;
  if ((valid & bit(node)) != 0 && owns) make_sole(to, actions);
  if ((valid & bit(node)) != 0 || to.incoming != nullptr) return true;
  if (valid == 0 || handle.early_failed) return true;  // nothing to bring
  const Source* const from = best_source(handle, node);
  const bool direct = from != nullptr;
  if (direct) base::warm(&replica(handle, from->node), sizeof(Replica));
  base::warm(&handle);                                  // what start_fetch looks at
  Replica& next = direct ? to : replica(handle, kRam);  // first as far as RAM
  if (next.incoming != nullptr || nodes_[next.node.value].first != nullptr) return false;
  const bool free_alone = room == EarlyRoom::free_alone;
  if (room == EarlyRoom::unpromised) {
    const Source* const source = best_source(handle, next.node);
    if (source != nullptr) {
      const Link& link = links_[source->link];
      if (link.in_flight + link.urgent.size() + link.early.size() >= 2) return false;
    }
  }
  if (free_alone) {
    const Source* const source = best_source(handle, next.node);
    if (source != nullptr && !links_[source->link].early.empty()) return false;
  }
  if ((next.word.load(std::memory_order_relaxed) & kAllocated) == 0) {
    const Bytes needed = Arena::padded(handle.bytes());
    if (free_alone && !has_free(nodes_[next.node.value], needed)) return false;
    while (!allocate(next)) {
      if (free_alone || !nodes_[next.node.value].arena ||
          make_room(next.node, {needed, needed}, EvictionReason::prefetch, nullptr, actions) !=
              Room::again) {
        return false;
      }
    }
  } else if ((next.word.load(std::memory_order_relaxed) & kPinMask) != 0) {
    return false;  // a void replica that a copy still reads
  }
  start_fetch(next, nullptr, actions);
  if (direct && owns && to.incoming != nullptr) to.incoming->owns = true;
  return direct;
}

void Residency::write_behind(std::uint32_t nodes, Actions& actions) {
  for (; nodes != 0; nodes &= nodes - 1) {
    write_behind(NodeId{static_cast<std::uint32_t>(std::countr_zero(nodes))}, actions);
  }
}

// Less than half of it is free or could be at once.
bool Residency::is_short(const Node& node) {
  if (!node.arena) return false;
  const Bytes room = node.arena->capacity() - node.arena->used() + node.leaving + node.saved_bytes;
  return room.value < node.arena->capacity().value / 2;
}

// Saves what no submitted task uses before its room is needed, one copy at a time while the link is idle, as long
// as the node is short of room: runs that take less than half of it move nothing more. Without it a link that results
// saturate stands still until the memory is full (products of 32 x 32 blocks with room for 35 block rows: 6 %
// longer). With a quarter in place of half 420 runs of darts take 0.2 % longer; what is written besides are results.
// Not to a disk: it would read more slowly meanwhile. And once only: RAM gives it up for an early copy, also for one
// that gets no room in the end, and then it would come and go for as long as that one waits.
void Residency::write_behind(NodeId id, Actions& actions) {
  Node& node = nodes_[id.value];
  if (node.description.kind != NodeKind::device || rules_.hint) return;
  if (node.unsaved.size() == 0 || !is_short(node)) return;
  if (is_short(nodes_[node.parent->value])) return;  // or the copies would come and go
  const Source* const out = source_on(id, *node.parent);
  if (out == nullptr || !is_idle(links_[out->link])) return;
  Replica* const next = first_unused(node, Order::unsaved, [this](const Replica& r) {
    return evictable(r, nullptr) && !r.saved_behind && !r.handle->early_failed;
  });
  // Unlike other copies it is made for nobody who has access, so a task may be submitted and begin to write
  // meanwhile: it has the pin, or this has.
  if (next == nullptr || !memory::try_pin(*next, AccessMode::RW, next->last_use)) return;
  fetch_early(*next->handle, *node.parent, actions, EarlyRoom::free_alone, false);
  if (Fetch* const fetch = replica(*next->handle, *node.parent).incoming) {
    fetch->behind = true;
    next->saved_behind = true;
  }
  unpin_one(*next, actions);
}

// Besides what keep_free keeps for others.
bool Residency::has_free(const Node& node, Bytes needed) const {
  return !node.arena || node.arena->used() + node.kept_free + needed <= node.arena->capacity();
}

void Residency::keep_free(NodeId id, Bytes reserve, Actions& actions) {
  const std::lock_guard lock(mutex_);
  Node& node = nodes_[id.value];
  node.kept_free = reserve;
  if (!node.arena || node.first != nullptr) return;
  while (node.arena->capacity() - node.arena->used() + node.leaving < reserve) {
    if (make_room(id, {reserve, reserve}, EvictionReason::prefetch, nullptr, actions) !=
        Room::again)
      return;
  }
}

}  // namespace vicinal::memory
