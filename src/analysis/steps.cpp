#include "analysis/steps.hpp"

#include <algorithm>

namespace vicinal::analysis {

namespace {

std::int64_t or_else(std::int64_t time, std::int64_t otherwise) {
  return time != kUnknown ? time : otherwise;
}

}  // namespace

Steps steps_of(const TaskOfRun& task) {
  Steps steps;
  steps.started = task.started;
  const auto until = [](std::int64_t time, std::int64_t next) { return std::min(time, next); };
  const std::int64_t scheduled = or_else(task.scheduled, or_else(task.ready, task.started));
  const bool waited = task.wanted != kUnknown;
  const std::int64_t wanted = waited ? task.wanted : scheduled;
  // Who waited and was never told that its operands are there waited until it started.
  steps.operands = until(waited ? or_else(task.operands, task.started) : scheduled, steps.started);
  steps.granted = until(waited ? or_else(task.granted, wanted) : scheduled, steps.operands);
  steps.wanted = until(wanted, steps.granted);
  steps.scheduled = until(scheduled, steps.wanted);
  steps.ready = until(or_else(task.ready, scheduled), steps.scheduled);
  steps.submitted = until(or_else(task.submitted, 0), steps.ready);
  return steps;
}

std::uint32_t node_of(const RecordedRun& run, const TaskOfRun& task) {
  const auto& workers = run.facts.machine.workers;
  return task.worker < workers.size() ? workers[task.worker].node.value : kNobody;
}

std::size_t kind_of_worker(const RecordedRun& run, std::uint32_t worker) {
  const auto& workers = run.facts.machine.workers;
  return worker < workers.size() ? static_cast<std::size_t>(workers[worker].kind) : 0;
}

std::uint32_t worker_count(const RecordedRun& run) {
  auto count = static_cast<std::uint32_t>(run.facts.machine.workers.size());
  for (const TaskOfRun& task : run.tasks) {
    if (task.worker != kNobody) count = std::max(count, task.worker + 1);
  }
  return count;
}

namespace {

// `group`: of a task that ran, less than `count`.
template <typename Group>
std::vector<RunsOfWorker> runs_by(const RecordedRun& run, std::size_t count, const Group& group) {
  std::vector<RunsOfWorker> runs(count);
  for (std::uint32_t t = 0; t < run.tasks.size(); ++t) {
    if (ran_on_worker(run.tasks[t])) runs[group(run.tasks[t])].by_start.push_back(t);
  }
  for (RunsOfWorker& of : runs) {
    of.by_end = of.by_start;
    const auto time = [&](std::int64_t TaskOfRun::*when) {
      return [&run, when](std::uint32_t task) { return run.tasks[task].*when; };
    };
    std::ranges::stable_sort(of.by_start, {}, time(&TaskOfRun::started));
    std::ranges::stable_sort(of.by_end, {}, time(&TaskOfRun::ended));
  }
  return runs;
}

}  // namespace

std::vector<RunsOfWorker> runs_of_workers(const RecordedRun& run) {
  return runs_by(run, worker_count(run), [](const TaskOfRun& task) { return task.worker; });
}

std::vector<RunsOfWorker> runs_of_nodes(const RecordedRun& run) {
  const std::size_t nodes = run.facts.machine.nodes.size();
  return runs_by(run, nodes + worker_count(run), [&](const TaskOfRun& task) {
    const std::uint32_t node = node_of(run, task);
    return node < nodes ? node : nodes + task.worker;
  });
}

std::vector<std::int64_t> begins_of_runs(const RecordedRun& run,
                                         const std::vector<RunsOfWorker>& workers) {
  std::vector<std::int64_t> begins(run.tasks.size(), kUnknown);
  for (const RunsOfWorker& of : workers) {
    std::int64_t before = kUnknown;
    for (const std::uint32_t task : of.by_end) {
      begins[task] = std::max(run.tasks[task].started, before);
      before = run.tasks[task].ended;
    }
  }
  return begins;
}

MeanTimes mean_times(const RecordedRun& run, const std::vector<std::int64_t>& begins) {
  MeanTimes means;
  for (std::uint32_t t = 0; t < run.tasks.size(); ++t) {
    const TaskOfRun& task = run.tasks[t];
    if (!ran_on_worker(task)) continue;
    MeanTime& mean = means[{task.name, kind_of_worker(run, task.worker)}];
    mean.sum += task.ended - begins[t];
    ++mean.count;
  }
  return means;
}

std::int64_t least_time(const RecordedRun& run, const MeanTimes& means, const TaskOfRun& task,
                        std::int64_t took) {
  for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
    const auto mean = means.find({task.name, kind});
    if (kind == kind_of_worker(run, task.worker) || mean == means.end()) continue;
    took = std::min(took, mean->second.value());
  }
  return took;
}

std::int64_t last_end(const RecordedRun& run) {
  std::int64_t end = 0;
  for (const TaskOfRun& task : run.tasks) {
    if (ran_on_worker(task)) end = std::max(end, task.ended);
  }
  return end;
}

}  // namespace vicinal::analysis
