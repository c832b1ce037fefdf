// What data and tasks take of the limits of a machine's memories: fixed, and asked for by anybody.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/task.hpp"
#include "memory/arena.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::memory {

class Sizes {
 public:
  // What replicas may take of the node; none: as much as there is.
  std::optional<Bytes> limit(NodeId node) const {
    std::optional<Bytes> limit = limits_[node.value];
    if (limit && node == kRam) limit->value -= aside_.load(std::memory_order_relaxed);
    return limit;
  }
  // All operands are at home on the node, for ever: nothing to fetch, nothing to pin.
  bool trivial() const { return limits_.size() == 1 && !limits_[0]; }
  // Whether Residency::give_room is to be called before tasks may write the handle.
  bool lacks_room(const graph::Handle& handle) const {
    return trivial() && handle.home.kind == graph::HomeKind::none && handle.bytes().value > 0;
  }
  // Bytes the handle takes of the node's limit. By its home, not by its replica: a task is checked before it holds
  // a handle, whose replicas may be going.
  Bytes footprint(const graph::Handle& handle, NodeId node) const {
    const graph::HomeKind home = handle.home.kind;
    const bool fixed = (home == graph::HomeKind::buffer && node == kRam) ||
                       (home == graph::HomeKind::file && disk_ == node) ||
                       (home == graph::HomeKind::device && node.value == handle.home.node);
    return fixed ? Bytes{0} : Arena::padded(handle.bytes());
  }
  // The private copy of a reduction has no home.
  Bytes footprint(const graph::Access& access, NodeId node) const {
    const bool is_private = access.mode == AccessMode::reduction;
    return is_private ? Arena::padded(access.handle->bytes()) : footprint(*access.handle, node);
  }
  Bytes working_set(const graph::Task& task, NodeId node) const {
    Bytes sum;
    for (const graph::Access& access : task.accesses()) sum += footprint(access, node);
    return sum;
  }
  bool fits(const graph::Task& task, NodeId node) const {
    const std::optional<Bytes> limit = this->limit(node);
    if (!limit) return true;
    Bytes most;  // without a look at the homes, where data take nothing
    for (const graph::Access& access : task.accesses()) {
      most += Arena::padded(access.handle->bytes());
    }
    return most <= *limit || working_set(task, node) <= *limit;
  }

 protected:
  explicit Sizes(const MachineDescription& machine) : disk_(machine.disk()) {
    for (const NodeDescription& node : machine.nodes) {
      limits_.push_back(node.limit);
      if (node.limit) limits_.back()->value &= ~(Arena::kGranularity.value - 1);
    }
  }
  ~Sizes() = default;
  // At most RAM's limit.
  void note_set_aside(Bytes bytes) { aside_.store(bytes.value, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> aside_{0};       // of RAM's limit, in bytes
  std::vector<std::optional<Bytes>> limits_;  // by node, in whole pages
  std::optional<NodeId> disk_;
};

}  // namespace vicinal::memory
