// Tasks that are held back, as a graph: what priorities are computed on, and what the policy plans on.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/sure_memory.hpp"
#include "graph/graph.hpp"
#include "graph/task.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::engine {

enum class Held : bool {
  no,
  back
};  // no: all that is held is passed on with the task, which gets no priority

struct HeldTask {
  graph::Task* task = nullptr;
  std::vector<TaskId> after;
  WorkerId submitter = kNoWorker;
  Held held = Held::no;
};
// What is taken from the list must reach the graph of dependencies.
using HeldTasks = base::SureVector<HeldTask>;

struct HeldGraph {
  // Of dependencies without data those on tasks in the list, if asked for.
  enum class Predecessors : bool { left_out, named };
  HeldGraph(std::span<const HeldTask> list, Predecessors predecessors);

  // By task: as a priority, larger is more urgent. In microseconds from the start of the task to the end of the
  // longest path behind it.
  std::vector<int> urgencies() const;

  graph::Graph graph;
  std::vector<graph::Task*> tasks;   // by number; null: without a kernel
  std::vector<graph::Handle*> data;  // by number

 private:
  graph::Graph::Number number_of(graph::Handle& handle);
  graph::Graph::Number kernel_of(const graph::Task& task);

  std::unordered_map<const graph::Handle*, graph::Graph::Number> data_numbers_;
  // A codelet whose tasks have operations or times of their own is several kernels.
  std::map<std::tuple<graph::TaskKind, const Codelet*, double, ExpectedTimes>, graph::Graph::Number>
      kernel_numbers_;
  std::vector<Time> durations_;  // by task
};

}  // namespace vicinal::engine
