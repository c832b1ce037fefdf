// The pieces of the head of a run: what ran, and tables by codelet, link and datum.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/steps.hpp"
#include "reports/page/run_data.hpp"
#include "reports/page/tile_name.hpp"
#include "reports/rank_lines.hpp"

namespace vicinal::reports {

namespace {

using analysis::kUnknown;
using analysis::TaskOfRun;

constexpr std::size_t kMostDataShown = 2000;
constexpr std::size_t kMostMarksShown = 1000;

Json pairs(const std::vector<std::pair<std::string, std::string>>& facts) {
  Json json = Json::array();
  for (const auto& [name, value] : facts) json.push_back({name, value});
  return json;
}

}  // namespace

Json facts_json(const RunView& view, const PageRun& run) {
  const analysis::RunFacts& facts = view.run.facts;
  std::vector<std::pair<std::string, std::string>> told = facts.told;
  told.insert(told.end(), run.results.begin(), run.results.end());
  for (auto& line : rank_lines(view.run)) told.push_back(std::move(line));
  Json recorded = Json::array();
  for (const trace::CategoryEntry& category : trace::categories()) {
    if ((view.run.recorded & trace::bit(category.category)) != 0) recorded.push_back(category.name);
  }
  return {{"command", facts.command},      {"application", facts.application},
          {"version", facts.version},      {"policy", facts.policy},
          {"simulated", facts.simulated},  {"options", pairs(facts.options)},
          {"told", pairs(told)},           {"recorded", std::move(recorded)},
          {"complete", view.run.complete}, {"events_lost", view.run.events_lost}};
}

Json machine_json(const RunView& view) {
  const MachineDescription& machine = view.run.facts.machine;
  Json nodes = Json::array();
  for (std::uint32_t n = 0; n < machine.nodes.size(); ++n) {
    const NodeDescription& node = machine.nodes[n];
    nodes.push_back({{"name", view.run.name_of_node(n)},
                     {"kind", static_cast<unsigned>(node.kind)},
                     {"device", node.device},
                     {"limit", node.limit ? Json(node.limit->value) : Json()}});
  }
  Json workers = Json::array();
  for (std::uint32_t w = 0; w < machine.workers.size(); ++w) {
    workers.push_back({{"name", view.run.name_of_worker(w)},
                       {"kind", to_string(machine.workers[w].kind)},
                       {"node", machine.workers[w].node.value}});
  }
  return {{"nodes", std::move(nodes)}, {"workers", std::move(workers)}};
}

Json rank_rows_json(const RunView& view) {
  Json names = Json::array();
  for (const RankRow& row : view.rank_rows) {
    names.push_back(row.ranks == 1 ? fmt::format("rank {}", row.first_rank)
                                   : fmt::format("ranks {} to {}", row.first_rank,
                                                 row.first_rank + row.ranks - 1));
  }
  return names;
}

Json codelets_json(const RunView& view, const analysis::RecordedRun& run) {
  struct Row {
    std::uint64_t tasks = 0;
    std::uint64_t failed = 0;
    std::int64_t time = 0;
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  std::vector<Row> rows(view.codelets.size());
  const std::vector<std::int64_t> begins =
      analysis::begins_of_runs(run, analysis::runs_of_workers(run));
  for (std::size_t t = 0; t < run.tasks.size(); ++t) {
    const TaskOfRun& task = run.tasks[t];
    if (begins[t] == kUnknown) continue;
    Row& row = rows[view.codelet_of_name[task.name]];
    const std::int64_t time = task.ended - begins[t];
    row.least = row.tasks == 0 ? time : std::min(row.least, time);
    row.most = std::max(row.most, time);
    row.time += time;
    ++row.tasks;
    row.failed += task.outcome != Outcome::done ? 1 : 0;
  }
  Json json = Json::array();
  // By their colours: also those that ran in another phase alone.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    json.push_back({{"name", view.run.names[view.codelets[i]]},
                    {"tasks", rows[i].tasks},
                    {"failed", rows[i].failed},
                    {"time", rows[i].time},
                    {"least", rows[i].least},
                    {"most", rows[i].most}});
  }
  return json;
}

Json links_json(const RunView& view, const analysis::Traffic& traffic) {
  Json json = Json::array();
  for (const LinkLane& lane : view.links) {
    double bandwidth = 0;
    for (const LinkDescription& link : view.run.facts.machine.links) {
      if (link.from.value == lane.from && link.to.value == lane.to) {
        bandwidth = link.bandwidth.value;
      }
    }
    const auto own = std::ranges::find_if(traffic.links, [&](const analysis::TrafficOfLink& link) {
      return link.from == lane.from && link.to == lane.to;
    });
    const analysis::TrafficOfLink none;
    const analysis::TrafficOfLink& link = own == traffic.links.end() ? none : *own;
    json.push_back({{"from", lane.from},
                    {"to", lane.to},
                    {"bandwidth", bandwidth},
                    {"bytes", link.bytes},
                    {"copies", link.copies},
                    {"busy", link.busy},
                    {"waited", link.waited}});
  }
  return json;
}

// Rows are arrays: the datum, its name and size; bytes and copies, reloads, evictions, for how long tasks waited.
Json data_json(const RunView& view, const analysis::Traffic& traffic) {
  const auto row = [](const analysis::TrafficOfDatum& datum) {
    return Json{datum.bytes, datum.copies, datum.reloads, datum.evictions, datum.cost};
  };
  analysis::TrafficOfDatum all;
  Json rows = Json::array();
  for (const analysis::TrafficOfDatum& datum : traffic.data) {
    all.bytes += datum.bytes;
    all.copies += datum.copies;
    all.reloads += datum.reloads;
    all.evictions += datum.evictions;
    all.cost += datum.cost;
    if (rows.size() >= kMostDataShown || datum.datum >= view.run.data.size()) continue;
    rows.push_back({datum.datum, view.run.name_of_datum(datum.datum),
                    view.run.data[datum.datum].bytes, row(datum)});
  }
  return {{"moved", traffic.data.size()}, {"all", row(all)}, {"rows", std::move(rows)}};
}

Json matrices_json(const RunView& view) {
  const TileNames names(view.run);
  Json json = Json::array();
  for (const TileNames::Matrix& matrix : names.matrices()) {
    json.push_back({{"name", matrix.name},
                    {"rows", matrix.rows},
                    {"columns", matrix.columns},
                    {"tiles", matrix.tiles}});
  }
  return json;
}

Json phases_json(const RunView& view) {
  Json json = Json::array();
  for (const analysis::PhaseOfRun& phase : analysis::phases(view.run)) {
    json.push_back({phase.name, view.ticks(phase.time.from), view.ticks(phase.time.to)});
  }
  return json;
}

// Text and beginning of each, and the end of a region; -1: it has none, or is a mark.
Json marks_json(const RunView& view) {
  Json json = Json::array();
  for (const analysis::MarkOfRun& mark : view.run.marks) {
    if (json.size() >= kMostMarksShown) break;
    const std::int64_t end = view.ticks(mark.to);
    json.push_back({mark.text, view.ticks(mark.from), mark.is_region && end < 0 ? view.end : end});
  }
  return json;
}

}  // namespace vicinal::reports
