// Residency: statistics, reports, and what must hold.
#include <stdexcept>
#include <string>

#include "memory/residency.hpp"

namespace vicinal::memory {

bool Residency::any_short() {
  bool any = false;
  for (MemoryNode& node : nodes_) {
    if (node.description.kind == NodeKind::disk || !node.room.is_limited()) continue;
    if (!node.squeezed.load(std::memory_order_relaxed)) continue;
    const Bytes room = node.room.unused() + node.room.leaving() + node.victims.saved_bytes();
    if (room.value < node.room.capacity().value / 4) {
      any = true;
    } else {
      node.squeezed.store(false, std::memory_order_relaxed);
    }
  }
  return any;
}

void Residency::statistics(Statistics& into) const {
  into.nodes.clear();
  for (const MemoryNode& node : nodes_) {
    const std::lock_guard lock(node.lock);
    NodeStatistics& statistics = into.nodes.emplace_back();
    statistics.peak = node.room.peak();
    statistics.resident = node.room.used();
    statistics.evictions = node.evictions;
    statistics.write_backs = node.write_backs;
  }
  links_.statistics(into);
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

std::string describe_request(const Request& request) {
  std::string text = "  waits for room: " + std::string(to_string(request.kind)) + " for";
  for (const graph::Access& access : request.operands) {
    text += " " + access.handle->name + "(" + std::to_string(access.handle->bytes().value) + ")";
  }
  return text + "\n";
}

// Nothing, if nobody uses it.
std::string describe_held(const Replica& r) {
  const std::uint32_t word = r.word.load(std::memory_order_relaxed);
  if ((word & kPinMask) == 0 && r.incoming == nullptr && (word & kEvicting) == 0) return {};
  std::string text = "  held: " + r.handle->name + ", " + std::to_string(word & kPinMask) + " pins";
  if (r.incoming != nullptr) {
    text += r.incoming->started ? ", being copied in" : ", copy in queued";
    if (r.incoming->relay != nullptr) text += " through RAM";
  }
  if ((word & kEvicting) != 0) text += ", being evicted";
  return text + "\n";
}

// They say the same as the word of the replica.
bool masks_agree(const Replica& r) {
  const graph::NodeMasks& on = r.handle->on;
  const std::uint32_t word = r.word.load(std::memory_order_relaxed);
  const bool counts = !r.fixed || (word & (kValid | kPinMask)) != 0;
  return on.valid.has(r.node) == ((word & kValid) != 0) &&
         on.placed.has(r.node) == ((word & kAllocated) != 0 && counts) &&
         on.leaving.has(r.node) == ((word & kEvicting) != 0);
}

}  // namespace

std::string Residency::describe() const {
  std::string text;
  for (const MemoryNode& node : nodes_) {
    const std::lock_guard lock(node.lock);
    text +=
        "node " + node.description.name + ": " + std::to_string(node.room.used().value) + " bytes";
    if (const auto limit = node.room.limit()) text += " of " + std::to_string(limit->value);
    const Bytes leaving = node.room.leaving();
    if (leaving.value > 0) text += ", " + std::to_string(leaving.value) + " leaving";
    text += "\n";
    for (const Request* r = node.requests.first(); r != nullptr; r = r->next) {
      text += describe_request(*r);
    }
    for (const Replica* r = node.victims.oldest(); r != nullptr; r = node.victims.newer_than(*r)) {
      text += describe_held(*r);
    }
  }
  return text + links_.describe(machine_);
}

void Residency::check() {
  for (MemoryNode& node : nodes_) {
    const std::lock_guard lock(node.lock);
    node.note_last_copies();
    const std::string& name = node.description.name;
    Bytes used;
    for (const Replica* r = node.victims.oldest(); r != nullptr; r = node.victims.newer_than(*r)) {
      const std::uint32_t word = r->word.load(std::memory_order_relaxed);
      used += node.room.taken_by(*r);
      const bool odd = r->overwritten && ((word & kValid) != 0 || (word & kPinMask) == 0);
      if ((word & kAllocated) == 0 || odd || !masks_agree(*r)) {
        throw std::logic_error("replica of " + r->handle->name + " on " + name + ": word " +
                               std::to_string(word) + ", or a mask of its handle says otherwise");
      }
    }
    node.victims.check(name);
    if (node.room.used() != used) {
      throw std::logic_error("node " + name + ": " + std::to_string(used.value) +
                             " bytes in replicas, " + std::to_string(node.room.used().value) +
                             " taken");
    }
    if (node.lock.taken_for_others() > 0) {
      throw std::logic_error("node " + name + ": its lock was taken " +
                             std::to_string(node.lock.taken_for_others()) +
                             " times for another node's eviction");
    }
  }
}

}  // namespace vicinal::memory
