// Residency: reservations. A node's queue is served from its head; nothing overtakes it.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "graph/task_pool.hpp"
#include "memory/residency.hpp"
#include "vicinal/error.hpp"

namespace vicinal::memory {

namespace {

// The task, or the acquisition, that wants its operands.
const graph::Task& asks(const Request& request) {
  return request.operands.front().task();
}

CopyCause cause_of(const Request& request) {
  switch (request.kind) {
    case RequestKind::task:
      return graph::is_scheduled(asks(request).kind) ? CopyCause::task : CopyCause::application;
    case RequestKind::relay:
      return CopyCause::relay;
    case RequestKind::eviction:
      return CopyCause::eviction;
    case RequestKind::flush:
      break;
  }
  return CopyCause::application;
}

}  // namespace

// What a task, or an acquisition, comes to.
void Residency::record_request(const Request& request, RequestState state) const {
  if (!records(trace::Category::memory)) return;
  if (request.kind != RequestKind::task || request.operands.empty()) return;
  using trace::Event;
  const std::uint32_t node = request.node.value;
  const std::uint64_t task = graph::TaskPool::id(asks(request)).value;
  switch (state) {
    case RequestState::queued:
      return recorder_->record<Event::operands_wanted>(node, task);
    case RequestState::granted:
      return recorder_->record<Event::room_granted>(node, task);
    case RequestState::ready:
    case RequestState::failed:
      return recorder_->record<Event::operands_ready>(node, task, request.error != nullptr);
    case RequestState::idle:
      break;
  }
}

Request& Residency::own_request(RequestKind kind, MemoryNode& owner, graph::Handle& handle,
                                NodeId node) {
  Request& request = owner.own_requests.take();
  request.kind = kind;
  request.node = node;
  request.single = graph::Access{};
  request.single.handle = &handle;
  request.single.mode = AccessMode::R;
  request.operands = {&request.single, 1};
  request.missing = 0;
  request.state.store(RequestState::idle, std::memory_order_relaxed);
  request.error = nullptr;
  request.relayed = nullptr;
  request.victim = nullptr;
  request.attempt = attempt_.load(std::memory_order_relaxed);
  request.empties = false;
  return request;
}

void Residency::recycle(Request& request, MemoryNode& owner) {
  request.state.store(RequestState::idle, std::memory_order_relaxed);
  request.error = nullptr;
  owner.own_requests.give_back(request);
}

void Residency::enqueue(Request& request, Actions& actions) {
  const NodeId id = request.node;
  at(id, actions, [&] {
    request.state.store(RequestState::queued, std::memory_order_relaxed);
    request.missing = 0;
    request.empties = false;
    request.number = ++nodes_[id.value].last_request;
    // What needs no room waits for nobody who does: others may hold that room until it has been served.
    const auto at_home = [&](const graph::Access& access) {
      return replica(*access.handle, id).fixed;
    };
    MemoryNode& node = nodes_[id.value];
    const bool needs_none = request.kind == RequestKind::task && node.room.is_limited() &&
                            std::ranges::all_of(request.operands, at_home);
    RequestQueue& queue = node.requests;
    needs_none ? queue.push_front(request) : queue.push(request);
    pump(id, actions);
  });
}

// Grants from the head of the queue as long as there is room. `waiting` is set before the pins are
// looked at: a pin that goes afterwards sees it and pumps again (see unpin).
void Residency::pump(NodeId id, Actions& actions) {
  MemoryNode& node = nodes_[id.value];
  if (node.pumping) {
    node.pump_again = true;
    return;
  }
  struct Pumping {
    bool& now;
    ~Pumping() { now = false; }  // also if something throws: or nobody would be served any more
  } const pumping{node.pumping = true};
  do {
    node.pump_again = false;
    while (!node.requests.empty() && serve_head(node, actions)) {
    }
  } while (node.pump_again);
  if (node.requests.empty()) node.waiting.store(false, std::memory_order_seq_cst);
}

// False: it waits.
bool Residency::serve_head(MemoryNode& node, Actions& actions) {
  node.waiting.store(true, std::memory_order_seq_cst);
  Request& head = *node.requests.first();
  if (head.kind == RequestKind::eviction && nothing_to_save(head, actions)) {
    node.requests.pop();
    cancel_eviction(head, actions);
    return true;
  }
  mark_operands(node, head);
  const Placed placed = place(head, actions);
  if (placed == Placed::waits) return false;
  node.requests.remove(head);
  if (placed == Placed::yes) {
    grant(head, actions);
  } else {
    ended(head, RequestState::failed, actions);
  }
  return true;
}

// They are none of its victims, which is asked of each replica.
void Residency::mark_operands(MemoryNode& node, const Request& head) {
  if (!node.room.is_limited() || node.marked_request == head.number) return;
  node.marked_request = head.number;
  for (const graph::Access& access : head.operands) {
    replica(*access.handle, head.node).asked_by = head.number;
  }
}

// There is nothing to save, or not from there.
void Residency::cancel_eviction(Request& eviction, Actions& actions) {
  eviction.state.store(RequestState::idle, std::memory_order_relaxed);
  post(eviction.victim->node, {.kind = Message::Kind::saved, .request = &eviction}, actions);
}

// What the operands lack; waits if one is to be written and somebody else still uses it.
Residency::Placed Residency::prepare(Request& request, Bytes& needed, Actions& actions) {
  needed = Bytes{0};
  for (const graph::Access& access : request.operands) {
    Replica& r = replica(*access.handle, request.node);
    if (!request.empties) rescue(r);
    // A copy that brings what is to be overwritten, or has been meanwhile, is nobody's to join.
    const std::uint32_t before = r.word.load(std::memory_order_relaxed);
    const std::uint64_t version = access.handle->version.load(std::memory_order_relaxed);
    if ((before & kComing) != 0 && (!reads(access.mode) || r.incoming->version != version)) {
      Fetch& other = *r.incoming;
      if (other.urgent || !other.has_source || !cancel_fetch(other, actions)) return Placed::waits;
    }
    const std::uint32_t word = r.word.load(std::memory_order_seq_cst);
    if ((word & kEvicting) != 0) return Placed::waits;  // until it has left, see last_resort
    if ((word & kAllocated) == 0) {
      needed += Arena::padded(access.handle->bytes());
      continue;
    }
    // A copy of content that is void by now still reads it.
    const bool read_while_void = (word & (kValid | kComing)) == 0 && (word & kPinMask) != 0;
    const bool used_by_others =
        writes(access.mode) && (word & kPinMask) > ((word & kComing) != 0 ? 1U : 0U);
    if (read_while_void || used_by_others) return Placed::waits;
  }
  return Placed::yes;
}

// If not, `lack` is what was looked for up to the operand that got no room.
bool Residency::allocate_all(Request& request, Lack& lack) {
  for (std::size_t i = 0; i < request.operands.size(); ++i) {
    Replica& r = replica(*request.operands[i].handle, request.node);
    if ((r.word.load(std::memory_order_relaxed) & kAllocated) != 0) continue;
    lack.operand = Arena::padded(r.handle->bytes());
    lack.bytes += lack.operand;
    if (allocate(r)) continue;
    Actions none;  // room just taken and given back concerns nobody
    while (i-- > 0) settle(replica(*request.operands[i].handle, request.node), none);
    return false;
  }
  return true;
}

std::exception_ptr Residency::no_room(const Request& request, Bytes needed) {
  MemoryNode& node = nodes_[request.node.value];
  const std::string& name = request.operands[0].handle->name;
  if (node.description.kind == NodeKind::disk) {
    return base::make_error<DeviceError>([&] {
      return "disk full: no room for " + std::to_string(needed.value) + " bytes of " + name +
             " in the " + std::to_string(node.room.limit().value_or(Bytes{0}).value) +
             " bytes of the disk folder; give a folder with more room (option disk) or raise "
             "disk_space";
    });
  }
  if (node.room.is_limited()) {
    return base::make_error<DeviceError>([&] {
      return "no room for " + std::to_string(needed.value) + " bytes on " + node.description.name +
             ": what it holds has nowhere to go";
    });
  }
  const std::exception_ptr why = node.room.take_refusal();
  try {
    if (why) std::rethrow_exception(why);
  } catch (const Error& error) {
    return base::make_error<CapacityError>([&] { return name + ": " + error.what(); });
  } catch (...) {
  }
  return base::out_of_memory("made room for data");
}

Residency::Placed Residency::place(Request& request, Actions& actions) {
  for (;;) {
    Bytes needed;
    if (prepare(request, needed, actions) == Placed::waits) return Placed::waits;
    Lack lack;
    const Room& room = nodes_[request.node.value].room;
    // An attempt in vain takes room for one operand after the other, and gives it back.
    const auto is_short = [&] {
      return room.is_limited() && !rules_.lru && needed > room.unused();
    };
    if (!is_short() && allocate_all(request, lack)) return Placed::yes;
    if (!room.is_limited()) {  // but the system gives no more
      request.error = no_room(request, lack.operand);
      return Placed::failed;
    }
    if (!rules_.lru) lack.bytes = needed;
    Outcome outcome{};
    do {
      outcome = make_room(request.node, lack, EvictionReason::firm, &request, actions);
    } while (outcome == Outcome::again && !request.empties && is_short());
    switch (outcome) {
      case Outcome::again:
        continue;
      case Outcome::waits:
        return Placed::waits;
      case Outcome::never:
        request.error = broken();
        if (!request.error) request.error = no_room(request, needed);
        return Placed::failed;
    }
  }
}

void Residency::grant(Request& request, Actions& actions) {
  record_request(request, RequestState::granted);
  request.state.store(RequestState::granted, std::memory_order_relaxed);
  const std::uint64_t epoch = epoch_.fetch_add(1, std::memory_order_relaxed) + 1;
  for (graph::Access& access : request.operands) {
    Replica& r = replica(*access.handle, request.node);
    pin(r);
    r.last_use.store(rules_.lru ? ++epoch_ : epoch, std::memory_order_relaxed);
  }
  for (graph::Access& access : request.operands) {
    Replica& r = replica(*access.handle, request.node);
    if ((r.word.load(std::memory_order_relaxed) & kValid) != 0) continue;
    if (!reads(access.mode)) {
      r.overwritten = true;
      continue;
    }
    // What an eviction would save may have become void since its turn came: see start_fetch.
    if (request.kind != RequestKind::eviction && access.handle->on.valid.get() == 0) {
      fail(request, base::make_error<PoisonedError>([&] {
             return "the content of " + access.handle->name + " is lost: it was invalidated";
           }),
           actions);
      return;
    }
    ++request.missing;
    if (r.incoming == nullptr) {
      if (!start_fetch(r, &request, cause_of(request), actions)) return;
    } else {
      make_urgent(*r.incoming);
      go_directly(*r.incoming, actions);
      r.incoming->waiters.push_back(&request);
    }
  }
  if (request.missing == 0) ended(request, RequestState::ready, actions);
}

void Residency::drop_pins(Request& request, Actions& actions) {
  for (const graph::Access& access : request.operands) {
    Replica& r = replica(*access.handle, request.node);
    if (Fetch* const fetch = r.incoming; fetch != nullptr) {
      std::erase(fetch->waiters, &request);
      // What waits for its way through RAM would read, unordered by the graph, whatever is there when its turn comes.
      if (fetch->waiters.empty() && !fetch->has_source) cancel_fetch(*fetch, actions);
    }
    if (!reads(access.mode)) r.overwritten = false;
    unpin_one(r, actions);
  }
}

void Residency::fail(Request& request, std::exception_ptr error, Actions& actions) {
  const NodeId node = request.node;
  drop_pins(request, actions);
  request.error = std::move(error);
  ended(request, RequestState::failed, actions);
  pump(node, actions);
}

// Ready or failed. The owner of a task's or a flush's request may see that at once, without the lock,
// and free it: nothing is read of it afterwards.
void Residency::ended(Request& request, RequestState state, Actions& actions) {
  record_request(request, state);
  switch (request.kind) {
    case RequestKind::task:
    case RequestKind::flush: {
      const NodeId node = request.node;
      actions.arrivals.push_back(node);
      if (request.tells) actions.ended.push_back(&request);
      request.state.store(state, std::memory_order_release);
      nodes_[node.value].gained();
      break;
    }
    case RequestKind::relay:
      request.state.store(state, std::memory_order_relaxed);
      post(request.relayed->to, {.kind = Message::Kind::relayed, .request = &request}, actions);
      break;
    case RequestKind::eviction:
      request.state.store(state, std::memory_order_relaxed);
      if (state == RequestState::ready) drop_pins(request, actions);
      post(request.victim->node, {.kind = Message::Kind::saved, .request = &request}, actions);
      break;
  }
}

void Residency::request(Request& request, Actions& actions) {
  request.error = nullptr;
  record_request(request, RequestState::queued);
  enqueue(request, actions);
}

void Residency::withdraw(Request& request, Actions& actions) {
  at(request.node, actions, [&] {
    switch (request.state.load(std::memory_order_relaxed)) {
      case RequestState::queued:
        nodes_[request.node.value].requests.remove(request);
        break;
      case RequestState::granted:
      case RequestState::ready:
        drop_pins(request, actions);
        break;
      case RequestState::idle:
      case RequestState::failed:
        break;
    }
    request.state.store(RequestState::idle, std::memory_order_relaxed);
    pump(request.node, actions);
  });
}

void Residency::release(Request& request, Actions& actions) {
  at(request.node, actions, [&] {
    drop_pins(request, actions);
    request.state.store(RequestState::idle, std::memory_order_relaxed);
    pump(request.node, actions);
  });
}

}  // namespace vicinal::memory
