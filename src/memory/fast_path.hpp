// What is asked and done about replicas without any lock: to pin what is there, and to look.
//
// Pins are taken by a compare-and-swap on the replica's word (replica.hpp). To those without access to the handle
// the answers are hints.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/warm.hpp"
#include "graph/task.hpp"
#include "memory/memory_node.hpp"
#include "memory/replica.hpp"

namespace vicinal::memory {

class FastPath {
 public:
  // Pins the operands on the node, in their order, up to the first that is not there. How many?
  std::size_t pin_first(graph::Task& task, NodeId node) {
    const std::uint64_t epoch = epoch_.load(std::memory_order_relaxed);
    std::size_t pinned = 0;
    for (const graph::Access& access : task.accesses()) {
      if (!memory::try_pin(replica(*access.handle, node), access.mode, epoch)) break;
      ++pinned;
    }
    return pinned;
  }
  // False: somebody waits for the pins, or what they held has to go; Residency::settle is to be called.
  bool unpin_at_once(const graph::Task& task, NodeId node) {
    bool done = true;
    for (const graph::Access& access : task.accesses()) {
      // Release: what the task did here comes before whoever frees or overwrites the replica.
      const std::uint32_t old =
          replica(*access.handle, node).word.fetch_sub(1, std::memory_order_seq_cst);
      done &= (old & kPinMask) != 1 || (old & (kEvicting | kValid)) == kValid;
    }
    return done && !nodes_[node.value].waiting.load(std::memory_order_seq_cst);
  }
  // What the task writes on the node is valid nowhere else: Residency::written would change nothing.
  bool only_valid_here(const graph::Task& task, NodeId node) const {
    for (const graph::Access& access : task.accesses()) {
      if (!writes(access.mode) || access.handle->bytes().value == 0) continue;
      // That of scratch is 0: Residency::written notes that nothing was written.
      if (valid_mask(*access.handle) != bit(node)) return false;
    }
    return true;
  }

  // A task will soon be looked at there, see base/warm.hpp.
  void warm(const graph::Task& task, NodeId node) const {
    for (const graph::Access& access : task.accesses()) {
      base::warm(&replica(*access.handle, node));  // the line that tasks look at
    }
  }

  // --- questions
  bool valid_on(const graph::Handle& handle, NodeId node) const {
    return (valid_mask(handle) & bit(node)) != 0;
  }
  // A bit per node.
  std::uint64_t valid_mask(const graph::Handle& handle) const { return handle.on.valid.get(); }
  // To look at its state, as long as some task in the graph uses the handle.
  const Replica& look_at(const graph::Handle& handle, NodeId node) const {
    return replica(handle, node);
  }
  // Valid there with nothing about to evict it, or on its way: a prefetch would have nothing to do.
  bool comes_or_stays(const graph::Handle& handle, NodeId node) const {
    const std::uint32_t word = replica(handle, node).word.load(std::memory_order_relaxed);
    return (word & kEvicting) == 0 && (word & (kValid | kComing)) != 0;
  }
  // Valid there or on its way.
  bool on_node(const graph::Handle& handle, NodeId node) const {
    const std::uint32_t word = replica(handle, node).word.load(std::memory_order_acquire);
    if ((word & kEvicting) != 0) return false;
    return (word & kValid) != 0 || ((word & kAllocated) != 0 && (word & kPinMask) != 0);
  }
  // For all nodes, a bit each. Looks only at the few replicas that have room and are not valid: each is a line from
  // memory.
  std::uint64_t on_nodes(const graph::Handle& handle) const {
    const std::uint64_t stay = ~handle.on.leaving.get();
    std::uint64_t on = handle.on.valid.get() & stay;
    std::uint64_t others = handle.on.placed.get() & stay & ~on;
    for (; others != 0; others &= others - 1) {
      const NodeId node{static_cast<std::uint32_t>(std::countr_zero(others))};
      if (on_node(handle, node)) on |= bit(node);
    }
    return on;
  }

  // Grows when content that a claimed operand had on the node, or on its way there, is lost: while it
  // stays the same, what comes_or_stays said of claimed operands still holds.
  std::uint64_t losses(NodeId node) const {
    return nodes_[node.value].losses.load(std::memory_order_acquire);
  }
  // Grows when something is more on the node than before: content is valid, a victim stays after all, a
  // task's request has ended. While it stays the same, who lacked content there still does.
  std::uint64_t gains(NodeId node) const {
    return nodes_[node.value].gains.load(std::memory_order_acquire);
  }
  // Copies to the node or evictions from it have begun since this was asked last.
  bool take_traffic(NodeId node) {
    auto& traffic = nodes_[node.value].traffic;
    return traffic.load(std::memory_order_relaxed) &&
           traffic.exchange(false, std::memory_order_relaxed);
  }

 protected:
  explicit FastPath(std::size_t nodes) : nodes_(nodes) {}
  ~FastPath() = default;

  Replica& replica(const graph::Handle& handle, NodeId node) const {
    return replica_of(handle, node);
  }

  std::vector<MemoryNode> nodes_;
  std::atomic<std::uint64_t> epoch_{1};  // recency: raised by each request and eviction
};

}  // namespace vicinal::memory
