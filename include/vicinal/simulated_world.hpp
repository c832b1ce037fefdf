// A simulated world that several runtimes share: a clock, and segments for the copies of all runtimes.
//
//   SimulatedWorld world;
//   const SegmentDescription network = world.add_segment("network", BytesPerSecond{12.5e9});
//   machine.segments.push_back(network);  // a link names it by its number there (LinkDescription::segments)
//   Runtime first(machine, {}, world);
//   Runtime second(machine, {}, world);
//   first.submit(...);
//   second.submit(...);
//   first.wait();   // lets time pass, for the tasks and copies of both
//   second.wait();  // for what is left
//
// Compiled as docs/examples/shared_world.cpp.
//
// What a runtime submits takes the time of a submission of its machine each (submit_overhead), on a clock of its own: 1,000
// tasks of 1 us on each of 100 runtimes are submitted after 1 ms. No call of submit lets time pass, and a full submission
// window holds up the tasks of its own runtime alone: they are known to the world one after the other while somebody
// waits. A wait for a runtime begins when all that it has submitted is known. What is submitted inside a task is
// known at once, after what the application has submitted before and names the same data.
//
// One thread at a time uses a world and its runtimes. When a runtime ends, what it still copies is cut off. The same
// program gives the same times.
#pragma once

#include <memory>
#include <string>

#include "vicinal/machine.hpp"
#include "vicinal/units.hpp"

namespace vicinal {

namespace internals {
struct SharedWorld;
}

// A world; copies of this object are the same world.
class SimulatedWorld {
 public:
  // A new world, at time 0.
  SimulatedWorld();

  // A segment of this name in this world, to be put among those of machines. All copies that pass it, of any runtime,
  // share its bandwidth max-min fairly. Throws UsageError unless the bandwidth is finite and at least 1000 bytes per
  // second.
  SegmentDescription add_segment(std::string name, BytesPerSecond bandwidth);
  // The world's clock.
  Time now() const;

 private:
  friend class Runtime;
  friend class SimulatedCluster;
  std::shared_ptr<internals::SharedWorld> shared_;  // its runtimes hold it, too
};

}  // namespace vicinal
