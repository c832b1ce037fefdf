// A decision: as sentences with a line per candidate, and as JSON with all its scores.
#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/explain_context.hpp"

namespace vicinal::reports::explaining {

using analysis::RecordedRun;
using trace::Among;
using trace::Candidate;
using trace::Decision;
using trace::DecisionKind;
using trace::Score;
using trace::Unit;

namespace {

std::string task_name(const RecordedRun& run, TaskId id) {
  const std::uint32_t task = run.task_of(id);
  return task == kNobody ? "a task that is not in the recording" : run.name_of(task);
}

std::string datum_name(const RecordedRun& run, HandleId id) {
  const std::uint32_t datum = run.datum_of(id);
  return datum == kNobody ? fmt::format("handle {}", id.value) : run.name_of_datum(datum);
}

std::string candidate_name(const RecordedRun& run, Among among, std::uint64_t id) {
  switch (among) {
    case Among::tasks:
      return task_name(run, {id});
    case Among::handles:
      return datum_name(run, {id});
    case Among::nodes:
      return run.name_of_node(static_cast<std::uint32_t>(id));
    case Among::workers:
      return run.name_of_worker(static_cast<std::uint32_t>(id));
  }
  return "";
}

std::string readable(const Score& score) {
  const trace::MeasureEntry& measure = trace::entry(score.measure);
  switch (measure.unit) {
    case Unit::nanoseconds:
      return fmt::format("{} {}", measure.name, duration(score.value));
    case Unit::bytes:
      return fmt::format("{} {}", measure.name,
                         size(static_cast<std::uint64_t>(std::max<std::int64_t>(score.value, 0))));
    case Unit::number:
      break;
  }
  return fmt::format("{} {}", measure.name, score.value);
}

template <typename Scores>
std::string readable_all(const Scores& scores) {
  std::string text;
  for (const Score& score : scores) {
    if (!text.empty()) text += ", ";
    text += readable(score);
  }
  return text;
}

std::string asked_worker(const RecordedRun& run, const Decision& decision) {
  return decision.worker ? run.name_of_worker(decision.worker->value) : "a worker";
}
std::string asked_node(const RecordedRun& run, const Decision& decision) {
  return decision.node ? run.name_of_node(decision.node->value) : "a memory node";
}

std::int64_t asked(const Decision& decision, trace::Measure measure) {
  const auto score = std::ranges::find(decision.scores, measure, &Score::measure);
  return score == decision.scores.end() ? 0 : score->value;
}

// "gemm 12 waited: 8 memory-bound tasks saturated the memory already, beside 2 large transfers".
std::string saturation(const RecordedRun& run, const Decision& decision) {
  const auto tasks = static_cast<std::uint64_t>(asked(decision, trace::Measure::memory_bound));
  const auto beside = static_cast<std::uint64_t>(asked(decision, trace::Measure::transfers));
  return fmt::format(
      "{} waited: {} saturated the memory already{}",
      decision.task ? task_name(run, *decision.task) : "a task",
      counted(tasks, "memory-bound task", "memory-bound tasks"),
      beside == 0 ? "" : ", beside " + counted(beside, "large transfer", "large transfers"));
}

// What was chosen. `winner`: its name, or nothing.
std::string outcome(const RecordedRun& run, const Decision& decision, const std::string& winner) {
  const bool none = !decision.winner;
  const std::string task = decision.task ? task_name(run, *decision.task) : "a task";
  const std::string handle = decision.handle ? datum_name(run, *decision.handle) : "a datum";
  const std::string worker = asked_worker(run, decision);
  const std::string node = asked_node(run, decision);
  switch (trace::entry(decision.reason).kind) {
    case DecisionKind::placement:
      return none ? fmt::format("{} was ready and was given to nobody yet", task)
                  : fmt::format("{} was ready and was placed on {}", task, winner);
    case DecisionKind::order:
      return fmt::format("{} was given {}", worker, winner);
    case DecisionKind::start:
      if (none) return saturation(run, decision);
      return fmt::format("{} could begin with {}", worker, winner);
    case DecisionKind::theft:
      return fmt::format("{} had nothing and took {} from {}", worker, task, winner);
    case DecisionKind::move:
      return none ? fmt::format("{} had nothing, and no task of another node went there", worker)
                  : fmt::format("{} had nothing, and {} went there from another node", worker,
                                winner);
    case DecisionKind::plan:
      return decision.among == Among::handles ? fmt::format("{} planned to load {}", node, winner)
                                              : fmt::format("{} planned to run {}", node, winner);
    case DecisionKind::victim: {
      const std::string room = decision.bytes ? size(decision.bytes->value) + " of room" : "room";
      return none ? fmt::format("{} needed {} for a prefetch, and nothing left", node, room)
                  : fmt::format("{} needed {}, and {} had to leave", node, room, winner);
    }
    case DecisionKind::prefetch:
      return none ? fmt::format("{} was not prefetched to {}", handle, node)
                  : fmt::format("{} was prefetched to {}, from {}", handle, node, winner);
    case DecisionKind::write_behind:
      return fmt::format("{} was copied away from {} before its room is needed", winner, node);
  }
  return "";
}

// "missing bytes": "missing_bytes"; "free at": "free_at_ns".
std::string key(trace::Measure measure) {
  const trace::MeasureEntry& entry = trace::entry(measure);
  std::string text(entry.name);
  std::ranges::replace(text, ' ', '_');
  std::ranges::replace(text, '-', '_');
  if (entry.unit == Unit::nanoseconds) text += "_ns";
  return text;
}

template <typename Scores>
Json scores_json(const Scores& scores) {
  Json json = Json::object();
  for (const Score& score : scores) json[key(score.measure)] = score.value;
  return json;
}

Json candidate_json(const RecordedRun& run, Among among, std::uint64_t id) {
  switch (among) {
    case Among::tasks:
      return task_json(run, run.task_of({id}));
    case Among::handles:
      return datum_json(run, run.datum_of({id}));
    case Among::nodes:
      return node_json(run, static_cast<std::uint32_t>(id));
    case Among::workers:
      return worker_json(run, static_cast<std::uint32_t>(id));
  }
  return nullptr;
}

}  // namespace

std::string decision_text(const Context& context, std::uint32_t index) {
  const RecordedRun& run = context.run;
  const Decision& decision = run.decisions[index].decision;
  const trace::ReasonEntry& rule = trace::entry(decision.reason);
  const auto name = [&](const Candidate& c) { return candidate_name(run, decision.among, c.id); };
  std::string text = fmt::format(
      "At {} {}.\n  The rule \"{}\": {}.", context.moment(run.decisions[index].time),
      outcome(run, decision, decision.winner ? name(decision.candidates[*decision.winner]) : ""),
      rule.name, rule.sentence);
  const bool tells = trace::entry(decision.reason).kind != DecisionKind::placement;
  if (tells && decision.handle && rule.kind != DecisionKind::prefetch) {
    text += fmt::format(" It was about {}.", datum_name(run, *decision.handle));
  }
  if (!decision.scores.empty())
    text += fmt::format(" Asked with: {}.", readable_all(decision.scores));
  if (decision.reason == trace::Reason::memory_saturated) return text + "\n";
  text +=
      fmt::format(" {}:\n", decision.candidates.size() == 1 ? "The one candidate" : "Candidates");
  std::size_t width = 0;
  for (const Candidate& c : decision.candidates) width = std::max(width, name(c).size());
  for (std::size_t i = 0; i < decision.candidates.size(); ++i) {
    const Candidate& c = decision.candidates[i];
    const std::string line = fmt::format("  {} {:<{}}  {}", decision.winner == i ? "->" : "  ",
                                         name(c), width, readable_all(c.scores));
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

Json decision_json(const Context& context, std::uint32_t index) {
  const RecordedRun& run = context.run;
  const Decision& decision = run.decisions[index].decision;
  const trace::ReasonEntry& rule = trace::entry(decision.reason);
  constexpr const char* kAmong[] = {"tasks", "handles", "nodes", "workers"};
  Json json = {{"decision", index},
               {"time_ns", run.decisions[index].time},
               {"kind", trace::entry(rule.kind).name},
               {"rule", rule.name},
               {"sentence", rule.sentence},
               {"among", kAmong[static_cast<std::size_t>(decision.among)]}};
  if (decision.task) json["task"] = task_json(run, run.task_of(*decision.task));
  if (decision.handle) json["handle"] = datum_json(run, run.datum_of(*decision.handle));
  if (decision.node) json["node"] = node_json(run, decision.node->value);
  if (decision.worker) json["worker"] = worker_json(run, decision.worker->value);
  if (decision.bytes) json["bytes"] = decision.bytes->value;
  json["asked"] = scores_json(decision.scores);
  json["candidates"] = Json::array();
  for (const Candidate& c : decision.candidates) {
    Json candidate = candidate_json(run, decision.among, c.id);
    if (candidate.is_null()) candidate = {{"id", c.id}};
    candidate["scores"] = scores_json(c.scores);
    json["candidates"].push_back(std::move(candidate));
  }
  json["winner"] = decision.winner ? Json(*decision.winner) : Json(nullptr);
  return json;
}

}  // namespace vicinal::reports::explaining
