// The graph of a recorded run: its tasks in the order of submission with what they access, as a graph that can be
// played on another machine, or by another policy. docs/exports.md says what of a run is in it.
#pragma once

#include <string>

#include "analysis/recorded_run.hpp"
#include "graph/graph.hpp"

namespace vicinal::analysis {

// `origin` names the recording in messages. Throws UsageError where the recording does not hold the graph, or where a
// graph cannot say what the run did. What it returns has passed require_sound.
graph::Graph graph_of(const analysis::RecordedRun& run, const std::string& origin);

}  // namespace vicinal::analysis
