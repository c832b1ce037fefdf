// Plays a graph on a simulated machine: registers its data, submits its tasks, waits, brings the
// results home.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "graph/kernel_times.hpp"
#include "machine/machine_model.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/options.hpp"
#include "vicinal/statistics.hpp"

namespace vicinal {
class Runtime;
}

namespace vicinal::play {

struct Played {
  Statistics before;
  Statistics after;         // when the last task has ended, and all that tasks reduced is combined
  Statistics last;          // when the results are at home: the bytes of the run
  double wall_seconds = 0;  // that the simulation took
};

enum class StartingPlace {
  homes,  // data lie at their homes; the results are brought there at the end
  filled,  // data have no home: tasks fill them before, as in `vicinal run`, and they stay where they are
};

// homes; filled where RAM is limited, there is a disk, and all data are at home in RAM: there they would lie outside the limit.
StartingPlace starting_place(const graph::Graph& graph, const MachineDescription& machine);
// Codelet of the tasks that fill data.
inline constexpr std::string_view kFill = "fill";

// Called while the runtime is there, for what is to be told of the run. Empty: nothing is called.
struct Hooks {
  std::function<void(Runtime&)> begun;                 // before any data are registered
  std::function<void(Runtime&, const Played&)> ended;  // the results are at home
};

// `scale`: of all kernel times, to see how much a result depends on them.
Played play(const graph::Graph& graph, const machine::MachineModel& machine, const Options& options,
            double scale = 1, StartingPlace place = StartingPlace::homes, const Hooks& hooks = {});

// The end of a task, by its number in the graph.
struct Ended {
  std::size_t task = 0;
  WorkerId worker;
};
// The same run, told task by task. Throws std::invalid_argument for a graph with reductions, whose combinations count
// among the tasks of a worker.
std::vector<Ended> ends_in_order(const graph::Graph& graph, const machine::MachineModel& machine,
                                 const Options& options);

}  // namespace vicinal::play
