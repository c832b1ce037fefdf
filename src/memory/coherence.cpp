#include "memory/coherence.hpp"

#include <bit>
#include <mutex>

namespace vicinal::memory {

namespace {

// Under the handle's lock.
void mark_valid(Replica& replica) {
  // Release: whoever pins it sees the content.
  replica.word.fetch_or(kValid, std::memory_order_release);
  graph::NodeMasks& on = replica.handle->on;
  if (replica.fixed) on.placed.add(replica.node);
  on.valid.assign(on.valid.get() | bit(replica.node));
}

// Under the handle's lock: `nodes` hold it no longer.
void mark_void(graph::Handle& handle, std::uint64_t nodes) {
  handle.on.valid.assign(handle.on.valid.get() & ~nodes);
  for (; nodes != 0; nodes &= nodes - 1) {
    const NodeId node{static_cast<std::uint32_t>(std::countr_zero(nodes))};
    replica_of(handle, node).word.fetch_and(~kValid, std::memory_order_relaxed);
  }
}

void raise_version(graph::Handle& handle) {
  handle.version.store(handle.version.load(std::memory_order_relaxed) + 1,
                       std::memory_order_relaxed);
}

}  // namespace

void make_valid(Replica& replica) {
  const std::lock_guard lock(replica.handle->coherence);
  mark_valid(replica);
}

bool make_valid(Replica& replica, std::uint64_t version) {
  const std::lock_guard lock(replica.handle->coherence);
  if (replica.handle->version.load(std::memory_order_relaxed) != version) return false;
  mark_valid(replica);
  return true;
}

std::uint64_t make_exclusive(Replica& here) {
  graph::Handle& handle = *here.handle;
  const std::lock_guard lock(handle.coherence);
  raise_version(handle);
  handle.writer.store(static_cast<std::uint8_t>(here.node.value), std::memory_order_relaxed);
  mark_valid(here);
  const std::uint64_t others = handle.on.valid.get() & ~bit(here.node);
  mark_void(handle, others);
  return others;
}

std::uint64_t make_void(graph::Handle& handle) {
  const std::lock_guard lock(handle.coherence);
  raise_version(handle);
  const std::uint64_t valid = handle.on.valid.get();
  mark_void(handle, valid);
  return valid;
}

bool make_void(Replica& replica) {
  const std::lock_guard lock(replica.handle->coherence);
  if (!replica.handle->on.valid.has(replica.node)) return false;
  mark_void(*replica.handle, bit(replica.node));
  return true;
}

Dropped drop(Replica& replica, LastCopy last) {
  graph::Handle& handle = *replica.handle;
  const std::lock_guard lock(handle.coherence);
  std::uint32_t word = replica.word.load(std::memory_order_acquire);
  do {
    const bool valid = (word & kValid) != 0;
    if ((word & kPinMask) != 0) return {Dropped::Result::used, valid};
    if (valid && last == LastCopy::stays && !safe_elsewhere(replica))
      return {Dropped::Result::last, valid};
    // Acquire pairs with the release of the last pin.
  } while (!replica.word.compare_exchange_weak(word, word & ~kValid, std::memory_order_acquire,
                                               std::memory_order_acquire));
  handle.on.valid.assign(handle.on.valid.get() & ~bit(replica.node));
  return {Dropped::Result::gone, (word & kValid) != 0};
}

namespace {
// The lock: a task that ends elsewhere between the pin and the look at the version would have its own version taken
// for that of this content.
std::optional<std::uint64_t> pin_to_read(Replica& replica, std::uint32_t needed) {
  const std::lock_guard lock(replica.handle->coherence);
  std::uint32_t word = replica.word.load(std::memory_order_relaxed);
  do {
    if ((word & needed) != needed || (word & kComing) != 0) return std::nullopt;
    // Acquire pairs with the release that made it valid.
  } while (!replica.word.compare_exchange_weak(word, word + 1, std::memory_order_acquire,
                                               std::memory_order_relaxed));
  if (replica.fixed) replica.handle->on.placed.add(replica.node);
  return replica.handle->version.load(std::memory_order_relaxed);
}
}  // namespace

std::optional<std::uint64_t> pin_source(Replica& replica) {
  return pin_to_read(replica, kValid);
}
std::optional<std::uint64_t> pin_victim(Replica& replica) {
  return pin_to_read(replica, kValid | kEvicting);
}

}  // namespace vicinal::memory
