#include "analysis/what_if.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>

#include "analysis/intervals.hpp"
#include "analysis/recorded_graph.hpp"
#include "play/play.hpp"

namespace vicinal::analysis {

namespace {

constexpr std::array<std::string_view, 6> kKeptOptions{
    "look_ahead", "window_tasks", "window_bytes", "compute_priorities", "memory_rules", "seed"};

// A policy of somebody's own has no name here, and is refused when the graph is played.
Options options_of(const RunFacts& facts) {
  Options options;
  for (const auto& [name, value] : facts.options) {
    if (std::ranges::find(kKeptOptions, name) != kKeptOptions.end()) options.set(name, value);
  }
  options.policy = facts.policy;
  // With its settings.
  for (const auto& [name, value] : facts.options) {
    if (name == "policy" && value.starts_with(facts.policy + ":")) options.policy = value;
  }
  return options;
}

// Of a real run links are as fast as they were.
void measure_links(MachineDescription& machine, const RecordedRun& run) {
  for (LinkDescription& link : machine.links) {
    double bytes = 0;
    std::vector<Interval> busy;
    for (const CopyOfRun& copy : run.copies) {
      const bool is_here = copy.from == link.from.value && copy.to == link.to.value;
      if (!is_here || copy.ended == kUnknown || copy.failed) continue;
      bytes += static_cast<double>(copy.bytes);
      busy.push_back({copy.started, copy.ended});
    }
    double seconds = 0;
    for (const Interval& interval : united(std::move(busy))) {
      seconds += static_cast<double>(interval.length()) * 1e-9;
    }
    if (bytes > 0 && seconds > 0) link.bandwidth = {bytes / seconds};
  }
}

// Recordings of older versions do not say how fast segments are.
MachineDescription machine_of(const RecordedRun& run) {
  MachineDescription machine = run.facts.machine;
  if (!run.facts.simulated) measure_links(machine, run);
  constexpr double kLeastRate = 1000;
  for (LinkDescription& link : machine.links) {
    std::erase_if(link.segments,
                  [&](std::uint32_t segment) { return segment >= machine.segments.size(); });
    if (link.bandwidth.value < kLeastRate) link.bandwidth = {0};
  }
  return machine;
}

std::uint64_t bytes_of(const Statistics& statistics) {
  std::uint64_t bytes = 0;
  for (const LinkStatistics& link : statistics.links) bytes += link.bytes.value;
  return bytes;
}

}  // namespace

WhatIf::WhatIf(const RecordedRun& run) : filled_(run.begin > 0) {
  const auto ran = std::ranges::count_if(run.tasks, [](const TaskOfRun& task) {
    return task.ran() && task.kind == KindOfTask::compute;
  });
  if (ran == 0 || static_cast<std::size_t>(ran) > kMostTasks || !run.complete) return;
  try {
    machine_.description = machine_of(run);
    options_ = options_of(run.facts);
    graph_ = graph_of(run, "the recording");
  } catch (const std::exception&) {
    graph_.reset();  // it does not hold the graph, or holds what no graph can say
  }
}

std::optional<Prediction> WhatIf::played(const machine::MachineModel& machine,
                                         const Options& options) const {
  if (!graph_) return std::nullopt;
  try {
    const play::Played played =
        play::play(*graph_, machine, options, 1,
                   filled_ ? play::StartingPlace::filled : play::StartingPlace::homes);
    return Prediction{(played.after.now - played.before.now).ns,
                      bytes_of(played.after) - bytes_of(played.before)};
  } catch (const std::exception&) {  // it does not fit, or the policy is not known here
    return std::nullopt;
  }
}

std::optional<Prediction> WhatIf::as_it_was() const {
  return played(machine_, options_);
}

std::optional<Prediction> WhatIf::with_memory(double factor) const {
  if (!graph_) return std::nullopt;
  // Room for all data and what tasks need beside them; no limit at all is not for accelerators.
  Bytes all{1ULL << 30};
  for (const graph::Graph::Datum& datum : graph_->data()) all += datum.bytes + datum.bytes;
  machine::MachineModel machine = machine_;
  for (NodeDescription& node : machine.description.nodes) {
    if (!node.limit || node.kind == NodeKind::disk) continue;
    const auto bytes = static_cast<double>(node.limit->value) * factor;
    node.limit = factor > 0 ? Bytes{static_cast<std::uint64_t>(bytes)} : std::max(all, *node.limit);
  }
  return played(machine, options_);
}

std::optional<Prediction> WhatIf::with_policy(const std::string& policy) const {
  Options options = options_;
  options.policy = policy;
  return played(machine_, options);
}

std::optional<Prediction> WhatIf::with_window(std::uint64_t tasks) const {
  Options options = options_;
  options.window_tasks = tasks;
  options.window_bytes = {};
  return played(machine_, options);
}

}  // namespace vicinal::analysis
