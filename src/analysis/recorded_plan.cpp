#include "analysis/recorded_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "trace/event.hpp"
#include "vicinal/error.hpp"

namespace vicinal::analysis {

namespace {

// Tasks that the runtime adds by itself: combinations of reduced data, and copies between a datum and its parts. A run that
// follows the plan has as many of them as it needs.
class OwnTasks {
 public:
  explicit OwnTasks(const RecordedRun& run) : run_(run) {
    for (const ReductionOfRun& each : run.reductions) {
      combined_by_.insert_or_assign(each.datum, each.combine.name);
    }
  }
  bool contains(const TaskOfRun& task) const {
    const std::span<const AccessOfTask> accesses = run_.accesses_of(task);
    if (accesses.size() == 1) {
      const auto reduced = combined_by_.find(accesses.front().datum);
      if (reduced != combined_by_.end() && reduced->second == task.name) return true;
    }
    if (accesses.size() == 2 &&
        (is_part(accesses[0], accesses[1].datum) || is_part(accesses[1], accesses[0].datum))) {
      return true;
    }
    // Private copies are recorded as parts of the datum.
    return std::ranges::any_of(accesses, [&](const AccessOfTask& access) {
      return combined_by_.contains(run_.data[access.datum].part_of);
    });
  }

 private:
  bool is_part(const AccessOfTask& access, std::uint32_t whole) const {
    return run_.data[access.datum].part_of == whole;
  }

  const RecordedRun& run_;
  std::unordered_map<std::uint32_t, std::uint32_t> combined_by_;  // name of the codelet, by datum
};

}  // namespace

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
    std::string name;
  };
  std::vector<Begun> begun;
  const OwnTasks own(run);
  // Those that have the name, of their own or as that of their codelet. As in sched::FollowedPlan.
  std::unordered_map<std::string, std::uint32_t> met;
  for (std::uint32_t t = 0; t < run.tasks.size(); ++t) {
    const TaskOfRun& task = run.tasks[t];
    if (task.kind != KindOfTask::compute || own.contains(task)) continue;
    std::string name = base::legible(run.names[task.name]);
    std::uint32_t number = met[name]++;
    if (task.own_name != kNobody && task.own_name != task.name) {
      name = base::legible(run.names[task.own_name]);
      number = met[name]++;
    }
    if (task.ran() && task.worker != kNobody && task.outcome == Outcome::done) {
      begun.push_back({task.started, t, number, std::move(name)});
    }
  }
  if (begun.empty()) refuse("no task ran in the recording: there is nothing to plan");
  std::ranges::stable_sort(begun, {}, &Begun::started);
  for (Begun& each : begun) {
    const std::uint32_t worker = run.tasks[each.task].worker;
    plan.tasks.push_back({.name = std::move(each.name),
                          .node = run.facts.machine.workers[worker].node.value,
                          .number = each.number});
  }
  return plan;
}

}  // namespace vicinal::analysis
