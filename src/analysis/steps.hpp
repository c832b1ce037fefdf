// The way of a task in a recording: when each step was reached. Steps that the recording does not tell are put where
// they cost no time.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/recorded_run.hpp"

namespace vicinal::analysis {

// submitted <= ready <= scheduled <= wanted <= granted <= operands <= started. Between two of them a task waits:
//   submitted..ready      for the tasks that it depends on
//   ready..scheduled      with the policy
//   scheduled..wanted     for its turn, behind other tasks of its worker
//   wanted..granted       for room for its operands
//   granted..operands     for copies of its operands
//   operands..started     for its worker
struct Steps {
  std::int64_t submitted = 0;
  std::int64_t ready = 0;
  std::int64_t scheduled = 0;
  std::int64_t wanted = 0;
  std::int64_t granted = 0;
  std::int64_t operands = 0;
  std::int64_t started = 0;
};

// Of a task that has started. A task that never asked for room or copies found its operands there: then wanted, granted
// and operands are when it was scheduled, and what follows is the wait for its worker.
Steps steps_of(const TaskOfRun& task);

// A task that a worker ran.
inline bool ran_on_worker(const TaskOfRun& task) {
  return task.ran() && task.worker != kNobody;
}

// The memory node of the worker that ran the task; kNobody: it is not known.
std::uint32_t node_of(const RecordedRun& run, const TaskOfRun& task);

// A ProcessorKind; 0: it is not known.
std::size_t kind_of_worker(const RecordedRun& run, std::uint32_t worker);

// How many workers there are: those of the machine, or as many as tasks tell.
std::uint32_t worker_count(const RecordedRun& run);

// The tasks that each worker ran.
struct RunsOfWorker {
  std::vector<std::uint32_t> by_start;
  std::vector<std::uint32_t> by_end;
};
std::vector<RunsOfWorker> runs_of_workers(const RecordedRun& run);

// The tasks that the workers of each memory node ran; those of workers whose node is not known stand behind these, by
// worker.
std::vector<RunsOfWorker> runs_of_nodes(const RecordedRun& run);

// When each task began to run, by task; kUnknown: it did not. An accelerator has several tasks in its queue: the next one
// begins when the one before it has ended.
std::vector<std::int64_t> begins_of_runs(const RecordedRun& run,
                                         const std::vector<RunsOfWorker>& workers);

struct MeanTime {
  std::int64_t sum = 0;
  std::int64_t count = 0;
  std::int64_t value() const { return count > 0 ? sum / count : 0; }
};
// Of the tasks of a codelet (TaskOfRun::name) on workers of a kind. `begins`: see begins_of_runs.
using MeanTimes = std::map<std::pair<std::uint32_t, std::size_t>, MeanTime>;
MeanTimes mean_times(const RecordedRun& run, const std::vector<std::int64_t>& begins);
// What the task took, or the mean of a kind of workers that takes less.
std::int64_t least_time(const RecordedRun& run, const MeanTimes& means, const TaskOfRun& task,
                        std::int64_t took);

// When the last task ended; 0: none did.
std::int64_t last_end(const RecordedRun& run);

}  // namespace vicinal::analysis
