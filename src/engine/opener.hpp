// What the library does with public values that the application cannot.
#pragma once

#include "vicinal/placement.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::internals {

struct Opener {
  static GroupCount& count(Group& group) { return *group.count_; }
  static Placement placement(const TaskSpec& spec, const MachineDescription& machine) {
    return {spec, machine};
  }
};

}  // namespace vicinal::internals
