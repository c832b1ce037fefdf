// Deferred tasks, as a graph.
#pragma once

#include <span>
#include <vector>

#include "base/sure_memory.hpp"
#include "engine/known_graph.hpp"
#include "graph/task.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::engine {

// `none`: all deferred tasks are passed on with the task, which gets no priority. An invalidation, which nobody waits for,
// may stay behind those before it.
enum class Deferral : bool { none, allowed };

struct DeferredTask {
  graph::Task* task = nullptr;
  std::vector<TaskId> after;
  WorkerId submitter = kNoWorker;
  Deferral deferral = Deferral::none;
};
// What is taken from the list must reach the graph of dependencies.
using DeferredTaskList = base::SureVector<DeferredTask>;

struct DeferredGraph : KnownGraph {
  // Of dependencies without data those on tasks in the list, if asked for.
  enum class Predecessors : bool { left_out, named };
  DeferredGraph(std::span<const DeferredTask> list, Predecessors predecessors);

  // By task: as a priority, larger is more urgent. In microseconds from the start of the task to the end of the
  // longest path behind it.
  std::vector<int> urgencies() const;

 private:
  std::vector<Time> durations_;  // by task
};

}  // namespace vicinal::engine
