// The report of a graph that was played on a simulated machine.
#pragma once

#include <optional>

#include "graph/graph.hpp"
#include "machine/machine_model.hpp"
#include "play/play.hpp"
#include "play/play_on_ranks.hpp"
#include "reports/report.hpp"
#include "vicinal/options.hpp"

namespace vicinal::reports {

// What a report shows beside a run: no schedule is faster up to the last task, and none writes back
// less until all results are at home.
RunBounds play_bounds(const graph::Graph& graph, const machine::MachineModel& machine);

// One run of a report, by options.policy. Its time is that up to the end of the last task, its bytes
// include the way home of the results. `report`: what its recording, if there is one, is to say of it. `place`: none: where
// data begin play::starting_place says.
RunRecord play_record(const graph::Graph& graph, const machine::MachineModel& machine,
                      const Options& options, const RunBounds& bounds, const Report& report = {},
                      std::optional<play::StartingPlace> place = {});

// The same on a cluster, one rank on each of its hosts; nodes and links are those of rank 0, who tells the recording of all what
// is to be said of the run.
RunBounds play_bounds(const graph::Graph& graph, const machine::ClusterModel& cluster);
RunRecord play_record(const graph::Graph& graph, const machine::ClusterModel& cluster,
                      const Options& options, const play::ClusterJob& job, const RunBounds& bounds,
                      const Report& report = {});

}  // namespace vicinal::reports
