// Which driver a memory node or a worker has; memory takes its room from them through this.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "engine/driver.hpp"
#include "engine/kept_ram.hpp"
#include "memory/residency.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::engine {

class DriverTable final : public memory::MemorySource {
 public:
  DriverTable() = default;
  ~DriverTable() override { give_back_kept(); }
  DriverTable(const DriverTable&) = delete;
  DriverTable& operator=(const DriverTable&) = delete;

  // Once, before any other call. The drivers outlive it.
  void attach(std::vector<Driver*> by_node, std::vector<Driver*> by_worker) {
    by_node_ = std::move(by_node);
    by_worker_ = std::move(by_worker);
  }
  Driver& of(NodeId node) const { return *by_node_[node.value]; }
  Driver& of(WorkerId worker) const { return *by_worker_[worker.value]; }

  bool any_runs() const {
    return std::ranges::any_of(by_worker_, [](const Driver* driver) { return driver->runs_any(); });
  }

  std::byte* reserve(NodeId node, Bytes bytes) override {
    std::byte* const address = of(node).reserve(node, bytes);
    if (node == kRam && address != nullptr) {
      for (Driver* const driver : by_node_) driver->pin(address, bytes);
    }
    return address;
  }
  std::byte* allocate(NodeId node, Bytes bytes) override {
    if (!is_offered(node, bytes)) return of(node).allocate(node, bytes);
    if (std::byte* const kept = kept_.take(bytes)) return kept;
    std::byte* const address = allocate_anew(bytes);
    for (Driver* const driver : by_node_) {
      if (driver->offer(address, bytes)) pinned_.store(true, std::memory_order_relaxed);
    }
    return address;
  }
  void release(NodeId node, std::byte* address, Bytes bytes) override {
    if (is_offered(node, bytes)) {
      if (!pinned_.load(std::memory_order_relaxed)) {
        kept_.failed(bytes);
      } else if (kept_.keep(address, bytes)) {
        return;
      }
      for (Driver* const driver : by_node_) driver->unpin(address);
    }
    of(node).release(node, address, bytes);
  }
  void relocate(NodeId node, std::byte* to, const std::byte* from, Bytes bytes) override {
    of(node).relocate(node, to, from, bytes);
  }

 private:
  // Smaller memory is copied in less time than pinning takes.
  static constexpr Bytes kOffered{1U << 20};
  static bool is_offered(NodeId node, Bytes bytes) { return node == kRam && bytes >= kOffered; }

  std::byte* allocate_anew(Bytes bytes) {
    Driver& ram = of(kRam);
    try {
      return ram.allocate(kRam, bytes);
    } catch (...) {
      if (!give_back_kept()) {
        kept_.failed(bytes);
        throw;
      }
    }
    try {
      return ram.allocate(kRam, bytes);
    } catch (...) {
      kept_.failed(bytes);
      throw;
    }
  }
  // False: there was nothing.
  bool give_back_kept() noexcept {
    bool any = false;
    for (KeptRam::Block block = kept_.take_any(); block.address != nullptr;
         block = kept_.take_any()) {
      any = true;
      for (Driver* const driver : by_node_) driver->unpin(block.address);
      of(kRam).release(kRam, block.address, block.bytes);
    }
    return any;
  }

  std::vector<Driver*> by_node_;
  std::vector<Driver*> by_worker_;
  KeptRam kept_;
  std::atomic<bool> pinned_{false};  // a device may pin what it is offered
};

}  // namespace vicinal::engine
