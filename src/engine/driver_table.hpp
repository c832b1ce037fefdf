// Which driver a memory node or a worker has; memory takes its room from them through this.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/driver.hpp"
#include "memory/residency.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::engine {

class DriverTable final : public memory::MemorySource {
 public:
  // Once, before any other call.
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
  std::byte* allocate(NodeId node, Bytes bytes) override { return of(node).allocate(node, bytes); }
  void release(NodeId node, std::byte* address, Bytes bytes) override {
    of(node).release(node, address, bytes);
  }
  void relocate(NodeId node, std::byte* to, const std::byte* from, Bytes bytes) override {
    of(node).relocate(node, to, from, bytes);
  }

 private:
  std::vector<Driver*> by_node_;
  std::vector<Driver*> by_worker_;
};

}  // namespace vicinal::engine
