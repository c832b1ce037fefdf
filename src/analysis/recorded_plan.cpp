#include "analysis/recorded_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "trace/event.hpp"
#include "vicinal/error.hpp"

namespace vicinal::analysis {

graph::KeptPlan plan_of(const RecordedRun& run, const std::string& origin) {
  const auto refuse = [&](std::string_view why) {
    throw UsageError(fmt::format("{}: {}", base::legible_name(origin), why));
  };
  const trace::Categories needed =
      trace::bit(trace::Category::tasks) | trace::bit(trace::Category::submission);
  if ((run.recorded & needed) != needed) {
    refuse(
        "the recording does not say which tasks ran where; record with --trace-events "
        "tasks,submission at least");
  }
  if (!run.ranks.empty() || run.alone) {
    refuse("the recording is of several ranks, and a plan is of one; record a run on one rank");
  }
  graph::KeptPlan plan;
  plan.origin = origin;
  plan.application = run.facts.application;
  plan.policy = run.facts.policy;
  for (const auto& [name, value] : run.facts.told) {
    if (name == "machine.name") plan.machine = value;
  }
  plan.seconds = static_cast<double>(run.length()) * 1e-9;
  for (const NodeDescription& node : run.facts.machine.nodes) plan.nodes.push_back(node.name);
  struct Begun {
    std::int64_t started = 0;
    std::uint32_t task = 0;  // in the order of submission
    std::uint32_t number = 0;
  };
  std::vector<Begun> begun;
  // By name: index into RecordedRun::names.
  std::unordered_map<std::uint32_t, std::uint32_t> of_name;
  std::unordered_map<std::uint32_t, std::uint32_t> of_codelet;
  const auto has_own_name = [](const TaskOfRun& task) {
    return task.own_name != kNobody && task.own_name != task.name;
  };
  for (std::uint32_t t = 0; t < run.tasks.size(); ++t) {
    const TaskOfRun& task = run.tasks[t];
    if (task.kind != KindOfTask::compute) continue;
    std::uint32_t number = of_codelet[task.name]++;
    if (has_own_name(task)) number = of_name[task.own_name]++;
    if (task.ran() && task.worker != kNobody && task.outcome == Outcome::done) {
      begun.push_back({task.started, t, number});
    }
  }
  if (begun.empty()) refuse("no task ran in the recording: there is nothing to plan");
  std::ranges::stable_sort(begun, {}, &Begun::started);
  for (const Begun& each : begun) {
    const TaskOfRun& task = run.tasks[each.task];
    plan.tasks.push_back({.name = run.names[has_own_name(task) ? task.own_name : task.name],
                          .node = run.facts.machine.workers[task.worker].node.value,
                          .number = each.number});
  }
  return plan;
}

}  // namespace vicinal::analysis
