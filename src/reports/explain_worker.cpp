// What a worker did, and what happened at a moment.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/steps.hpp"
#include "reports/explain_context.hpp"

namespace vicinal::reports::explaining {

using analysis::CopyOfRun;
using analysis::IdleInterval;
using analysis::RecordedRun;
using analysis::RoomChange;
using analysis::TaskOfRun;

namespace {

constexpr std::size_t kLongestGaps = 10;

const analysis::IdleCauseEntry& entry_of(analysis::IdleCause cause) {
  return analysis::idle_causes()[static_cast<std::size_t>(cause)];
}

struct RanOfCodelet {
  std::uint64_t tasks = 0;
  std::int64_t time = 0;
};

std::map<std::string, RanOfCodelet> codelets_of(const RecordedRun& run, std::uint32_t worker) {
  std::map<std::string, RanOfCodelet> codelets;
  for (const TaskOfRun& task : run.tasks) {
    if (!ran_on_worker(task) || task.worker != worker) continue;
    RanOfCodelet& ran = codelets[task.name < run.names.size() ? run.names[task.name] : "task"];
    ++ran.tasks;
    ran.time += task.ended - task.started;
  }
  return codelets;
}

std::vector<IdleInterval> gaps_of_worker(const Context& context, std::uint32_t worker) {
  std::vector<IdleInterval> gaps;
  for (const IdleInterval& gap : context.of.idle.intervals) {
    if (gap.worker == worker) gaps.push_back(gap);
  }
  std::ranges::stable_sort(
      gaps, [](const IdleInterval& a, const IdleInterval& b) { return a.length() > b.length(); });
  return gaps;
}

}  // namespace

std::string worker_text(const Context& context, std::uint32_t worker) {
  const RecordedRun& run = context.run;
  const analysis::IdleOfWorker& of = context.of.idle.workers[worker];
  std::string text =
      fmt::format("{} had tasks for {}, {} of {}.\n", run.name_of_worker(worker), duration(of.run),
                  percent(of.run, context.of.idle.wall), duration(context.of.idle.wall));
  for (const auto& [name, ran] : codelets_of(run, worker)) {
    text += fmt::format("  {:>9}  {} of {}\n", duration(ran.time),
                        counted(ran.tasks, "task", "tasks"), name);
  }
  text += "\nIt was idle:\n";
  for (std::size_t c = 0; c < analysis::kIdleCauses; ++c) {
    const auto& entry = analysis::idle_causes()[c];
    if (of.by_cause[c] == 0) continue;
    text += fmt::format("  {:>9}  {:>7}  {}: {}\n", duration(of.by_cause[c]),
                        percent(of.by_cause[c], context.of.idle.wall), entry.name, entry.sentence);
  }
  const std::vector<IdleInterval> gaps = gaps_of_worker(context, worker);
  text += gaps.empty() ? "  never\n" : "\nThe longest of these times:\n";
  for (std::size_t i = 0; i < std::min(gaps.size(), kLongestGaps); ++i) {
    text += fmt::format("  {:>9}  from {} on{}: {}\n", duration(gaps[i].length()),
                        context.moment(gaps[i].from),
                        gaps[i].task == kNobody ? "" : ", before " + run.name_of(gaps[i].task),
                        entry_of(gaps[i].cause).name);
  }
  return text;
}

Json worker_explained_json(const Context& context, std::uint32_t worker) {
  const RecordedRun& run = context.run;
  const analysis::IdleOfWorker& of = context.of.idle.workers[worker];
  Json json = worker_json(run, worker);
  json["run_ns"] = of.run;
  json["idle_ns"] = Json::object();
  for (std::size_t c = 0; c < analysis::kIdleCauses; ++c) {
    json["idle_ns"][std::string(analysis::idle_causes()[c].name)] = of.by_cause[c];
  }
  json["codelets"] = Json::object();
  for (const auto& [name, ran] : codelets_of(run, worker)) {
    json["codelets"][name] = {{"tasks", ran.tasks}, {"run_ns", ran.time}};
  }
  json["idle"] = Json::array();
  for (const IdleInterval& gap : gaps_of_worker(context, worker)) {
    json["idle"].push_back({{"from_ns", gap.from},
                            {"to_ns", gap.to},
                            {"cause", entry_of(gap.cause).name},
                            {"next", task_json(run, gap.task)}});
  }
  return json;
}

namespace {

// The task that the worker had then; kNobody: none.
std::uint32_t task_at(const RecordedRun& run, std::uint32_t worker, std::int64_t time) {
  std::uint32_t found = kNobody;
  for (std::uint32_t t = 0; t < run.tasks.size(); ++t) {
    const TaskOfRun& task = run.tasks[t];
    if (!ran_on_worker(task) || task.worker != worker) continue;
    if (task.started > time || task.ended <= time) continue;
    if (found == kNobody || task.started < run.tasks[found].started) found = t;
  }
  return found;
}

const IdleInterval* gap_at(const Context& context, std::uint32_t worker, std::int64_t time) {
  for (const IdleInterval& gap : context.of.idle.intervals) {
    if (gap.worker == worker && gap.from <= time && time < gap.to) return &gap;
  }
  return nullptr;
}

std::uint32_t ready_at(const Context& context, std::int64_t time) {
  const std::vector<analysis::ReadyTasks> counts = analysis::ready_tasks(context.run);
  const auto behind = std::ranges::upper_bound(counts, time, {}, &analysis::ReadyTasks::time);
  return behind == counts.begin() ? 0 : std::prev(behind)->count;
}

// Bytes in use by node; those of which nothing was recorded until then are not there.
std::map<std::uint32_t, std::uint64_t> used_at(const RecordedRun& run, std::int64_t time) {
  std::map<std::uint32_t, std::uint64_t> used;
  for (const RoomChange& change : run.room) {
    if (change.time > time) break;
    const bool counts =
        change.kind == RoomChange::Kind::taken || change.kind == RoomChange::Kind::freed;
    if (counts) used[change.node] = change.used;
  }
  return used;
}

std::vector<std::uint32_t> copies_at(const RecordedRun& run, std::int64_t time) {
  std::vector<std::uint32_t> copies;
  for (std::uint32_t c = 0; c < run.copies.size(); ++c) {
    const CopyOfRun& copy = run.copies[c];
    if (copy.started == kUnknown || copy.started > time) continue;
    if (copy.ended == kUnknown || copy.ended > time) copies.push_back(c);
  }
  return copies;
}

}  // namespace

std::string moment_text(const Context& context, std::int64_t time) {
  const RecordedRun& run = context.run;
  std::string text = fmt::format("At {}:\n", context.moment(time));
  for (std::uint32_t w = 0; w < context.of.idle.workers.size(); ++w) {
    const std::uint32_t task = task_at(run, w, time);
    if (task != kNobody) {
      text += fmt::format("  {} ran {}, until {}\n", run.name_of_worker(w), run.name_of(task),
                          context.moment(run.tasks[task].ended));
    } else if (const IdleInterval* const gap = gap_at(context, w, time)) {
      text += fmt::format(
          "  {} was idle until {}{}: {}\n", run.name_of_worker(w), context.moment(gap->to),
          gap->task == kNobody ? "" : ", when it began with " + run.name_of(gap->task),
          entry_of(gap->cause).sentence);
    }
  }
  for (const std::uint32_t c : copies_at(run, time)) {
    const CopyOfRun& copy = run.copies[c];
    text +=
        fmt::format("  {}, {}, was on its way from {} to {}, {}\n", run.name_of_datum(copy.datum),
                    size(copy.bytes), run.name_of_node(copy.from), run.name_of_node(copy.to),
                    cause_of(copy.cause));
  }
  for (const auto& [node, used] : used_at(run, time)) {
    const auto& nodes = run.facts.machine.nodes;
    const bool limited = node < nodes.size() && nodes[node].limit;
    text += fmt::format("  data took {} in {}{}\n", size(used), run.name_of_node(node),
                        limited ? ", of " + size(nodes[node].limit->value) : "");
  }
  const std::uint32_t ready = ready_at(context, time);
  text += fmt::format("  {} ready and with the policy\n",
                      ready == 1 ? "1 task was" : fmt::format("{} tasks were", ready));
  return text;
}

Json moment_json(const Context& context, std::int64_t time) {
  const RecordedRun& run = context.run;
  Json json = {{"time_ns", time},
               {"ready", ready_at(context, time)},
               {"workers", Json::array()},
               {"copies", Json::array()},
               {"used", Json::array()}};
  for (std::uint32_t w = 0; w < context.of.idle.workers.size(); ++w) {
    Json worker = worker_json(run, w);
    worker["task"] = task_json(run, task_at(run, w, time));
    const IdleInterval* const gap = gap_at(context, w, time);
    worker["idle"] = gap == nullptr ? Json(nullptr) : Json(entry_of(gap->cause).name);
    json["workers"].push_back(std::move(worker));
  }
  for (const std::uint32_t c : copies_at(run, time)) {
    json["copies"].push_back(copy_json(context, c));
  }
  for (const auto& [node, used] : used_at(run, time)) {
    json["used"].push_back({{"node", node_json(run, node)}, {"bytes", used}});
  }
  return json;
}

}  // namespace vicinal::reports::explaining
