// Residency: handles, the fast path, questions. See requests.cpp, copies.cpp, room.cpp, victims.cpp, search.cpp for
// the rest.
#include "memory/residency.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

#include "vicinal/error.hpp"

namespace vicinal::memory {

Residency::Residency(const MachineDescription& machine, MemorySource& source, bool external_victims,
                     bool in_order, Rules rules)
    : nodes_(machine.nodes.size()),
      source_(source),
      external_victims_(external_victims),
      in_order_(in_order),
      rules_(rules) {
  base::map_reserve();
  if (machine.nodes.size() > 32) throw UsageError("a machine has at most 32 memory nodes");
  const std::optional<NodeId> disk = machine.disk();
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const NodeDescription& description = machine.nodes[n];
    Node& node = nodes_[n];
    node.description = description;
    node.limit = description.limit;
    if (description.kind == NodeKind::device) node.parent = kRam;
    if (description.kind == NodeKind::ram) node.parent = disk;
    if (description.limit) {
      const Bytes whole{description.limit->value & ~std::uint64_t{4095}};
      node.limit = whole;
      node.arena = std::make_unique<Arena>(whole);
    }
    if (!description.limit || description.kind == NodeKind::disk || rules.lru) continue;
    notes_unused_ |= bit(description.id);
  }
  links_into_.resize(nodes_.size());
  for (const LinkDescription& description : machine.links) {
    links_into_[description.to.value].push_back(static_cast<std::uint32_t>(links_.size()));
    Link& link = links_.emplace_back();
    link.description = description;
    link.statistics.from = description.from;
    link.statistics.to = description.to;
  }
  find_sources();
}

// Memory before disk: RAM, then a peer, then the disk; the first among equals.
void Residency::find_sources() {
  const auto rank = [&](const Source& source) {
    const NodeKind kind = nodes_[source.node.value].description.kind;
    return kind == NodeKind::ram ? 0 : kind == NodeKind::device ? 1 : 2;
  };
  for (const Node& to : nodes_) {
    std::vector<Source>& sources = sources_.emplace_back();
    for (const Node& from : nodes_) {
      for (std::uint32_t l = 0; l < links_.size(); ++l) {
        const LinkDescription& link = links_[l].description;
        if (link.from != from.description.id || link.to != to.description.id) continue;
        if (link.from == link.to) continue;
        if (!sources.empty() && sources.back().node == link.from) sources.pop_back();
        sources.push_back({link.from, l});
      }
    }
    std::ranges::stable_sort(sources, {}, rank);
  }
}

Residency::~Residency() = default;

void Residency::reserve() {
  for (Node& node : nodes_) {
    if (node.limit && node.description.kind != NodeKind::disk) {
      node.base = source_.reserve(node.description.id, *node.limit);
    }
  }
}

void Residency::add(graph::Handle& handle) {
  const std::lock_guard lock(mutex_);
  auto replicas = std::make_unique<Replica[]>(nodes_.size());
  handle.replicas = replicas.get();
  handle.version = 0;  // it may have been another datum's
  handle.early_failed = false;
  handle.on.leaving.assign(0);
  const bool empty = handle.bytes().value == 0;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Replica& r = replicas[n];
    r.node = nodes_[n].description.id;
    r.handle = &handle;
    r.fixed = empty;
    r.own_layout = empty && handle.home.kind == graph::HomeKind::buffer;
    if (empty) r.word.store(kAllocated | kValid, std::memory_order_relaxed);
  }
  Replica& in_ram = replicas[kRam.value];
  std::uint32_t valid = empty ? ~0U >> (32 - nodes_.size()) : 0;
  std::uint32_t placed = valid;
  if (handle.home.kind == graph::HomeKind::buffer) {
    in_ram.fixed = in_ram.own_layout = true;
    in_ram.address = handle.home.address;
    in_ram.word.store(kAllocated | kValid, std::memory_order_relaxed);
    valid |= bit(kRam);
    placed |= bit(kRam);
  } else if (handle.home.kind == graph::HomeKind::file && !empty) {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].description.kind != NodeKind::disk) continue;
      Replica& on_disk = replicas[n];
      on_disk.fixed = true;
      on_disk.offset = handle.home.offset;
      on_disk.word.store(kAllocated | (handle.content == graph::Content::written ? kValid : 0),
                         std::memory_order_relaxed);
      if (handle.content != graph::Content::written) continue;
      valid |= bit(on_disk.node);
      placed |= bit(on_disk.node);
    }
  }
  handle.on.valid.assign(valid);
  handle.on.placed.assign(placed);
  handle.takes_writes.store(handle.home.writable && !lacks_room(handle), std::memory_order_relaxed);
  replicas.release();  // NOLINT(bugprone-unused-return-value): owned through the handle
}

void Residency::give_room(graph::Handle& handle, std::uint32_t life) {
  const std::lock_guard lock(mutex_);
  const bool is_going = handle.life() == life + 1;  // it may stay after all
  if (handle.replicas == nullptr || (handle.life() != life && !is_going)) return;
  if (handle.takes_writes.load(std::memory_order_relaxed)) return;  // another thread was first
  if (lacks_room(handle) && !allocate(replica(handle, kRam))) {
    std::rethrow_exception(std::exchange(refused_, nullptr));
  }
  // Release: whoever sees it may use the address.
  handle.takes_writes.store(true, std::memory_order_release);
}

bool Residency::remove(graph::Handle& handle, Actions& actions) {
  const std::lock_guard lock(mutex_);
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Replica& r = handle.replicas[n];
    if (r.eviction != nullptr) {
      if (r.eviction->state.load(std::memory_order_relaxed) != RequestState::queued) return false;
      take_from_queue(*r.eviction);
      const NodeId parent = r.eviction->node;
      recycle(*r.eviction);
      r.eviction = nullptr;
      pump(parent, actions);
    }
    if (r.incoming != nullptr) {
      Fetch& fetch = *r.incoming;
      if (fetch.started || fetch.urgent || !fetch.has_source) return false;
      cancel_fetch(fetch, actions);
    }
  }
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if ((handle.replicas[n].word.load(std::memory_order_acquire) & kPinMask) != 0) return false;
  }
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Replica& r = handle.replicas[n];
    if (!r.fixed && (r.word.load(std::memory_order_relaxed) & kAllocated) != 0) {
      claim_room(r);  // or it is claimed
      free_replica(r, actions);
    }
  }
  std::erase_if(actions.notices, [&](const Notice& notice) { return notice.handle == &handle; });
  for (const Node& node : nodes_) pump(node.description.id, actions);
  return true;
}

void Residency::forget(graph::Handle& handle) {
  const std::lock_guard lock(mutex_);
  delete[] std::exchange(handle.replicas, nullptr);
}

void Residency::invalidate(graph::Handle& handle, Actions& actions) {
  const std::lock_guard lock(mutex_);
  if (handle.bytes().value == 0 || trivial()) return;
  ++handle.version;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Replica& r = handle.replicas[n];
    if ((r.word.load(std::memory_order_relaxed) & kValid) != 0) make_invalid(r, actions);
  }
  for (const Node& node : nodes_) pump(node.description.id, actions);
}

void Residency::wont_use(graph::Handle& handle, Actions& actions) {
  const std::lock_guard lock(mutex_);
  if (handle.replicas == nullptr) return;  // another thread has unregistered it meanwhile
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Replica& r = handle.replicas[n];
    if (r.fixed || (r.word.load(std::memory_order_relaxed) & kAllocated) == 0) continue;
    Node& node = nodes_[n];
    r.last_use.store(0, std::memory_order_relaxed);
    node.residents.remove(r);
    node.residents.prepend(r);
    leave_order(node, r);
    put_in_order(node, r);
  }
  if (graph::is_unused(handle)) write_behind(note_unused(handle), actions);
}

void Residency::unpin_first(graph::Task& task, NodeId node, std::size_t count, Actions& actions) {
  if (count == 0) return;
  const std::lock_guard lock(mutex_);
  for (const graph::Access& access : task.accesses().first(count)) {
    unpin_one(replica(*access.handle, node), actions);
  }
  pump(node, actions);  // somebody may have waited for these pins
}

bool Residency::try_pin(graph::Task& task, NodeId node, Actions& actions) {
  const std::size_t pinned = pin_first(task, node);
  if (pinned == task.accesses().size()) return true;
  unpin_first(task, node, pinned, actions);
  return false;
}

void Residency::settle(graph::Task& task, NodeId id, Actions& actions) {
  const std::lock_guard lock(mutex_);
  for (const graph::Access& access : task.accesses()) settle(replica(*access.handle, id), actions);
  pump(id, actions);
}

void Residency::written(graph::Task& task, NodeId node, Actions& actions) {
  for (const graph::Access& access : task.accesses()) {
    if (!writes(access.mode)) continue;
    if (valid_mask(*access.handle) == bit(node)) continue;
    if (access.handle->bytes().value == 0) continue;
    const std::lock_guard lock(mutex_);
    Replica& here = replica(*access.handle, node);
    here.overwritten = false;
    make_sole(here, actions);
  }
}

// Its content is the handle's from now on: other replicas, and copies that are on their way, are void.
void Residency::make_sole(Replica& here, Actions& actions) {
  ++here.handle->version;
  set_valid(here);
  std::uint32_t others = valid_mask(*here.handle) & ~bit(here.node);
  for (; others != 0; others &= others - 1) {
    const NodeId node{static_cast<std::uint32_t>(std::countr_zero(others))};
    if (!valid_on(*here.handle, node)) continue;  // pump has made it leave
    make_invalid(replica(*here.handle, node), actions);
    pump(node, actions);
  }
}

Bytes Residency::claim(graph::Task& task, NodeId node) {
  const std::lock_guard lock(mutex_);
  Bytes first;
  for (const graph::Access& access : task.accesses()) {
    Replica& r = replica(*access.handle, node);
    if (r.claims++ > 0) continue;
    first += footprint(*access.handle, node);
    if (is_known_unused(r)) leave_order(nodes_[node.value], r);
  }
  return first;
}

Bytes Residency::unclaim(graph::Task& task, NodeId node) {
  const std::lock_guard lock(mutex_);
  Bytes last;
  for (const graph::Access& access : task.accesses()) {
    Replica& r = replica(*access.handle, node);
    if (--r.claims > 0) continue;
    last += footprint(*access.handle, node);
    put_in_order(nodes_[node.value], r);
  }
  return last;
}

std::uint64_t Residency::await_uses(const graph::Task& task, NodeId id) {
  Node& node = nodes_[id.value];
  if (!node.limit) return 0;
  std::uint64_t last = 0;
  const std::lock_guard held(node.next_uses.lock);
  for (const graph::Access& access : task.accesses()) {
    if (is_awaited(access.mode)) last = node.next_uses.add(replica(*access.handle, id));
  }
  return last;
}

void Residency::forget_uses(const graph::Task& task, std::uint64_t last_use, NodeId id) {
  if (last_use == 0) return;
  Node& node = nodes_[id.value];
  const std::lock_guard lock(mutex_);
  const std::span<const graph::Access> accesses = task.accesses();
  {
    const std::lock_guard held(node.next_uses.lock);
    for (std::size_t i = accesses.size(); i-- > 0;) {  // backwards: `last_use` is the last one's
      if (!is_awaited(accesses[i].mode)) continue;
      node.next_uses.leave(replica(*accesses[i].handle, id), last_use--);
    }
  }
  // Their turn comes later now. Among those used equally long ago the order is that in which they came here, or
  // where room is not short that in which they were placed.
  for (std::size_t i = accesses.size(); i-- > 0;) {
    Replica& r = replica(*accesses[i].handle, id);
    if (!is_awaited(accesses[i].mode) || order_of(r) != Order::awaited) continue;
    leave_order(node, r);
    put_in_order(node, r);
  }
}

bool Residency::valid_on(const graph::Handle& handle, NodeId node) const {
  return (valid_mask(handle) & bit(node)) != 0;
}

bool Residency::on_node(const graph::Handle& handle, NodeId node) const {
  const std::uint32_t word = replica(handle, node).word.load(std::memory_order_acquire);
  if ((word & kEvicting) != 0) return false;
  return (word & kValid) != 0 || ((word & kAllocated) != 0 && (word & kPinMask) != 0);
}

// Looks only at the few replicas that have room and are not valid: each is a line from memory.
std::uint32_t Residency::on_nodes(const graph::Handle& handle) const {
  const std::uint32_t stay = ~handle.on.leaving.get();
  std::uint32_t on = handle.on.valid.get() & stay;
  std::uint32_t others = handle.on.placed.get() & stay & ~on;
  for (; others != 0; others &= others - 1) {
    const NodeId node{static_cast<std::uint32_t>(std::countr_zero(others))};
    if (on_node(handle, node)) on |= bit(node);
  }
  return on;
}

// By the home, not by the replica: a task is checked before it holds a handle, whose replicas may be going.
Bytes Residency::footprint(const graph::Handle& handle, NodeId node) const {
  const graph::HomeKind home = handle.home.kind;
  const bool on_disk = nodes_[node.value].description.kind == NodeKind::disk;
  const bool fixed = (home == graph::HomeKind::buffer && node == kRam) ||
                     (home == graph::HomeKind::file && on_disk);
  return fixed ? Bytes{0} : Arena::padded(handle.bytes());
}

Bytes Residency::working_set(const graph::Task& task, NodeId node) const {
  Bytes sum;
  for (const graph::Access& access : task.accesses()) sum += footprint(*access.handle, node);
  return sum;
}

bool Residency::fits(const graph::Task& task, NodeId node) const {
  const auto& limit = nodes_[node.value].limit;
  if (!limit) return true;
  Bytes most;  // without a look at the replicas, of which those that are at home take nothing
  for (const graph::Access& access : task.accesses()) most += Arena::padded(access.handle->bytes());
  return most <= *limit || working_set(task, node) <= *limit;
}

void Residency::statistics(Statistics& into) const {
  const std::lock_guard lock(mutex_);
  into.nodes.clear();
  for (const Node& node : nodes_) {
    NodeStatistics s = node.statistics;
    s.peak = node.arena ? node.arena->peak() : node.peak_outside;
    s.resident = node.arena ? node.arena->used() : node.outside;
    into.nodes.push_back(s);
  }
  into.links.clear();
  for (const Link& link : links_) into.links.push_back(link.statistics);
}

bool Residency::quiet() const {
  const std::lock_guard lock(mutex_);
  return copies_in_course_ == 0;
}

void Residency::try_again(Actions& actions) {
  const std::lock_guard lock(mutex_);
  if (!broken_) return;
  broken_ = nullptr;
  is_broken_.store(false, std::memory_order_release);
  ++attempt_;
  for (const Node& node : nodes_) pump(node.description.id, actions);
}

std::exception_ptr Residency::first_broken() const {
  const std::lock_guard lock(mutex_);
  return broken_;
}

namespace {
std::string_view to_string(RequestKind kind) {
  switch (kind) {
    case RequestKind::task:
      return "task";
    case RequestKind::relay:
      return "copy through RAM";
    case RequestKind::eviction:
      return "write-back";
    case RequestKind::flush:
      return "flush";
  }
  return "?";
}
}  // namespace

std::string Residency::describe() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const Node& node : nodes_) {
    text += "node " + node.description.name + ": " +
            std::to_string((node.arena ? node.arena->used() : node.outside).value) + " bytes";
    if (node.limit) text += " of " + std::to_string(node.limit->value);
    if (node.leaving.value > 0) text += ", " + std::to_string(node.leaving.value) + " leaving";
    text += "\n";
    for (const Request* r = node.first; r != nullptr; r = r->next) {
      text += "  waits for room: " + std::string(to_string(r->kind)) + " for";
      for (const graph::Access& access : r->operands) {
        text +=
            " " + access.handle->name + "(" + std::to_string(access.handle->bytes().value) + ")";
      }
      text += "\n";
    }
    for (const Replica* r = node.residents.oldest(); r != nullptr;
         r = node.residents.newer_than(*r)) {
      const std::uint32_t word = r->word.load(std::memory_order_relaxed);
      if ((word & kPinMask) == 0 && r->incoming == nullptr && (word & kEvicting) == 0) continue;
      text += "  held: " + r->handle->name + ", " + std::to_string(word & kPinMask) + " pins";
      if (r->incoming != nullptr) {
        text += r->incoming->started ? ", being copied in" : ", copy in queued";
        if (r->incoming->relay != nullptr) text += " through RAM";
      }
      if ((word & kEvicting) != 0) text += ", being evicted";
      text += "\n";
    }
  }
  for (const Link& link : links_) {
    if (link.in_flight == 0 && link.urgent.empty() && link.early.empty()) continue;
    text += "link " + nodes_[link.description.from.value].description.name + " -> " +
            nodes_[link.description.to.value].description.name + ": " +
            std::to_string(link.in_flight) + " copies in flight, " +
            std::to_string(link.urgent.size() + link.early.size()) + " queued\n";
  }
  return text;
}

// They say the same as the words of the replicas.
void Residency::check_masks(const graph::Handle& handle) const {
  for (const Node& node : nodes_) {
    const NodeId id = node.description.id;
    const Replica& r = replica(handle, id);
    const std::uint32_t word = r.word.load(std::memory_order_relaxed);
    const bool counts = !r.fixed || (word & (kValid | kPinMask)) != 0;
    const auto agrees = [&](const graph::NodeMask& mask, bool is_so) {
      return mask.has(id) == is_so;
    };
    if (agrees(handle.on.valid, (word & kValid) != 0) &&
        agrees(handle.on.placed, (word & kAllocated) != 0 && counts) &&
        agrees(handle.on.leaving, (word & kEvicting) != 0)) {
      continue;
    }
    throw std::logic_error("replica of " + handle.name + " on " + node.description.name +
                           ": word " + std::to_string(word) +
                           ", and a mask of its handle says otherwise");
  }
}

void Residency::check() const {
  const std::lock_guard lock(mutex_);
  for (const Node& node : nodes_) {
    Bytes used;
    Bytes saved;
    std::array<std::size_t, 5> in_order{};  // by Order
    for (const Replica* r = node.residents.oldest(); r != nullptr;
         r = node.residents.newer_than(*r)) {
      const std::uint32_t word = r->word.load(std::memory_order_relaxed);
      used += taken(*r);
      ++in_order[static_cast<std::size_t>(order_of(*r))];
      if (order_of(*r) == Order::saved) saved += Arena::padded(r->handle->bytes());
      const bool lost = r->claims == 0 && order_of(*r) == Order::none;
      const bool odd = lost || (r->overwritten && ((word & kValid) != 0 || (word & kPinMask) == 0));
      if ((word & kAllocated) == 0 || odd) {
        throw std::logic_error("replica of " + r->handle->name + " on " + node.description.name +
                               ": word " + std::to_string(word));
      }
      check_masks(*r->handle);
    }
    const auto agrees = [&](Order order, std::size_t size) {
      return in_order[static_cast<std::size_t>(order)] == size;
    };
    if (node.saved_bytes != saved || !agrees(Order::recency, node.recency.size()) ||
        !agrees(Order::awaited, node.awaited.size()) ||
        !agrees(Order::unsaved, node.unsaved.size()) || !agrees(Order::saved, node.saved.size())) {
      throw std::logic_error("node " + node.description.name +
                             ": its orders of victims do not hold what its replicas say");
    }
    const Bytes said = node.arena ? node.arena->used() : node.outside;
    if (said != used) {
      throw std::logic_error("node " + node.description.name + ": " + std::to_string(used.value) +
                             " bytes in replicas, " + std::to_string(said.value) + " taken");
    }
  }
}

}  // namespace vicinal::memory
