// What copies and kernels of a simulated machine draw on: its segments, and the time of its CPU workers as far as copies
// take of it; and its RAM, where the machine says how cores and transfers share it (sim/host_memory.hpp). Links have their own
// bandwidth besides (simulated_links.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/sure_memory.hpp"
#include "graph/task.hpp"
#include "sim/host_memory.hpp"
#include "sim/world.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::drivers {

class SimulatedResources {
 public:
  SimulatedResources(const MachineDescription& machine, sim::World& world);

  sim::Resource segment(std::uint32_t number) const { return segments_.at(number); }

  // Adds what a copy takes of the CPU workers' time, per byte of it.
  void add_processors(const LinkDescription& link, Bytes bytes,
                      base::SureVector<sim::Demand>& demands) const;
  // Adds what a copy takes of the NUMA node where it reads or writes RAM.
  void add_memory(std::uint32_t link, std::uint32_t numa_node,
                  base::SureVector<sim::Demand>& demands) const;
  // The task begins: operands that lie on no NUMA node yet lie on one now.
  void touch(const graph::Task& task, WorkerId worker, BytesPerSecond demand) const;
  // A kernel on this worker runs at a speed that depends on who else draws.
  bool any_for_kernel(WorkerId worker, BytesPerSecond demand) const;
  // Adds what such a kernel takes per nanosecond of its time at full speed. Returns the part of full speed that it may have.
  double add_for_kernel(const graph::Task& task, WorkerId worker, BytesPerSecond demand,
                        base::SureVector<sim::Demand>& demands) const;

  // Null: the machine does not say how RAM is shared.
  const std::shared_ptr<sim::HostMemory>& memory() const { return memory_; }

 private:
  bool draws_on_processors(WorkerId worker) const;
  bool draws_on_memory(WorkerId worker) const;
  void add_lanes(sim::World& world);

  const MachineDescription& machine_;
  std::vector<sim::Resource> segments_;
  // In nanoseconds of the CPU workers per nanosecond; none: no copy takes of them.
  std::optional<sim::Resource> processors_;
  Time copy_overhead_;  // of all CPU workers together, per copy to the disk or from it
  std::shared_ptr<sim::HostMemory> memory_;
  std::vector<std::optional<sim::HostMemory::Lane>> lanes_;  // by link: of those from RAM or to it
};

}  // namespace vicinal::drivers
