// All tasks of a codelet.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/steps.hpp"
#include "reports/explain_context.hpp"

namespace vicinal::reports::explaining {

using analysis::RecordedRun;
using analysis::TaskOfRun;

namespace {

constexpr std::size_t kLongestShown = 5;

// Of all tasks of a codelet together.
struct CodeletSums {
  std::vector<std::uint32_t> tasks;  // that ran, the longest first
  std::uint64_t others = 0;          // that did not
  std::int64_t time = 0;
  std::int64_t on_path = 0;
  std::map<std::uint32_t, std::uint64_t> by_worker;
  std::array<std::int64_t, 6> waits{};  // see kWaits
};
constexpr std::array<std::string_view, 6> kWaits{
    "for tasks that they depend on",    "with the policy",
    "behind other tasks of the worker", "for room for their operands",
    "for copies of what they read",     "for their worker"};

CodeletSums sums_of(const Context& context, const std::string& codelet) {
  const RecordedRun& run = context.run;
  CodeletSums sums;
  std::vector<bool> is_of(run.tasks.size(), false);
  for (std::uint32_t t = 0; t < run.tasks.size(); ++t) {
    const TaskOfRun& task = run.tasks[t];
    if (task.name >= run.names.size() || run.names[task.name] != codelet) continue;
    is_of[t] = true;
    if (!ran_on_worker(task)) {
      ++sums.others;
      continue;
    }
    sums.tasks.push_back(t);
    sums.time += task.ended - task.started;
    ++sums.by_worker[task.worker];
    const analysis::Steps steps = context.steps.of(t);
    const std::array<std::int64_t, 7> times{steps.submitted, steps.ready,   steps.scheduled,
                                            steps.wanted,    steps.granted, steps.operands,
                                            steps.started};
    for (std::size_t i = 0; i < sums.waits.size(); ++i) sums.waits[i] += times[i + 1] - times[i];
  }
  for (const analysis::PathSegment& segment : context.of.path.segments) {
    const bool is_run = segment.cause == analysis::PathCause::run;
    if (is_run && segment.task != kNobody && is_of[segment.task]) sums.on_path += segment.length();
  }
  std::ranges::stable_sort(sums.tasks, [&](std::uint32_t a, std::uint32_t b) {
    const auto length = [&](std::uint32_t t) { return run.tasks[t].ended - run.tasks[t].started; };
    return length(a) > length(b);
  });
  return sums;
}

}  // namespace

std::string codelet_text(const Context& context, const std::string& codelet) {
  const RecordedRun& run = context.run;
  const CodeletSums sums = sums_of(context, codelet);
  std::string text =
      fmt::format("{} of {} ran, for {} in all", counted(sums.tasks.size(), "task", "tasks"),
                  codelet, duration(sums.time));
  if (sums.tasks.empty()) return text + ".\n";
  const auto length = [&](std::uint32_t t) { return run.tasks[t].ended - run.tasks[t].started; };
  const auto count = static_cast<std::int64_t>(sums.tasks.size());
  text += fmt::format(": {} each, {} at least, {} at most.\n", duration(sums.time / count),
                      duration(length(sums.tasks.back())), duration(length(sums.tasks.front())));
  if (sums.others > 0) text += fmt::format("{} did not run.\n", sums.others);
  text += fmt::format("For {} the critical path was in them, {} of it.\n", duration(sums.on_path),
                      percent(sums.on_path, context.of.path.length()));
  text += "\nBefore they ran they waited, each on the mean:\n";
  for (std::size_t i = 0; i < kWaits.size(); ++i) {
    if (sums.waits[i] > 0) {
      text += fmt::format("  {:>9}  {}\n", duration(sums.waits[i] / count), kWaits[i]);
    }
  }
  text += "\nThey ran on:\n";
  for (const auto& [worker, tasks] : sums.by_worker) {
    text += fmt::format("  {}: {}\n", run.name_of_worker(worker), counted(tasks, "task", "tasks"));
  }
  text += "\nThe longest:\n";
  for (std::size_t i = 0; i < std::min(sums.tasks.size(), kLongestShown); ++i) {
    const TaskOfRun& task = run.tasks[sums.tasks[i]];
    text += fmt::format("  {:>9}  {}, on {} from {} on\n", duration(task.ended - task.started),
                        run.name_of(sums.tasks[i]), run.name_of_worker(task.worker),
                        context.moment(task.started));
  }
  return text;
}

Json codelet_json(const Context& context, const std::string& codelet) {
  const CodeletSums sums = sums_of(context, codelet);
  Json tasks = Json::array();
  for (const std::uint32_t t : sums.tasks) tasks.push_back(t);
  Json waits = Json::object();
  for (std::size_t i = 0; i < kWaits.size(); ++i) waits[std::string(kWaits[i])] = sums.waits[i];
  return {{"codelet", codelet},  {"tasks", std::move(tasks)},  {"not_run", sums.others},
          {"run_ns", sums.time}, {"on_path_ns", sums.on_path}, {"waits_ns", std::move(waits)}};
}

}  // namespace vicinal::reports::explaining
