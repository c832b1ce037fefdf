// What copies and kernels of a simulated machine draw on: its segments, and the time of its CPU workers as far as copies
// take of it. Links have their own bandwidth besides (simulated_links.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/sure_memory.hpp"
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
  // A kernel on this worker runs at a speed that depends on who else draws.
  bool any_for_kernel(WorkerId worker, BytesPerSecond demand) const;
  // What such a kernel takes per nanosecond of its time at full speed.
  void add_for_kernel(WorkerId worker, BytesPerSecond demand,
                      base::SureVector<sim::Demand>& demands) const;

 private:
  bool draws_on_processors(WorkerId worker) const;

  const MachineDescription& machine_;
  std::vector<sim::Resource> segments_;
  // In nanoseconds of the CPU workers per nanosecond; none: no copy takes of them.
  std::optional<sim::Resource> processors_;
  Time copy_overhead_;  // of all CPU workers together, per copy to the disk or from it
};

}  // namespace vicinal::drivers
