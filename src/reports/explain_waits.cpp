// The longest waits: of tasks, for room and for copies; and of workers that had nothing to run.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/steps.hpp"
#include "reports/explain_context.hpp"

namespace vicinal::reports::explaining {

using analysis::AccessOfTask;
using analysis::CopyOfRun;
using analysis::IdleInterval;
using analysis::RecordedRun;
using analysis::TaskOfRun;

namespace {

constexpr std::size_t kMostInText = 20;

struct WaitOfTask {
  std::uint32_t task = kNobody;
  std::int64_t from = 0;
  std::int64_t to = 0;
  bool for_room = false;  // else for copies
  std::int64_t length() const { return to - from; }
};

// Longest first.
std::vector<WaitOfTask> waits_of_tasks(const Context& context) {
  const RecordedRun& run = context.run;
  std::vector<WaitOfTask> waits;
  for (std::uint32_t t = 0; t < run.tasks.size(); ++t) {
    if (!ran_on_worker(run.tasks[t])) continue;
    const analysis::Steps steps = context.steps.of(t);
    if (steps.granted > steps.wanted) waits.push_back({t, steps.wanted, steps.granted, true});
    if (steps.operands > steps.granted) waits.push_back({t, steps.granted, steps.operands, false});
  }
  std::ranges::stable_sort(
      waits, [](const WaitOfTask& a, const WaitOfTask& b) { return a.length() > b.length(); });
  return waits;
}

std::vector<IdleInterval> idle_by_length(const Context& context) {
  std::vector<IdleInterval> idle = context.of.idle.intervals;
  std::erase_if(idle, [](const IdleInterval& i) {
    return i.cause == analysis::IdleCause::before || i.cause == analysis::IdleCause::after;
  });
  std::ranges::stable_sort(
      idle, [](const IdleInterval& a, const IdleInterval& b) { return a.length() > b.length(); });
  return idle;
}

// Those that ended while it waited.
std::vector<std::uint32_t> copies_behind(const Context& context, const WaitOfTask& wait) {
  const RecordedRun& run = context.run;
  const TaskOfRun& task = run.tasks[wait.task];
  const std::uint32_t node = node_of(run, task);
  std::vector<std::uint32_t> copies;
  for (const AccessOfTask& access : run.accesses_of(task)) {
    if (!reads(access.mode)) continue;
    for (const std::uint32_t c : context.copies_of[access.datum]) {
      const CopyOfRun& copy = run.copies[c];
      if (copy.to == node && copy.ended > wait.from && copy.ended <= wait.to) copies.push_back(c);
    }
  }
  return copies;
}

std::string wait_text(const Context& context, const WaitOfTask& wait) {
  const RecordedRun& run = context.run;
  const TaskOfRun& task = run.tasks[wait.task];
  std::string text = fmt::format("  {:>9}  {} on {}, from {} on, ", duration(wait.length()),
                                 run.name_of(wait.task), run.name_of_worker(task.worker),
                                 context.moment(wait.from));
  if (wait.for_room) {
    const std::uint32_t node = node_of(run, task);
    return text + "for room" + (node == kNobody ? "" : " on " + run.name_of_node(node)) + "\n";
  }
  text += "for copies";
  const std::vector<std::uint32_t> copies = copies_behind(context, wait);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const CopyOfRun& copy = run.copies[copies[i]];
    text += fmt::format("{}{} from {}", i == 0 ? ": " : ", ", run.name_of_datum(copy.datum),
                        run.name_of_node(copy.from));
    const std::int64_t queue =
        copy.wanted != kUnknown ? copy.started - std::max(copy.wanted, wait.from) : 0;
    if (queue > 0) text += fmt::format(", {} of it before the copy began", duration(queue));
  }
  return text + "\n";
}

std::string idle_text(const Context& context, const IdleInterval& idle) {
  const RecordedRun& run = context.run;
  return fmt::format("  {:>9}  {}, from {} on{}: {}\n", duration(idle.length()),
                     run.name_of_worker(idle.worker), context.moment(idle.from),
                     idle.task == kNobody ? "" : ", before " + run.name_of(idle.task),
                     analysis::idle_causes()[static_cast<std::size_t>(idle.cause)].sentence);
}

}  // namespace

std::string waits_text(const Context& context) {
  const std::vector<WaitOfTask> waits = waits_of_tasks(context);
  const std::vector<IdleInterval> idle = idle_by_length(context);
  std::string text = waits.empty()
                         ? "No task waited for room or copies.\n"
                         : fmt::format("The longest of {} of tasks that could start next:\n",
                                       counted(waits.size(), "wait", "waits"));
  for (std::size_t i = 0; i < std::min(waits.size(), kMostInText); ++i) {
    text += wait_text(context, waits[i]);
  }
  text += idle.empty() ? "\nNo worker was idle.\n"
                       : fmt::format("\nThe longest of {} in which a worker was idle:\n",
                                     counted(idle.size(), "time", "times"));
  for (std::size_t i = 0; i < std::min(idle.size(), kMostInText); ++i) {
    text += idle_text(context, idle[i]);
  }
  return text;
}

Json waits_json(const Context& context) {
  const RecordedRun& run = context.run;
  Json json = {{"tasks", Json::array()}, {"workers", Json::array()}};
  for (const WaitOfTask& wait : waits_of_tasks(context)) {
    Json of = task_json(run, wait.task);
    of["from_ns"] = wait.from;
    of["to_ns"] = wait.to;
    of["cause"] = wait.for_room ? "room" : "data";
    json["tasks"].push_back(std::move(of));
  }
  for (const IdleInterval& idle : idle_by_length(context)) {
    json["workers"].push_back(
        {{"worker", worker_json(run, idle.worker)},
         {"from_ns", idle.from},
         {"to_ns", idle.to},
         {"cause", analysis::idle_causes()[static_cast<std::size_t>(idle.cause)].name},
         {"next", task_json(run, idle.task)}});
  }
  return json;
}

}  // namespace vicinal::reports::explaining
