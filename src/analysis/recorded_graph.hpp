// The graph of a recorded run: its tasks in the order of submission with what they access, as a graph that can be
// played on another machine, or by another policy. docs/exports.md says what of a run is in it.
#pragma once

#include <cstdint>
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

// How long a task of the graph takes.
enum class TaskTimes : std::uint8_t {
  of_codelet,  // as tasks of its codelet took in the mean
  own,  // as it took itself; on other kinds of processors by the same ratio longer or shorter than the mean
};

// `origin` names the recording in messages. Throws UsageError where the recording does not hold the graph, where a
// graph cannot say what the run did, or if there is no codelet of which a time is given. What it returns has passed
// require_sound. With times of their own each task has a kernel, named as its codelet; else the names of kernels differ.
graph::Graph graph_of(const analysis::RecordedRun& run, const std::string& origin,
                      std::span<const KernelTime> times = {},
                      TaskTimes task_times = TaskTimes::of_codelet);

}  // namespace vicinal::analysis
