// Behind vicinal::SimulatedWorld: a world, and the segments that machines in it may name.
#pragma once

#include <vector>

#include "sim/world.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/simulated_world.hpp"

namespace vicinal::internals {

struct SharedWorld {
  sim::World world;
  std::vector<SegmentDescription> segments;
  bool is_shared = false;  // several runtimes may be in it
};

}  // namespace vicinal::internals

namespace vicinal::runtime {
using internals::SharedWorld;
}  // namespace vicinal::runtime
