// The long form of a report: a row per measure, a column per run.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "reports/aligned.hpp"
#include "reports/report.hpp"

namespace vicinal::reports {

namespace {

constexpr std::size_t kColumnsPerBlock = 5;  // then the table goes on below

struct TableRow {
  std::string label;
  std::function<std::string(const RunRecord&)> cell;
};

constexpr std::string_view kNothing = "-";  // a row of nothing else is left out

std::string ratio_in_brackets(double value, double bound) {
  return bound > 0 ? fmt::format(" ({:.2f}x)", value / bound) : "";
}

std::string bytes_bound(Bytes bound, Bytes actual) {
  if (bound.value == 0) return "0";
  return base::format_bytes(bound) +
         ratio_in_brackets(static_cast<double>(actual.value), static_cast<double>(bound.value));
}

std::string seconds_text(double seconds) {
  return seconds > 0 ? base::format_duration(Time::from_seconds(seconds)) : std::string(kNothing);
}

std::string check_text(const RunRecord& run) {
  if (!run.verified) return std::string(kNothing);
  return *run.verified ? "passed" : "FAILED";
}

std::string residual_text(const RunRecord& run) {
  if (!run.verified) return std::string(kNothing);
  return fmt::format("{:.1e} {} {:.1e}", run.residual,
                     *run.verified ? "<=" : "not <=", run.tolerance);
}

std::string gflops_text(const RunRecord& run) {
  return run.flops > 0 ? fmt::format("{:.2f}", run.gflops()) : std::string(kNothing);
}

std::string idle_text(const RunRecord& run) {
  if (run.seconds <= 0 || run.workers == 0) return std::string(kNothing);
  return fmt::format("{:.1f} %", 100 * run.idle_seconds / (run.seconds * run.workers));
}

// Runs of one report have the same machine; a failed one has no nodes at all.
const RunRecord* model_run(const Report& report) {
  const auto found = std::find_if(report.runs.begin(), report.runs.end(),
                                  [](const RunRecord& run) { return run.error.empty(); });
  return found == report.runs.end() ? nullptr : &*found;
}

using NodeCell = std::string (*)(const NodeRecord&);

void add_node_rows(std::vector<TableRow>& rows, const RunRecord& model) {
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const NodeRecord& node = model.nodes[n];
    const auto add = [&](const std::string& label, NodeCell cell) {
      rows.push_back({node.name + " " + label,
                      [n, cell](const RunRecord& run) { return cell(run.nodes[n]); }});
    };
    if (node.kind == NodeKind::device) {
      add("tasks", [](const NodeRecord& r) { return fmt::format("{}", r.tasks); });
    }
    add(node.limit ? "peak, of " + base::format_bytes(*node.limit) : "peak",
        [](const NodeRecord& r) { return base::format_bytes(r.peak); });
    if (!node.limit || node.kind == NodeKind::disk) continue;  // nothing is evicted
    add("evictions", [](const NodeRecord& r) { return fmt::format("{}", r.evictions); });
    add("written back", [](const NodeRecord& r) { return fmt::format("{}", r.write_backs); });
  }
}

void add_link_rows(std::vector<TableRow>& rows, const RunRecord& model) {
  for (std::size_t l = 0; l < model.links.size(); ++l) {
    rows.push_back({model.links[l].name, [l](const RunRecord& run) {
                      const LinkRecord& link = run.links[l];
                      if (link.copies == 0) return std::string(kNothing);
                      return fmt::format("{} in {}", base::format_bytes(link.bytes), link.copies);
                    }});
  }
}

void add_bound_rows(std::vector<TableRow>& rows) {
  const auto add = [&](const char* label, std::function<std::string(const RunRecord&)> cell) {
    rows.push_back({label, std::move(cell)});
  };
  const auto seconds = [&](const char* label, double RunBounds::*value) {
    add(label, [value](const RunRecord& r) { return seconds_text(r.bounds.*value); });
  };
  const auto bytes = [&](const char* label, Bytes RunBounds::*value) {
    add(label, [value](const RunRecord& r) { return base::format_bytes(r.bounds.*value); });
  };
  add("loaded, in all", [](const RunRecord& r) { return base::format_bytes(r.bytes_in); });
  add("written back, in all", [](const RunRecord& r) { return base::format_bytes(r.bytes_out); });
  add("bound: time", [](const RunRecord& r) {
    const double bound = r.bounds.seconds();
    return seconds_text(bound) + ratio_in_brackets(r.seconds, bound);
  });
  seconds("  work", &RunBounds::work_seconds);
  seconds("  work by kind", &RunBounds::area_seconds);
  seconds("  longest path", &RunBounds::path_seconds);
  seconds("  transfers", &RunBounds::transfer_seconds);
  add("bound: loaded",
      [](const RunRecord& r) { return bytes_bound(r.bounds.bytes_in(), r.bytes_in); });
  bytes("  compulsory", &RunBounds::compulsory_in);
  bytes("  by this algorithm", &RunBounds::proved_in);
  add("  leading term",
      [](const RunRecord& r) { return bytes_bound(r.bounds.formula_in, r.bytes_in); });
  add("bound: written back",
      [](const RunRecord& r) { return bytes_bound(r.bounds.bytes_out(), r.bytes_out); });
}

void add_simulation_rows(std::vector<TableRow>& rows) {
  rows.push_back({"simulated in", [](const RunRecord& r) {
                    return r.simulation ? seconds_text(r.simulation->wall_seconds) : "-";
                  }});
  rows.push_back({"  of it scheduling", [](const RunRecord& r) {
                    return r.simulation ? seconds_text(r.simulation->wall_scheduling_seconds) : "-";
                  }});
  rows.push_back({"  tasks per second", [](const RunRecord& r) {
                    const double seconds = r.simulation ? r.simulation->wall_seconds : 0;
                    if (seconds <= 0) return std::string("-");
                    return fmt::format("{:.0f}", static_cast<double>(r.tasks) / seconds);
                  }});
}

std::vector<TableRow> table_rows(const RunRecord& model) {
  std::vector<TableRow> rows{
      {"time", [](const RunRecord& r) { return seconds_text(r.seconds); }},
      {"GFlop/s", gflops_text},
      {"check", check_text},
      {"  residual", residual_text},
      {"tasks", [](const RunRecord& r) { return fmt::format("{}", r.tasks); }},
      {"idle", idle_text},
  };
  add_node_rows(rows, model);
  add_link_rows(rows, model);
  add_bound_rows(rows);
  if (model.simulation) add_simulation_rows(rows);
  return rows;
}

// Without those that say nothing of any run.
std::vector<TableRow> rows_of(const Report& report) {
  const RunRecord* const model = model_run(report);
  if (model == nullptr) return {};
  std::vector<TableRow> rows = table_rows(*model);
  std::erase_if(rows, [&](const TableRow& row) {
    return std::ranges::all_of(report.runs, [&](const RunRecord& run) {
      return !run.error.empty() || row.cell(run) == kNothing;
    });
  });
  return rows;
}

std::string block_text(const std::vector<TableRow>& rows,
                       const std::vector<const RunRecord*>& runs) {
  std::vector<Cells> table{{"policy"}};
  for (const TableRow& row : rows) table.push_back({row.label});
  for (const RunRecord* run : runs) {
    table[0].push_back(run->policy);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      table[r + 1].push_back(run->error.empty() ? rows[r].cell(*run) : "failed");
    }
  }
  return aligned(table, 1);
}

}  // namespace

std::string report_table(const Report& report) {
  std::string text;
  const std::vector<TableRow> rows = rows_of(report);
  for (std::size_t first = 0; !rows.empty() && first < report.runs.size();
       first += kColumnsPerBlock) {
    std::vector<const RunRecord*> runs;
    const std::size_t end = std::min(first + kColumnsPerBlock, report.runs.size());
    for (std::size_t r = first; r < end; ++r) runs.push_back(&report.runs[r]);
    text += "\n" + block_text(rows, runs);
  }
  for (const RunRecord& run : report.runs) {
    if (!run.error.empty()) text += fmt::format("\n{} failed: {}\n", run.policy, run.error);
  }
  return text;
}

}  // namespace vicinal::reports
