// The graph of a recorded run: its tasks in the order of submission with what they access, as a graph that can be
// played on another machine, or by another policy. docs/exports.md says what of a run is in it.
#pragma once

#include <span>
#include <string>

#include "analysis/recorded_run.hpp"
#include "graph/graph.hpp"

namespace vicinal::analysis {

// What tasks of a codelet take on a kind of processor, in place of what the recording says.
struct KernelTime {
  std::string codelet;
  ProcessorKind kind = ProcessorKind::cpu;
  double seconds = 0;
};

// `origin` names the recording in messages. Throws UsageError where the recording does not hold the graph, where a
// graph cannot say what the run did, or if there is no codelet of which a time is given. What it returns has passed
// require_sound.
graph::Graph graph_of(const analysis::RecordedRun& run, const std::string& origin,
                      std::span<const KernelTime> times = {});

}  // namespace vicinal::analysis
