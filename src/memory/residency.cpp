// Residency: handles, what tasks do to replicas, and how nodes tell each other. See requests.cpp, copies.cpp,
// eviction.cpp, search.cpp and report.cpp for the rest.
#include "memory/residency.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>

#include "memory/coherence.hpp"
#include "vicinal/error.hpp"

namespace vicinal::memory {

namespace {

// Locks are waited for in the order device, RAM, disk.
int rank_of(NodeKind kind) {
  return kind == NodeKind::device ? 2 : kind == NodeKind::ram ? 1 : 0;
}

}  // namespace

Residency::Residency(const MachineDescription& machine, MemorySource& source, VictimChooser chooser,
                     UseOrder order, Rules rules)
    : FastPath(machine.nodes.size()),
      Sizes(machine),
      machine_(machine),
      replicas_(machine.nodes.size()),
      links_(machine, rules.peer),
      chooser_(chooser),
      rules_(rules) {
  base::map_reserve();
  if (nodes_.size() > graph::NodeMask::kMostNodes) {
    throw UsageError("a machine has at most " + std::to_string(graph::NodeMask::kMostNodes) +
                     " memory nodes");
  }
  const std::optional<NodeId> disk = machine.disk();
  for (const NodeDescription& description : machine.nodes) {
    MemoryNode& node = nodes_[description.id.value];
    node.description = description;
    node.lock.set_rank(rank_of(description.kind));
    if (description.kind == NodeKind::device) node.parent = kRam;
    if (description.kind == NodeKind::ram) node.parent = disk;
    if (node.parent) {
      const Source* const out = links_.between(description.id, *node.parent);
      if (out != nullptr) node.way_out = out->link;
    }
    node.room.set_up(description, source);
    const bool notes = description.limit && description.kind != NodeKind::disk && !rules.lru;
    if (notes) notes_unused_ |= bit(description.id);
    if (description.kind == NodeKind::device) accelerators_ |= bit(description.id);
    node.victims.set_up(order, notes);
  }
}

Residency::~Residency() = default;

void Residency::reserve() {
  for (MemoryNode& node : nodes_) node.room.reserve();
}

// --- between nodes

bool Residency::try_take(MemoryNode& node) {
  const bool behind_ram = is_behind_ram(node);
  if (behind_ram && !nodes_[kRam.value].lock.try_lock()) return false;
  if (node.lock.try_lock()) return true;
  if (behind_ram) nodes_[kRam.value].lock.unlock();
  return false;
}

// At once if the node is free or this thread's; else it is left there.
void Residency::post(NodeId id, const Message& message, Actions& actions) {
  MemoryNode& node = nodes_[id.value];
  if (!try_take(node)) {
    node.inbox.leave(message);
    actions.undelivered |= bit(id);
    return;
  }
  const Leave leave{*this, node};
  if (node.was_left_something() && node.lock.held_once()) read_inbox(node, actions);
  act_on(node, message, actions);
}

void Residency::act_on(MemoryNode& node, const Message& message, Actions& actions) {
  switch (message.kind) {
    case Message::Kind::unused_room:
      settle(*message.replica, actions);
      if (message.waiters == Waiters::looked_at) pump(node.description.id, actions);
      break;
    case Message::Kind::unused_data:
      message.replica->saved_behind = false;
      node.victims.put_unused(*message.replica);
      break;
    case Message::Kind::unused_source:
      node.victims.put_unused(*message.replica);
      break;
    case Message::Kind::relayed: {
      Fetch& fetch = *message.request->relayed;
      if (const std::exception_ptr error = message.request->error) {
        finish_fetch(fetch, error, actions);  // which recycles the request
      } else {
        pin(replica(*fetch.handle, kRam));
        queue_on_link(fetch, ram_as_source(fetch.to), actions);
      }
      break;
    }
    case Message::Kind::saved:
      saved(*message.request, actions);
      break;
  }
}

void Residency::read_inbox(MemoryNode& node, Actions& actions) {
  node.note_last_copies();
  while (node.inbox.any()) {
    base::SureVector<Message> messages;
    node.inbox.take(messages);
    for (const Message& message : messages) act_on(node, message, actions);
  }
}

void Residency::deliver_all(Actions& actions) {
  while (actions.undelivered != 0) {
    const NodeId id{static_cast<std::uint32_t>(std::countr_zero(actions.undelivered))};
    actions.undelivered &= actions.undelivered - 1;
    at(id, actions, [] {});  // reads the inbox
  }
}

// --- handles

// Nobody else knows the handle, but by an earlier life of it.
void Residency::add(graph::Handle& handle) {
  Replica* const replicas = replicas_.take();
  handle.version.store(0, std::memory_order_relaxed);  // it may have been another datum's
  handle.copy_failed.store(false, std::memory_order_relaxed);
  handle.going.store(false, std::memory_order_relaxed);
  handle.on.leaving.assign(0);
  handle.writer.store(0, std::memory_order_relaxed);
  const bool empty = handle.bytes().value == 0;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Replica& r = replicas[n];
    r.node = nodes_[n].description.id;
    r.handle = &handle;
    r.fixed = empty;
    r.own_layout = empty && handle.home.kind == graph::HomeKind::buffer;
    if (empty) r.word.store(kAllocated | kValid, std::memory_order_relaxed);
  }
  const std::uint64_t everywhere = ~std::uint64_t{0} >> (64 - nodes_.size());
  handle.on.valid.assign(empty ? everywhere : 0);
  handle.on.placed.assign(empty ? everywhere : 0);
  place_home(handle, replicas);
  handle.takes_writes.store(handle.home.writable && !lacks_room(handle), std::memory_order_relaxed);
  // Owned through the handle from now on.
  handle.replicas.store(replicas, std::memory_order_release);
}

void Residency::place_home(graph::Handle& handle, Replica* replicas) {
  const bool in_ram = handle.home.kind == graph::HomeKind::buffer;
  if (in_ram || handle.home.kind == graph::HomeKind::device) {
    Replica& home = replicas[in_ram ? kRam.value : handle.home.node];
    home.fixed = home.own_layout = true;
    home.address = handle.home.address;
    home.word.store(kAllocated | kValid, std::memory_order_relaxed);
    handle.on.valid.add(home.node);
    handle.on.placed.add(home.node);
  } else if (handle.home.kind == graph::HomeKind::file && handle.bytes().value > 0) {
    const bool written = handle.content == graph::Content::written;
    for (const MemoryNode& node : nodes_) {
      if (node.description.kind != NodeKind::disk) continue;
      Replica& on_disk = replicas[node.description.id.value];
      on_disk.fixed = true;
      on_disk.offset = handle.home.offset;
      on_disk.word.store(kAllocated | (written ? kValid : 0), std::memory_order_relaxed);
      if (!written) continue;
      handle.on.valid.add(on_disk.node);
      handle.on.placed.add(on_disk.node);
    }
  }
}

void Residency::give_room(graph::Handle& handle, std::uint32_t life) {
  MemoryNode& ram = nodes_[kRam.value];
  const std::lock_guard lock(ram.lock);
  const bool is_going = handle.life() == life + 1;  // it may stay after all
  if (handle.replicas == nullptr || (handle.life() != life && !is_going)) return;
  if (handle.takes_writes.load(std::memory_order_relaxed)) return;  // another thread was first
  if (lacks_room(handle) && !allocate(replica(handle, kRam))) {
    std::rethrow_exception(ram.room.take_refusal());
  }
  // Release: whoever sees it may use the address.
  handle.takes_writes.store(true, std::memory_order_release);
}

// An eviction or a copy that waits is taken back. False: one is in flight.
bool Residency::stop_what_waits(Replica& r, Actions& actions) {
  if (r.eviction != nullptr) {
    const NodeId parent = r.eviction->node;
    const bool waits = at(parent, actions, [&] {
      if (r.eviction->state.load(std::memory_order_relaxed) != RequestState::queued) return false;
      nodes_[parent.value].requests.remove(*r.eviction);
      recycle(*r.eviction, node_of(r));
      r.eviction = nullptr;
      pump(parent, actions);
      return true;
    });
    if (!waits) return false;
  }
  if (r.incoming == nullptr) return true;
  Fetch& fetch = *r.incoming;
  return !fetch.urgent && fetch.has_source && cancel_fetch(fetch, actions);
}

// While it is `going` nothing new begins with it: no copy, no eviction, nothing left in an inbox.
bool Residency::remove(graph::Handle& handle, Actions& actions) {
  handle.going.store(true, std::memory_order_seq_cst);
  bool idle = true;
  for (std::uint32_t n = 0; idle && n < nodes_.size(); ++n) {
    const NodeId id{n};
    idle = at(id, actions, [&] { return stop_what_waits(replica(handle, id), actions); });
  }
  for (std::uint32_t n = 0; idle && n < nodes_.size(); ++n) {
    const std::uint32_t word = replica(handle, NodeId{n}).word.load(std::memory_order_acquire);
    idle = (word & kPinMask) == 0;
  }
  if (!idle) {  // it may stay after all
    handle.going.store(false, std::memory_order_seq_cst);
    note_last_copy(handle);
    at_each(actions, [&](NodeId id) { pump(id, actions); });  // who asks for room may have it again
    return false;
  }
  at_each(actions, [&](NodeId id) {
    Replica& r = replica(handle, id);
    if (r.fixed || (r.word.load(std::memory_order_relaxed) & kAllocated) == 0) return;
    claim_room(r);  // or it is claimed
    free_replica(r, drop(r, LastCopy::may_be_lost).was_valid, actions);
  });
  std::erase_if(actions.notices, [&](const Notice& notice) { return notice.handle == &handle; });
  at_each(actions, [&](NodeId id) { pump(id, actions); });
  return true;
}

// Who has found the replicas did so under the lock of a node, and has done with them when that is free.
void Residency::forget(graph::Handle& handle) {
  Replica* const replicas = handle.replicas.exchange(nullptr, std::memory_order_acq_rel);
  for (MemoryNode& node : nodes_) const std::lock_guard passed(node.lock);
  if (replicas != nullptr) replicas_.give_back(replicas);
}

void Residency::invalidate(graph::Handle& handle, Actions& actions) {
  if (handle.bytes().value == 0 || trivial()) return;
  became_void(handle, make_void(handle), actions, Waiters::not_looked_at);
  at_each(actions, [&](NodeId id) { pump(id, actions); });
}

void Residency::wont_use(graph::Handle& handle, Actions& actions) {
  const bool unused = graph::is_unused(handle);
  at_each(actions, [&](NodeId id) {
    if (handle.replicas == nullptr) return;  // another thread has unregistered it meanwhile
    Replica& r = replica(handle, id);
    if (r.fixed || (r.word.load(std::memory_order_relaxed) & kAllocated) == 0) return;
    VictimOrders& victims = nodes_[id.value].victims;
    victims.put_first(r);
    if (!unused) return;
    r.saved_behind = false;
    victims.put_unused(r);
  });
  if (unused) write_behind(handle.on.placed.get() & notes_unused_, actions);
}

// --- tasks

void Residency::unpin_first(graph::Task& task, NodeId node, std::size_t count, Actions& actions) {
  if (count == 0) return;
  at(node, actions, [&] {
    for (const graph::Access& access : task.accesses().first(count)) {
      unpin_one(replica(*access.handle, node), actions);
    }
    pump(node, actions);  // somebody may have waited for these pins
  });
}

bool Residency::try_pin(graph::Task& task, NodeId node, Actions& actions) {
  const std::size_t pinned = pin_first(task, node);
  if (pinned == task.accesses().size()) return true;
  unpin_first(task, node, pinned, actions);
  return false;
}

void Residency::settle(graph::Task& task, NodeId id, Actions& actions) {
  at(id, actions, [&] {
    for (const graph::Access& access : task.accesses()) {
      settle(replica(*access.handle, id), actions);
    }
    pump(id, actions);
  });
}

void Residency::written(graph::Task& task, NodeId node, Actions& actions) {
  for (const graph::Access& access : task.accesses()) {
    if (!writes(access.mode)) continue;
    if (valid_mask(*access.handle) == bit(node)) continue;
    if (access.handle->bytes().value == 0) continue;
    at(node, actions, [&] {
      Replica& here = replica(*access.handle, node);
      here.overwritten = false;
      if (leaves_content(access.mode)) make_exclusive(here, actions);
    });
  }
}

// Its content is the handle's from now on: other replicas, and copies that are on their way, are void.
void Residency::make_exclusive(Replica& here, Actions& actions) {
  const std::uint64_t others = memory::make_exclusive(here);
  node_of(here).gained();
  became_void(*here.handle, others, actions, Waiters::looked_at);
}

// Its content is on those nodes no longer.
void Residency::became_void(const graph::Handle& handle, std::uint64_t nodes, Actions& actions,
                            Waiters waiters) {
  for (; nodes != 0; nodes &= nodes - 1) {
    const NodeId id{static_cast<std::uint32_t>(std::countr_zero(nodes))};
    Replica& r = replica(handle, id);
    MemoryNode& node = nodes_[id.value];
    node.lost(r);
    if (records(trace::Category::memory)) {
      recorder_->record<trace::Event::became_void>(id.value, handle.id.value);
    }
    if (node.description.kind != NodeKind::disk) actions.notices.push_back({r.handle, id, false});
    post(id, {.kind = Message::Kind::unused_room, .replica = &r, .waiters = waiters}, actions);
  }
}

Bytes Residency::claim(graph::Task& task, NodeId id) {
  return room_of(task, id, [](Replica& r, MemoryNode& node) {
    const std::uint32_t before = r.claims.load(std::memory_order_relaxed);
    r.claims.store(before + 1, std::memory_order_relaxed);
    if (before == 0 && is_known_unused(r)) node.victims.leave(r);
    return before == 0;
  });
}

Bytes Residency::unclaim(graph::Task& task, NodeId id) {
  return room_of(task, id, [](Replica& r, MemoryNode& node) {
    const std::uint32_t left = r.claims.load(std::memory_order_relaxed) - 1;
    r.claims.store(left, std::memory_order_relaxed);
    if (left == 0) {
      r.put_off = 0;  // nobody waits for it
      node.victims.put(r);
    }
    return left == 0;
  });
}

std::uint64_t Residency::await_uses(const graph::Task& task, NodeId id) {
  if (!limit(id)) return 0;
  NextUses& uses = nodes_[id.value].victims.next_uses;
  std::uint64_t last = 0;
  const std::lock_guard held(uses.lock);
  for (const graph::Access& access : task.accesses()) {
    if (is_awaited(access.mode)) last = uses.add(replica(*access.handle, id));
  }
  return last;
}

void Residency::forget_uses(const graph::Task& task, std::uint64_t last_use, NodeId id) {
  if (last_use == 0) return;
  MemoryNode& node = nodes_[id.value];
  const std::lock_guard lock(node.lock);
  const std::span<const graph::Access> accesses = task.accesses();
  {
    NextUses& uses = node.victims.next_uses;
    const std::lock_guard held(uses.lock);
    for (std::size_t i = accesses.size(); i-- > 0;) {  // backwards: `last_use` is the last one's
      if (is_awaited(accesses[i].mode)) uses.leave(replica(*accesses[i].handle, id), last_use--);
    }
  }
  // Their turn comes later now. Among those used equally long ago the order is that in which they came here, or
  // where room is not short that in which they were placed.
  for (std::size_t i = accesses.size(); i-- > 0;) {
    Replica& r = replica(*accesses[i].handle, id);
    if (is_awaited(accesses[i].mode) && class_of(r) == VictimClass::awaited) {
      node.victims.put_again(r);
    }
  }
}

void Residency::note_unused(const graph::Task& task, Actions& actions) {
  std::uint64_t changed = 0;
  for (const graph::Access& access : task.accesses()) {
    if (graph::is_unused(*access.handle)) changed |= note_unused(*access.handle, actions);
  }
  deliver(actions);
  write_behind(changed, actions);
}

// On which nodes?
std::uint64_t Residency::note_unused(graph::Handle& handle, Actions& actions) {
  const std::uint64_t there = handle.on.placed.get() & notes_unused_;
  for (std::uint64_t left = there; left != 0; left &= left - 1) {
    const NodeId id{static_cast<std::uint32_t>(std::countr_zero(left))};
    post(id, {.kind = Message::Kind::unused_data, .replica = &replica(handle, id)}, actions);
  }
  return there;
}

}  // namespace vicinal::memory
