// Which workers can run a task: those with an implementation of its codelet, on whose memory it fits, and that it
// is not bound away from.
#pragma once

#include <atomic>
#include <cstdint>

#include "graph/handle.hpp"
#include "graph/task.hpp"
#include "memory/residency.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::engine {

class Eligibility {
 public:
  Eligibility(const MachineDescription& machine, const memory::Residency& residency,
              bool simulated);

  void add(const graph::Handle& handle);  // before any task names it
  void limits_changed();                  // of a memory: less than before
  bool can_run(const graph::Task& task, WorkerId worker) const;
  bool is_implemented(const graph::Task& task, ProcessorKind kind) const;
  // Some worker of the memory node can.
  bool can_run_on(const graph::Task& task, NodeId node) const;
  // It uses parts of what a recursive task holds in limited room: it runs in RAM, and nobody who holds room waits
  // longer than for such tasks.
  bool is_confined(const graph::Task& task) const { return any_confined() && uses_ram_only(task); }
  bool any_confined() const { return any_in_ram_only_.load(std::memory_order_relaxed); }
  // Throws CapacityError or UsageError if no worker can ever run the task.
  void check(const graph::Task& task) const {
    if (!fits_anywhere(task)) check_worker_by_worker(task);
  }

 private:
  // Nearly all tasks: not bound, with a CPU kernel, and small enough for every memory whatever their
  // operands are.
  bool fits_anywhere(const graph::Task& task) const {
    return !task.extension && task.codelet->cpu && has_cpu_ && fits_any_node(task);
  }
  bool fits_with_copy(const graph::Task& combination, NodeId node) const;
  bool fits_any_node(const graph::Task& task) const {
    return task.access_count * largest_.load(std::memory_order_relaxed) <=
           least_limit_.load(std::memory_order_relaxed);
  }
  static bool is_bound_to(const graph::Task& task, const WorkerDescription& worker);
  static bool uses_ram_only(const graph::Task& task);
  bool begins_copies(const graph::Task& task, ProcessorKind kind) const;
  void check_worker_by_worker(const graph::Task& task) const;
  [[noreturn]] void refuse(const graph::Task& task, const WorkerDescription* nearest) const;
  const graph::Handle* too_large_for_ram(const graph::Task& task) const;

  const MachineDescription& machine_;
  const memory::Residency& residency_;
  const bool simulated_;
  bool has_cpu_ = false;
  std::atomic<std::uint64_t> least_limit_{~std::uint64_t{0}};  // of the memories, in bytes
  std::atomic<std::uint64_t> largest_{0};                      // padded bytes of a handle, at most
  std::atomic<bool> any_in_ram_only_{false};                   // of the handles
};

}  // namespace vicinal::engine
