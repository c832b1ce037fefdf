// Who works on which private copy of what tasks reduce into.
//
// A task that is pulled for a memory node is lent its copies, all or none, each to it alone until it ends. One that finds
// none stays in the look-ahead, holds nothing and asks for nothing, and is looked at again when a copy was given back.
//
// Why it cannot hang: who is lent copies needs nothing else that a task without them may have, so it ends; one copy of
// each handle has its room from the declaration on, and goes to whatever node a task is on that finds no other.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "graph/task.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::engine {

class PrivateCopies {
 public:
  explicit PrivateCopies(const MachineDescription& machine);

  // As many copies as tasks can run at once.
  std::uint32_t most() const;
  // True: the task has its copies, though its accesses do not name them yet.
  bool lend(graph::Task& task, NodeId node);
  static bool has_any(const graph::Task& task) {
    return task.extension->reduced.front().copy != nullptr;
  }
  // Then they do.
  static void enter(graph::Task& task);
  // The task has ended; its accesses are as before. `ran`: what it has changed counts.
  void take_back(graph::Task& task, bool ran);
  // Grows when a copy is given back.
  std::uint64_t returns() const { return returns_.load(std::memory_order_acquire); }

 private:
  graph::PrivateCopy* choose(graph::Reduction& reduction, NodeId node) const;

  std::vector<std::uint32_t> at_once_;  // by node: how many tasks run there
  std::atomic<std::uint64_t> returns_{0};
};

}  // namespace vicinal::engine
