// The pieces of the head of a run: what ran, and tables by codelet, link and datum.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "reports/page/run_data.hpp"
#include "reports/page/tile_name.hpp"

namespace vicinal::reports {

namespace {

using analysis::CopyOfRun;
using analysis::DatumOfRun;
using analysis::kNobody;
using analysis::kUnknown;
using analysis::RoomChange;
using analysis::TaskOfRun;

constexpr std::size_t kMostDataShown = 2000;

Json pairs(const std::vector<std::pair<std::string, std::string>>& facts) {
  Json json = Json::array();
  for (const auto& [name, value] : facts) json.push_back({name, value});
  return json;
}

Json number_or_null(std::uint32_t number) {
  return number == kNobody ? Json() : Json(number);
}

// What became of a datum on its ways.
struct Travels {
  std::uint64_t loads = 0;  // copies to a node that is not its home
  std::uint64_t bytes_loaded = 0;
  std::uint64_t saves = 0;  // to its home
  std::uint64_t bytes_saved = 0;
  std::uint64_t evictions = 0;
  std::uint64_t saved_first = 0;
  std::vector<std::uint32_t> seen;  // nodes that it has come to
  std::uint64_t reloads = 0;        // loads to such a node

  std::uint64_t bytes() const { return bytes_loaded + bytes_saved; }
};

std::vector<Travels> travels_of(const analysis::RecordedRun& run) {
  std::vector<Travels> travels(run.data.size());
  for (const CopyOfRun& copy : run.copies) {
    if (copy.failed || copy.started == kUnknown || copy.datum >= travels.size()) continue;
    Travels& own = travels[copy.datum];
    if (copy.to == run.data[copy.datum].home) {
      ++own.saves;
      own.bytes_saved += copy.bytes;
      continue;
    }
    ++own.loads;
    own.bytes_loaded += copy.bytes;
    if (std::ranges::find(own.seen, copy.to) != own.seen.end()) {
      ++own.reloads;
    } else {
      own.seen.push_back(copy.to);
    }
  }
  for (const RoomChange& change : run.room) {
    if (change.kind != RoomChange::Kind::evicted || change.datum >= travels.size()) continue;
    ++travels[change.datum].evictions;
    travels[change.datum].saved_first += change.saved_first ? 1 : 0;
  }
  return travels;
}

}  // namespace

Json facts_json(const RunView& view) {
  const analysis::RunFacts& facts = view.run.facts;
  Json recorded = Json::array();
  for (const trace::CategoryEntry& category : trace::categories()) {
    if ((view.run.recorded & trace::bit(category.category)) != 0) recorded.push_back(category.name);
  }
  return {{"command", facts.command},      {"application", facts.application},
          {"version", facts.version},      {"policy", facts.policy},
          {"simulated", facts.simulated},  {"options", pairs(facts.options)},
          {"told", pairs(facts.told)},     {"recorded", std::move(recorded)},
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

Json codelets_json(const RunView& view) {
  struct Row {
    std::uint64_t tasks = 0;
    std::uint64_t failed = 0;
    std::int64_t time = 0;
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  std::vector<Row> rows(view.codelets.size());
  for (std::size_t t = 0; t < view.run.tasks.size(); ++t) {
    const TaskOfRun& task = view.run.tasks[t];
    if (view.begins[t] == kUnknown) continue;
    Row& row = rows[view.codelet_of_name[task.name]];
    const std::int64_t time = task.ended - view.begins[t];
    row.least = row.tasks == 0 ? time : std::min(row.least, time);
    row.most = std::max(row.most, time);
    row.time += time;
    ++row.tasks;
    row.failed += task.outcome != Outcome::done ? 1 : 0;
  }
  Json json = Json::array();
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

Json links_json(const RunView& view) {
  struct Row {
    std::uint64_t bytes = 0;
    std::uint64_t copies = 0;
    std::uint64_t early = 0;
    std::int64_t busy = 0;  // with at least one copy
    std::int64_t until = 0;
    std::int64_t waited = 0;  // of the copies, from wanted to started
  };
  std::vector<Row> rows(view.links.size());
  for (const CopyOfRun& copy : view.run.copies) {  // in the order of their start
    const std::uint32_t link = view.link_of(copy);
    if (link == kNobody || copy.ended == kUnknown) continue;
    Row& row = rows[link];
    row.bytes += copy.failed ? 0 : copy.bytes;
    ++row.copies;
    row.early += copy.urgent ? 0 : 1;
    row.busy += std::max<std::int64_t>(0, copy.ended - std::max(copy.started, row.until));
    row.until = std::max(row.until, copy.ended);
    if (copy.wanted != kUnknown) row.waited += copy.started - copy.wanted;
  }
  Json json = Json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const LinkLane& lane = view.links[i];
    double bandwidth = 0;
    for (const LinkDescription& link : view.run.facts.machine.links) {
      if (link.from.value == lane.from && link.to.value == lane.to)
        bandwidth = link.bandwidth.value;
    }
    json.push_back({{"from", lane.from},
                    {"to", lane.to},
                    {"bandwidth", bandwidth},
                    {"bytes", rows[i].bytes},
                    {"copies", rows[i].copies},
                    {"early", rows[i].early},
                    {"busy", rows[i].busy},
                    {"waited", rows[i].waited}});
  }
  return json;
}

Json data_json(const RunView& view) {
  const std::vector<Travels> travels = travels_of(view.run);
  Travels all;
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < travels.size(); ++i) {
    if (travels[i].bytes() > 0 || travels[i].evictions > 0) order.push_back(i);
    all.loads += travels[i].loads;
    all.bytes_loaded += travels[i].bytes_loaded;
    all.reloads += travels[i].reloads;
    all.saves += travels[i].saves;
    all.bytes_saved += travels[i].bytes_saved;
    all.evictions += travels[i].evictions;
    all.saved_first += travels[i].saved_first;
  }
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return travels[a].bytes() > travels[b].bytes();
  });
  const std::size_t moved = order.size();
  order.resize(std::min(order.size(), kMostDataShown));
  const auto row = [](const Travels& own) {
    return Json{own.loads,       own.reloads, own.bytes_loaded, own.evictions,
                own.saved_first, own.saves,   own.bytes_saved};
  };
  Json rows = Json::array();
  for (const std::uint32_t i : order) {
    rows.push_back({i, view.run.name_of_datum(i), view.run.data[i].bytes,
                    number_or_null(view.run.data[i].home), row(travels[i])});
  }
  return {{"moved", moved}, {"all", row(all)}, {"rows", std::move(rows)}};
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

}  // namespace vicinal::reports
