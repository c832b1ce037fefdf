// A handle's copy on one memory node.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "graph/handle.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::memory {

struct Fetch;
struct Request;

// State and pins of a replica in one word, so that a task pins what is there without any lock.
//   pins        tasks, acquisitions and copies that use the replica; it stays while > 0
//   kAllocated  it has room on the node
//   kValid      its content is the handle's present content
//   kEvicting   chosen as a victim: no new pin of a task without the node's lock
//   kComing     a copy brings its content: there is `incoming`; with kValid: the content is being moved
// Holds: kValid implies kAllocated; pins > 0 implies kAllocated.
// kAllocated, kEvicting and kComing change only under the node's lock, kValid under Handle::coherence (see
// coherence.hpp); pins change by compare-and-swap without either.
// Tasks and copies that use a replica at once are few; of acquisitions there are no more than a part of the pins.
inline constexpr std::uint32_t kPinMask = 0x0fffffff;
inline constexpr std::uint32_t kAllocated = 1U << 28;
inline constexpr std::uint32_t kValid = 1U << 29;
inline constexpr std::uint32_t kEvicting = 1U << 30;
inline constexpr std::uint32_t kComing = 1U << 31;
inline constexpr std::size_t kMostAcquisitions = kPinMask / 2;

// Of replicas that tasks wait with the policy to read: the least goes first.
struct Awaited {
  std::uint32_t uses = 0;
  std::uint64_t turn = 0;  // the sooner it is read the greater
  auto operator<=>(const Awaited&) const = default;
};

// By what is known of its next use: which of VictimOrders' orders a replica is in. Each is put right when it is
// looked at.
enum class VictimClass : std::uint8_t {
  none,     // claimed by the look-ahead, at home, or without room
  recency,  // nothing is known of who uses it next
  awaited,  // tasks that wait with the policy read it
  unsaved,  // no task that was submitted uses it, and the content is nowhere else
  saved,    // none uses it, and the content is on another node, too
};

// The members that every using task looks at lie on a single cache line.
struct alignas(128) Replica {
  std::atomic<std::uint32_t> word{0};
  NodeId node;
  std::atomic<std::uint64_t> last_use{0};  // Residency's epoch when it was last pinned
  std::byte* address = nullptr;            // on a memory node
  bool fixed = false;                      // the home: never freed, outside the limit
  bool own_layout = false;                 // of the home, as the handle says; else packed
  // Under the node's lock.
  bool listed = false;        // it is in the node's list
  bool overwritten = false;   // void, and granted to a task that writes all of it
  bool placed_ahead = false;  // see Rules::owner
  // Since a task last used the data: the copy may go for others, and is not made again.
  bool saved_behind = false;
  // A hint for who asks without the lock.
  std::atomic<VictimClass> victim_class{VictimClass::none};
  // Under the node's lock: what Decisions has told of the prefetch that is put off; 0: nothing.
  std::uint8_t put_off = 0;
  // Of tasks that are still with the policy: see NextUses, which alone changes these three.
  std::uint64_t next_use = 0;          // number of the first use, unless that has left
  std::atomic<std::uint32_t> uses{0};  // how many there are
  std::uint32_t queue = 0;             // of the uses behind the first; 0: there is none
  // --- changed under the node's lock
  std::atomic<std::uint32_t> claims{0};  // tasks in the node's look-ahead that use it
  std::uint32_t recency_slot = 0;        // of its entry in Recency; 0: none
  // The last request that came to the head of the node's queue and has it as an operand.
  std::uint64_t asked_by = 0;
  graph::Handle* handle = nullptr;

  std::uint64_t offset = 0;         // in the node's arena or file
  std::uint32_t block = 0;          // of the arena
  std::uint32_t resident_slot = 0;  // of its entry in ResidentList; 0: none
  Fetch* incoming = nullptr;        // the copy that brings the content here
  Request* eviction = nullptr;      // takes the content to safety; may outlive a rescue
  Awaited awaited_as;               // its place among those that are awaited
};
static_assert(sizeof(Replica) == 128);

inline Replica& replica_of(const graph::Handle& handle, NodeId node) {
  return handle.replicas.load(std::memory_order_relaxed)[node.value];
}

inline VictimClass class_of(const Replica& replica) {
  return replica.victim_class.load(std::memory_order_relaxed);
}
inline void set_class(Replica& replica, VictimClass of) {
  replica.victim_class.store(of, std::memory_order_relaxed);
}
inline bool is_claimed(const Replica& replica) {
  return replica.claims.load(std::memory_order_relaxed) > 0;
}

// No task that was submitted used it when that was noted.
inline bool is_known_unused(const Replica& replica) {
  const VictimClass of = class_of(replica);
  return of == VictimClass::unsaved || of == VictimClass::saved;
}

// The content is on another node, too: a hint, see coherence.hpp.
inline bool safe_elsewhere(const Replica& replica) {
  return (replica.handle->on.valid.get() & ~(std::uint64_t{1} << replica.node.value)) != 0;
}

// Valid, and nothing is about to evict it.
inline bool stays(const Replica& replica) {
  return (replica.word.load(std::memory_order_relaxed) & (kValid | kEvicting)) == kValid;
}

inline constexpr std::uint64_t bit(NodeId node) {
  return std::uint64_t{1} << node.value;
}

// Where the content lies on the node. The replica is pinned there.
inline OperandView view(const graph::Handle& handle, NodeId node) {
  const Replica& r = replica_of(handle, node);
  return {r.address, r.own_layout ? handle.layout : handle.layout.packed()};
}

// True if it took a pin: the content is valid, nobody evicts it and, to write, nobody else uses it.
// No task may take a replica that is not valid without the lock, even to overwrite it: the replica was placed
// for a request that is about to pin it and to copy into it.
inline bool try_pin(Replica& replica, AccessMode mode, std::uint64_t epoch) {
  constexpr std::uint32_t needed = kAllocated | kValid;
  std::uint32_t word = replica.word.load(std::memory_order_relaxed);
  do {
    if ((word & (needed | kEvicting)) != needed) return false;
    if (writes(mode) && (word & kPinMask) != 0) return false;
    // Acquire pairs with the release that made it valid.
  } while (!replica.word.compare_exchange_weak(word, word + 1, std::memory_order_acquire,
                                               std::memory_order_relaxed));
  if (replica.last_use.load(std::memory_order_relaxed) != epoch) {
    replica.last_use.store(epoch, std::memory_order_relaxed);
  }
  return true;
}

}  // namespace vicinal::memory
