// A recorded run as a job that can be played again: what ran, on what, and how it was asked for.
#pragma once

#include <span>
#include <string>

#include "analysis/recorded_graph.hpp"
#include "analysis/recorded_run.hpp"
#include "graph/graph.hpp"
#include "machine/machine_model.hpp"
#include "play/play.hpp"
#include "vicinal/options.hpp"

namespace vicinal::analysis {

struct RecordedJob {
  graph::Graph graph;
  // That of the run; of a real one links are as fast as its copies were. What a machine file says of kernels and of copies
  // beside them is not recorded.
  machine::MachineModel machine;
  // Its policy, with its settings, and the options that decide what a run does.
  Options options;
  play::StartingPlace place = play::StartingPlace::homes;
};

// Of the run proper (phases.hpp). The rest is as of graph_of.
RecordedJob job_of(const RecordedRun& run, const std::string& origin,
                   std::span<const KernelTime> times = {},
                   TaskTimes task_times = TaskTimes::of_codelet);

}  // namespace vicinal::analysis
