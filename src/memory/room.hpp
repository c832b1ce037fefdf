// The room of one memory node: an arena under its limit, or what the system gives.
//
// Changed under the node's lock. What is in use, and what is about to be free, may be asked for by anybody.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "memory/arena.hpp"
#include "memory/replica.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::memory {

// Gives memory; the engine implements it over the drivers.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  virtual std::byte* reserve(NodeId node, Bytes bytes) = 0;
  virtual std::byte* allocate(NodeId node, Bytes bytes) = 0;
  virtual void release(NodeId node, std::byte* address, Bytes bytes) = 0;
  // Moves content that nobody uses within a reserved range; the ranges may overlap.
  virtual void relocate(NodeId node, std::byte* to, const std::byte* from, Bytes bytes) = 0;
};

class Room {
 public:
  // Once, before anything else. A limit that is no multiple of a page is rounded down.
  void set_up(const NodeDescription& node, MemorySource& source);
  // Takes the range of a limited memory from the source.
  void reserve();

  // False: there is no room, or without a limit the source refused: see take_refusal.
  bool allocate(Replica& replica);
  void free(Replica& replica);
  // Moves the replicas, which are all that have room, to the front of the arena in their order, so that one hole
  // remains. Nobody uses them.
  void compact(std::span<Replica* const> replicas);
  // Why the source gave no memory, the last time.
  std::exception_ptr take_refusal() { return std::exchange(refused_, nullptr); }

  // What is limited is in pages; outside an arena padding is the source's affair.
  Bytes taken_by(const Replica& replica) const {
    const Bytes bytes = replica.handle->bytes();
    return arena_ ? Arena::padded(bytes) : bytes;
  }
  // Content is on its way to safety, and the room is free then; or stays after all.
  void begins_to_leave(const Replica& replica) { add(leaving_, padded(replica)); }
  void stays_or_is_gone(const Replica& replica) { add(leaving_, -padded(replica)); }
  void keep_free(Bytes reserve) { kept_free_.store(reserve, std::memory_order_relaxed); }

  bool is_limited() const { return arena_ != nullptr; }
  std::optional<Bytes> limit() const { return limit_; }
  Bytes capacity() const { return arena_->capacity() - aside_.load(std::memory_order_relaxed); }
  // So much of the limit is for what is no replica. Replicas take less than the rest now.
  void set_aside(Bytes bytes) { aside_.store(bytes, std::memory_order_relaxed); }
  // --- any thread
  Bytes used() const { return used_.load(std::memory_order_relaxed); }
  Bytes leaving() const {
    return {static_cast<std::uint64_t>(leaving_.load(std::memory_order_relaxed))};
  }
  Bytes unused() const { return {capacity().value - std::min(used().value, capacity().value)}; }
  // Besides what keep_free keeps for others.
  bool has_free(Bytes needed) const {
    return !arena_ || used() + kept_free_.load(std::memory_order_relaxed) + needed <= capacity();
  }
  // --- under the lock
  Bytes peak() const { return arena_ ? arena_->peak() : peak_outside_; }

 private:
  static std::int64_t padded(const Replica& replica) {
    return static_cast<std::int64_t>(Arena::padded(replica.handle->bytes()).value);
  }
  // One thread at a time.
  static void add(std::atomic<std::int64_t>& sum, std::int64_t change) {
    sum.store(sum.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  }
  std::byte* address_of(std::uint64_t offset) const {
    return base_ != nullptr ? base_ + offset : nullptr;
  }

  NodeId node_;
  MemorySource* source_ = nullptr;
  std::optional<Bytes> limit_;
  bool on_disk_ = false;
  std::byte* base_ = nullptr;
  std::unique_ptr<Arena> arena_;  // under a limit, and on disk
  std::atomic<Bytes> used_{};
  std::atomic<std::int64_t> leaving_{0};  // bytes of victims
  std::atomic<Bytes> kept_free_{};
  std::atomic<Bytes> aside_{};
  Bytes peak_outside_;
  std::exception_ptr refused_;
};

}  // namespace vicinal::memory
