#include "analysis/recorded_job.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/intervals.hpp"

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

}  // namespace

RecordedJob job_of(const RecordedRun& run, const std::string& origin,
                   std::span<const KernelTime> times, TaskTimes task_times) {
  RecordedJob job{
      .graph = graph_of(run, origin, times, task_times),
      .machine = {.name = {}, .sentence = {}, .description = machine_of(run), .scheduling = {}},
      .options = options_of(run.facts),
      // What the tasks read is in memory when a run begins behind the application's own tasks.
      .place = run.begin > 0 ? play::StartingPlace::filled : play::StartingPlace::homes};
  for (const auto& [name, value] : run.facts.told) {
    if (name == "machine.name") job.machine.name = value;
  }
  if (job.machine.name.empty()) job.machine.name = "as recorded";
  return job;
}

}  // namespace vicinal::analysis
