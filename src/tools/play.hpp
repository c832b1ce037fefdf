// Plays a graph on a simulated machine: registers its data, submits its tasks, waits, brings the
// results home.
#pragma once

#include <array>
#include <vector>

#include "machine/machine_model.hpp"
#include "tools/report.hpp"
#include "tools/task_graph.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/options.hpp"
#include "vicinal/statistics.hpp"

namespace vicinal::tools {

// Time of one task of each kernel on each kind of processor that the machine has, in seconds; 0: that
// kind cannot run it. From the graph, else from the machine. Throws UsageError for a kernel that
// nothing on the machine can run, with the remedy.
using KernelSeconds = std::vector<std::array<double, kProcessorKinds>>;
KernelSeconds kernel_seconds(const TaskGraph& graph, const machine::MachineModel& machine);

// Each task's time by a factor of its own, drawn evenly from 1 - share to 1 + share, 0 <= share < 1: equal
// kernels are not equally long on any real machine. The same seed gives the same factors.
TaskGraph with_varied_times(TaskGraph graph, const machine::MachineModel& machine, double share,
                            std::uint64_t seed);

struct Played {
  Statistics before;
  Statistics after;         // when the last task has ended
  Statistics last;          // when the results are at home: the bytes of the run
  double wall_seconds = 0;  // that the simulation took
};

enum class StartingPlace {
  homes,  // data lie at their homes; the results are brought there at the end
  filled,  // data have no home: tasks fill them before, as in `vicinal run`, and they stay where they are
};

// `scale`: of all kernel times, to see how much a result depends on them.
Played play(const TaskGraph& graph, const machine::MachineModel& machine, const Options& options,
            double scale = 1, StartingPlace place = StartingPlace::homes);

// What a report shows beside a run: no schedule is faster up to the last task, and none writes back
// less until all results are at home.
RunBounds play_bounds(const TaskGraph& graph, const machine::MachineModel& machine);

// One run of a report, by options.policy. Its time is that up to the end of the last task, its bytes
// include the way home of the results.
RunRecord play_record(const TaskGraph& graph, const machine::MachineModel& machine,
                      const Options& options, const RunBounds& bounds);

}  // namespace vicinal::tools
