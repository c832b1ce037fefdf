#include "analysis/what_if.hpp"

#include <algorithm>
#include <exception>

#include "play/play.hpp"

namespace vicinal::analysis {

namespace {

std::uint64_t bytes_of(const Statistics& statistics) {
  std::uint64_t bytes = 0;
  for (const LinkStatistics& link : statistics.links) bytes += link.bytes.value;
  return bytes;
}

}  // namespace

WhatIf::WhatIf(const RecordedRun& run) {
  const auto ran = std::ranges::count_if(run.tasks, [](const TaskOfRun& task) {
    return task.ran() && task.kind == KindOfTask::compute;
  });
  if (ran == 0 || static_cast<std::size_t>(ran) > kMostTasks || !run.complete) return;
  try {
    job_ = job_of(run, "the recording");
  } catch (const std::exception&) {  // it does not hold the graph, or holds what no graph can say
  }
}

std::optional<Prediction> WhatIf::played(const machine::MachineModel& machine,
                                         const Options& options) const {
  try {
    const play::Played played = play::play(job_->graph, machine, options, 1, job_->place);
    return Prediction{(played.after.now - played.before.now).ns,
                      bytes_of(played.after) - bytes_of(played.before)};
  } catch (const std::exception&) {  // it does not fit, or the policy is not known here
    return std::nullopt;
  }
}

std::optional<Prediction> WhatIf::as_it_was() const {
  if (!job_) return std::nullopt;
  return played(job_->machine, job_->options);
}

std::optional<Prediction> WhatIf::with_memory(double factor) const {
  if (!job_) return std::nullopt;
  // Room for all data and what tasks need beside them; no limit at all is not for accelerators.
  Bytes all{1ULL << 30};
  for (const graph::Graph::Datum& datum : job_->graph.data()) all += datum.bytes + datum.bytes;
  machine::MachineModel machine = job_->machine;
  for (NodeDescription& node : machine.description.nodes) {
    if (!node.limit || node.kind == NodeKind::disk) continue;
    const auto bytes = static_cast<double>(node.limit->value) * factor;
    node.limit = factor > 0 ? Bytes{static_cast<std::uint64_t>(bytes)} : std::max(all, *node.limit);
  }
  return played(machine, job_->options);
}

std::optional<Prediction> WhatIf::with_policy(const std::string& policy) const {
  if (!job_) return std::nullopt;
  Options options = job_->options;
  options.policy = policy;
  return played(job_->machine, options);
}

std::optional<Prediction> WhatIf::with_window(std::uint64_t tasks) const {
  if (!job_) return std::nullopt;
  Options options = job_->options;
  options.window_tasks = tasks;
  options.window_bytes = {};
  return played(job_->machine, options);
}

}  // namespace vicinal::analysis
