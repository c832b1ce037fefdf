// The summary: the tasks, the critical path, the causes of idle time, the traffic, and the changes that would have
// helped.
#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/phases.hpp"
#include "analysis/steps.hpp"
#include "analysis/verdict.hpp"
#include "reports/explain_context.hpp"
#include "reports/findings_json.hpp"
#include "reports/own_results.hpp"

namespace vicinal::reports::explaining {

using analysis::Advice;
using analysis::RecordedRun;
using analysis::TrafficOfDatum;
using analysis::TrafficOfLink;

namespace {

constexpr std::size_t kMostData = 8;
constexpr std::size_t kMostWorkers = 16;  // else their sum alone

std::uint64_t tasks_run(const RecordedRun& run) {
  return static_cast<std::uint64_t>(std::ranges::count_if(run.tasks, analysis::ran_on_worker));
}

// "Of the recording: prepare 120 ms, run 3.1 s, check 0.6 s. What follows is of the run."
std::string phases_text(const RecordedRun& run) {
  constexpr std::size_t kMostPhases = 8;
  const std::vector<analysis::PhaseOfRun> phases = analysis::phases(run);
  if (phases.empty()) return "";
  std::string text;
  const std::span first(phases.data(), std::min<std::size_t>(phases.size(), kMostPhases));
  for (const analysis::PhaseOfRun& phase : first) {
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", phase.name, duration(phase.time.length()));
  }
  if (phases.size() > kMostPhases) text += fmt::format(" and {} more", phases.size() - kMostPhases);
  return fmt::format("The recording has the phases {}. What follows is of the run.\n", text);
}

// Of a program of somebody's the name of its file.
std::string program_of(const analysis::RunFacts& facts) {
  if (!facts.application.empty()) return facts.application;
  const std::string file = facts.command.substr(0, facts.command.find(' '));
  const std::string name = file.substr(file.rfind('/') + 1);
  return name.empty() ? "A program" : name;
}

// "No schedule of these tasks is faster than 500 ms: the run took 1.50 times that."
std::string bounds_text(const Context& context) {
  const auto told = own_results(context.run, context.of);
  double bound = 0;
  for (const auto* const facts : {&context.run.facts.told, &told}) {
    for (const auto& [name, value] : *facts) {
      if (name == "bound.seconds")
        std::from_chars(value.data(), value.data() + value.size(), bound);
    }
  }
  const std::int64_t took_ns = time_of_run_proper(context.run, context.of.path);
  if (bound <= 0 || took_ns <= 0) return "";
  return fmt::format(
      "No schedule of these tasks is faster than {}: the run took {:.2f} times that.\n",
      duration(Time::from_seconds(bound).ns), static_cast<double>(took_ns) * 1e-9 / bound);
}

std::string what_ran(const Context& context) {
  const RecordedRun& run = context.run;
  const analysis::RunFacts& facts = run.facts;
  std::string text = program_of(facts);
  if (!facts.policy.empty()) text += " under " + facts.policy;
  text += facts.simulated ? ", simulated" : "";
  text += fmt::format(": {} on {} took {}.\n", counted(tasks_run(run), "task", "tasks"),
                      counted(analysis::worker_count(run), "worker", "workers"),
                      duration(time_of_run_proper(run, context.of.path)));
  text += bounds_text(context) + phases_text(run);
  if (!facts.command.empty()) text += facts.command + "\n";
  if (!run.complete) {
    text +=
        "The recording has no end: the run was killed, or there was no room for more. It goes no "
        "further than its last event.\n";
  }
  if (run.events_lost > 0) {
    text += fmt::format("{} for lack of memory (option trace_memory): what follows lacks them.\n",
                        counted(run.events_lost, "event was left out", "events were left out"));
  }
  std::string missing;
  for (const trace::CategoryEntry& category : trace::categories()) {
    if (category.category == trace::Category::application) continue;
    if ((run.recorded & trace::bit(category.category)) != 0) continue;
    missing += (missing.empty() ? "" : ", ") + std::string(category.name);
  }
  if (!missing.empty()) {
    text += fmt::format("Not recorded: {}. What hangs on it is not known (--trace-events all).\n",
                        missing);
  }
  return text;
}

// A line per cause that took time, the longest first.
template <typename Entries, typename Times>
std::string causes_text(const Entries& entries, const Times& times, std::int64_t whole) {
  std::vector<std::size_t> order;
  for (std::size_t c = 0; c < times.size(); ++c) {
    if (times[c] > 0) order.push_back(c);
  }
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return times[a] > times[b]; });
  std::string text;
  for (const std::size_t c : order) {
    text += fmt::format("  {:>9}  {:>7}  {}: {}\n", duration(times[c]), percent(times[c], whole),
                        entries[c].name, entries[c].sentence);
  }
  return text;
}

std::string idle_text(const Context& context) {
  const analysis::Idle& idle = context.of.idle;
  const auto workers = static_cast<std::int64_t>(idle.workers.size());
  const std::int64_t whole = idle.wall * workers;
  std::string text =
      fmt::format("\nThe workers, of {} x {}:\n  {:>9}  {:>7}  ran tasks\n", workers,
                  duration(idle.wall), duration(idle.all.run), percent(idle.all.run, whole));
  text += causes_text(analysis::idle_causes(), idle.all.by_cause, whole);
  if (idle.workers.size() > kMostWorkers || idle.workers.size() < 2) return text;
  text += "  each:";
  for (std::uint32_t w = 0; w < idle.workers.size(); ++w) {
    text += fmt::format("{} {} ran {}", w == 0 ? "" : ",", context.run.name_of_worker(w),
                        percent(idle.workers[w].run, idle.wall));
  }
  return text + "\n";
}

std::string traffic_text(const Context& context) {
  const RecordedRun& run = context.run;
  const analysis::Traffic& traffic = context.of.traffic;
  if (traffic.links.empty()) return "\nNothing was copied.\n";
  std::string text = "\nLinks:\n";
  for (const TrafficOfLink& link : traffic.links) {
    text += fmt::format("  {} to {}: {} in {}; it was busy for {}, {} of the run\n",
                        run.name_of_node(link.from), run.name_of_node(link.to), size(link.bytes),
                        counted(link.copies, "copy", "copies"), duration(link.busy),
                        percent(link.busy, run.length()));
  }
  text += "\nWhat travelled most:\n";
  for (std::size_t i = 0; i < std::min(traffic.data.size(), kMostData); ++i) {
    const TrafficOfDatum& datum = traffic.data[i];
    if (datum.copies == 0) break;
    text += fmt::format(
        "  {}: {} in {}, {} of them since it had been evicted; tasks waited {} for it{}\n",
        run.name_of_datum(datum.datum), size(datum.bytes), counted(datum.copies, "copy", "copies"),
        datum.reloads, duration(datum.cost), in_vain_text(context, datum.datum));
  }
  return text;
}

// "3 tasks waited as others saturated the memory (option contention), for 2 ms in all; the longest: load 4, 1 ms."
std::string contention_text(const Context& context) {
  const RecordedRun& run = context.run;
  std::uint64_t waits = 0;
  std::int64_t all = 0;
  std::int64_t longest = -1;
  std::uint32_t longest_task = kNobody;
  for (const auto& [time, decision] : run.decisions) {
    if (decision.reason != trace::Reason::memory_saturated || !decision.task) continue;
    const std::uint32_t task = run.task_of(*decision.task);
    if (task == kNobody || !run.tasks[task].ran()) continue;
    ++waits;
    const std::int64_t wait = run.tasks[task].started - time;
    all += wait;
    if (wait <= longest) continue;
    longest = wait;
    longest_task = task;
  }
  if (waits == 0) return "";
  return fmt::format(
      "\n{} waited as others saturated the memory (option contention), for {} in all; the longest: "
      "{}, {}. What computes ran meanwhile.\n",
      counted(waits, "task", "tasks"), duration(all), run.name_of(longest_task), duration(longest));
}

std::string advice_text(const Context& context) {
  const std::vector<Advice> all = analysis::advice(context.run, context.of);
  if (all.empty()) return "";
  std::string text =
      "\nWhat would have helped, and by how much at most (upper bounds, each for itself: they do "
      "not add "
      "up):\n";
  for (const Advice& advice : all) {
    text +=
        fmt::format("  {:>9}  {:>7}  {}: {}.\n", duration(advice.gain),
                    percent(advice.gain, context.of.path.length()), advice.change, advice.reason);
  }
  return text;
}

Json phases_json(const RecordedRun& run) {
  Json json = Json::array();
  for (const analysis::PhaseOfRun& phase : analysis::phases(run)) {
    json.push_back({{"name", phase.name}, {"from_ns", phase.time.from}, {"to_ns", phase.time.to}});
  }
  return json;
}

Json path_with_steps(const Context& context) {
  Json segments = Json::array();
  for (const analysis::PathSegment& segment : context.of.path.segments) {
    segments.push_back(
        {{"from_ns", segment.from},
         {"to_ns", segment.to},
         {"cause", analysis::path_causes()[static_cast<std::size_t>(segment.cause)].name},
         {"task", task_json(context.run, segment.task)},
         {"copy", segment.copy == kNobody ? Json(nullptr) : Json(segment.copy)}});
  }
  Json json = path_json(context.of);
  json["segments"] = std::move(segments);
  return json;
}

Json traffic_json(const Context& context) {
  const RecordedRun& run = context.run;
  Json data = Json::array();
  for (const TrafficOfDatum& datum : context.of.traffic.data) {
    Json of = datum_json(run, datum.datum);
    of["bytes_moved"] = datum.bytes;
    of["copies"] = datum.copies;
    of["reloads"] = datum.reloads;
    of["evictions"] = datum.evictions;
    of["cost_ns"] = datum.cost;
    data.push_back(std::move(of));
  }
  Json links = Json::array();
  for (const TrafficOfLink& link : context.of.traffic.links) {
    links.push_back({{"from", node_json(run, link.from)},
                     {"to", node_json(run, link.to)},
                     {"bytes", link.bytes},
                     {"copies", link.copies},
                     {"busy_ns", link.busy},
                     {"waited_ns", link.waited}});
  }
  return {{"data", data}, {"links", links}};
}

}  // namespace

std::string summary_text(const Context& context) {
  const analysis::Verdict verdict = analysis::verdict(context.run, context.of);
  std::string text = verdict.sentence + "\n";
  if (!verdict.remedy.empty()) text += verdict.remedy + "\n";
  text += "\n" + what_ran(context);
  const analysis::CriticalPath& path = context.of.path;
  text += fmt::format("\nThe critical path, of {}:\n", duration(path.length()));
  text += causes_text(analysis::path_causes(), path.by_cause, path.length());
  return text + idle_text(context) + contention_text(context) + traffic_text(context) +
         ranks_text(context.run) + advice_text(context);
}

Json summary_json(const Context& context) {
  Json results = Json::object();
  for (const auto& [name, value] : own_results(context.run, context.of)) results[name] = value;
  Json json = {{"results", std::move(results)},
               {"verdict", verdict_json(analysis::verdict(context.run, context.of))},
               {"critical_path", path_with_steps(context)},
               {"idle", idle_json(context.run, context.of.idle)},
               {"traffic", traffic_json(context)},
               {"advice", advice_json(context.run, context.of)}};
  if (!context.run.ranks.empty()) {
    json["ranks"] = ranks_json(context.run);
    json["messages"] = messages_json(context.run);
  }
  return json;
}

Json run_json(const Context& context) {
  const RecordedRun& run = context.run;
  const MachineDescription& machine = run.facts.machine;
  constexpr const char* kKinds[] = {"ram", "disk", "device"};
  Json nodes = Json::array();
  for (const NodeDescription& node : machine.nodes) {
    nodes.push_back({{"name", run.name_of_node(node.id.value)},
                     {"kind", kKinds[static_cast<std::size_t>(node.kind)]},
                     {"limit", node.limit ? Json(node.limit->value) : Json(nullptr)}});
  }
  Json workers = Json::array();
  for (const WorkerDescription& worker : machine.workers) {
    workers.push_back({{"name", run.name_of_worker(worker.id.value)},
                       {"kind", to_string(worker.kind)},
                       {"node", worker.node.value}});
  }
  Json links = Json::array();
  for (const LinkDescription& link : machine.links) {
    links.push_back({{"from", link.from.value},
                     {"to", link.to.value},
                     {"bytes_per_second", link.bandwidth.value},
                     {"latency_ns", link.latency.ns},
                     {"segments", link.segments}});
  }
  return {{"command", run.facts.command},
          {"application", run.facts.application},
          {"policy", run.facts.policy},
          {"version", run.facts.version},
          {"simulated", run.facts.simulated},
          {"complete", run.complete},
          {"events_lost", run.events_lost},
          {"begin_ns", run.begin},
          {"end_ns", run.end},
          {"phases", phases_json(run)},
          {"tasks", tasks_run(run)},
          {"nodes", nodes},
          {"workers", workers},
          {"links", links}};
}

}  // namespace vicinal::reports::explaining
