// The JSON form of a report: docs/report.md says what each field means, tests/unit/report_test.cpp
// holds the two together.
#include "reports/facts_json.hpp"
#include "reports/json.hpp"
#include "reports/report.hpp"

namespace vicinal::reports {

namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// A ratio to a bound of 0 says nothing.
Json ratio(double value, double bound) {
  return bound > 0 ? Json(value / bound) : Json(nullptr);
}

Json nodes_json(const std::vector<NodeRecord>& nodes) {
  Json json = Json::object();
  for (const NodeRecord& node : nodes) {
    json[node.name] = {{"limit", node.limit ? Json(node.limit->value) : Json(nullptr)},
                       {"peak", node.peak.value},
                       {"bytes_in", node.bytes_in.value},
                       {"bytes_out", node.bytes_out.value},
                       {"evictions", node.evictions},
                       {"write_backs", node.write_backs},
                       {"tasks", node.tasks}};
  }
  return json;
}

Json links_json(const std::vector<LinkRecord>& links) {
  Json json = Json::object();
  for (const LinkRecord& link : links) {
    json[link.name] = {{"bytes", link.bytes.value}, {"copies", link.copies}};
  }
  return json;
}

Json ranks_json(const std::vector<RankRecord>& ranks) {
  Json json = Json::array();
  for (const RankRecord& rank : ranks) {
    json.push_back({{"seconds", rank.seconds},
                    {"idle_seconds", rank.idle_seconds},
                    {"awaiting_seconds", rank.awaiting_seconds},
                    {"ended_seconds", rank.ended_seconds},
                    {"tasks", rank.tasks},
                    {"workers", rank.workers},
                    {"sent", rank.sent.value},
                    {"received", rank.received.value},
                    {"messages", rank.messages},
                    {"forwarded", rank.forwarded.value},
                    {"broadcasts", rank.broadcasts},
                    {"late_sends", rank.late_sends},
                    {"versions_to_several", rank.versions_to_several},
                    {"versions_in_time", rank.versions_in_time},
                    {"broadcasts_missed", rank.broadcasts_missed},
                    {"partial_results", rank.partial_results},
                    {"partial_results_passed_on", rank.partial_results_passed_on},
                    {"placed_on_arrival", rank.placed_on_arrival.value},
                    {"rank_latency", rank.rank_latency.seconds()},
                    {"rank_bandwidth", rank.rank_bandwidth},
                    {"peak", rank.peak.value},
                    {"bytes_in", rank.bytes_in.value},
                    {"bytes_out", rank.bytes_out.value}});
  }
  return json;
}

void add_bounds(Json& json, const RunRecord& run) {
  const RunBounds& bounds = run.bounds;
  const auto bytes = [](Bytes b) { return static_cast<double>(b.value); };
  json["bound_seconds"] = bounds.seconds();
  json["bound_bytes"] = bounds.bytes_in().value;
  json["bound_bytes_out"] = bounds.bytes_out().value;
  json["seconds_ratio"] = ratio(run.seconds, bounds.seconds());
  json["bytes_ratio"] = ratio(bytes(run.bytes_in), bytes(bounds.bytes_in()));
  json["formula_ratio"] = ratio(bytes(run.bytes_in), bytes(bounds.formula_in));
  json["bytes_out_ratio"] = ratio(bytes(run.bytes_out), bytes(bounds.bytes_out()));
  json["bounds"] = {{"work_seconds", bounds.work_seconds},
                    {"area_seconds", bounds.area_seconds},
                    {"path_seconds", bounds.path_seconds},
                    {"transfer_seconds", bounds.transfer_seconds},
                    {"compulsory_bytes", bounds.compulsory_in.value},
                    {"proved_bytes", bounds.proved_in.value},
                    {"formula_bytes", bounds.formula_in.value},
                    {"compulsory_bytes_out", bounds.compulsory_out.value}};
}

Json run_json(const RunRecord& run) {
  Json json = {{"policy", run.policy}};
  if (!run.error.empty()) {
    // Of a failed run nothing can be compared.
    json["error"] = run.error;
    json["verified"] = false;
    return json;
  }
  json["seconds"] = run.seconds;
  json["gflops"] = run.gflops();
  json["verified"] = or_null(run.verified);
  json["residual"] = run.verified ? Json(run.residual) : Json(nullptr);
  json["tolerance"] = run.verified ? Json(run.tolerance) : Json(nullptr);
  json["tasks"] = run.tasks;
  json["workers"] = run.workers;
  json["idle_seconds"] = run.idle_seconds;
  json["bytes_in"] = run.bytes_in.value;
  json["bytes_out"] = run.bytes_out.value;
  json["nodes"] = nodes_json(run.nodes);
  json["links"] = links_json(run.links);
  if (!run.ranks.empty()) json["ranks"] = ranks_json(run.ranks);
  add_bounds(json, run);
  if (run.simulation) {
    json["wall_seconds"] = run.simulation->wall_seconds;
    json["wall_scheduling_seconds"] = run.simulation->wall_scheduling_seconds;
    json["wall_tasks_per_second"] =
        ratio(static_cast<double>(run.tasks), run.simulation->wall_seconds);
  }
  return json;
}

}  // namespace

std::string report_json(const Report& report) {
  Json json = {{"format", "vicinal-report-1"}};
  if (!report.command.empty()) json["command"] = report.command;
  json["application"] = report.application;
  json["parameters"] = facts_json(report.parameters);
  json["machine"] = facts_json(report.machine);
  json["runs"] = Json::array();
  if (report.verdict) {
    json["verdict"] = {{"policy", report.verdict->policy},
                       {"sentence", report.verdict->sentence},
                       {"remedy", report.verdict->remedy},
                       {"binds", report.verdict->binds},
                       {"share", report.verdict->share}};
  }
  for (const RunRecord& run : report.runs) json["runs"].push_back(run_json(run));
  // Names of files may not be UTF-8: replaced rather than refused. ASCII alone: it may be shown on a terminal.
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace vicinal::reports
