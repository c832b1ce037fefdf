// The names of an application's variables are its own: no public header opens a namespace that has one of them.
#include <span>

#include "vicinal/block_cyclic.hpp"
#include "vicinal/cuda.hpp"
#include "vicinal/opencl.hpp"
#include "vicinal/placement.hpp"
#include "vicinal/recursion.hpp"
#include "vicinal/runtime.hpp"
#include "vicinal/simulated_world.hpp"
#include "vicinal/tiled_matrix.hpp"
#include "vicinal/trace.hpp"

using namespace vicinal;  // NOLINT(google-build-using-namespace): that is the point

namespace {
int count() {
  return 1;
}
}  // namespace

// Of the rooms, and what else lies near.
int analysis = count();
int base = count();
int bounds = count();
int calibration = count();
int comm = count();
int detail = count();
int drivers = count();
int engine = count();
int exporters = count();
int graph = count();
int graphfiles = count();
int internal = count();
int machine = count();
int memory = count();
int play = count();
int reports = count();
int reproduction = count();
int runtime = count();
int sched = count();
int sim = count();
int trace = count();
int typed = count();

int uses_of_names() {
  return analysis + base + bounds + calibration + comm + detail + drivers + engine + exporters +
         graph + graphfiles + internal + machine + memory + play + reports + reproduction +
         runtime + sched + sim + trace + typed;
}
