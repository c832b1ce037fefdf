#include "reproduction/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace vicinal::reproduction {

namespace {

using Table =
    std::vector<std::vector<std::string>>;  // rows of cells, the names of the columns first

// Four digits that count, without an exponent.
std::string number(double value) {
  if (value <= 0) return "-";
  if (value >= 1000) return fmt::format("{:.0f}", value);
  if (value >= 100) return fmt::format("{:.1f}", value);
  return fmt::format("{:.{}f}", value, value >= 10 ? 2 : 3);
}

Table table_of(const Figure& figure, const Plot& plot, const Panel& panel, const Results& results) {
  Table table{{std::string(panel.axis.label)}};
  std::vector<std::string_view> labels;
  for (const Series& series : figure.series) {
    if (results.of(panel.name, series.label).empty()) continue;
    labels.push_back(series.label);
    table.front().emplace_back(series.label);
  }
  for (const Limit& limit : plot.limits) table.front().emplace_back(limit.label);
  for (const double x : results.sizes(panel.name)) {
    const Row* any = nullptr;
    std::vector<std::string> cells{""};
    for (const std::string_view label : labels) {
      const Row* const row = results.at(panel.name, label, x);
      if (row != nullptr) any = row;
      cells.push_back(row == nullptr ? "" : number(plot.value(row->measures)));
    }
    if (any == nullptr) continue;
    cells.front() = number(panel.axis.value(*any));
    for (const Limit& limit : plot.limits) cells.push_back(number(limit.value(any->measures)));
    table.push_back(std::move(cells));
  }
  return table;
}

std::string plain(const Table& table) {
  std::string text;
  for (const std::vector<std::string>& cells : table) {
    for (std::size_t c = 0; c < cells.size(); ++c) {
      std::size_t width = 0;
      for (const auto& row : table) width = std::max(width, row[c].size());
      text += fmt::format("{:>{}}{}", cells[c], width, c + 1 < cells.size() ? "  " : "\n");
    }
  }
  return text;
}

std::string markdown(const Table& table) {
  std::string text;
  for (std::size_t r = 0; r < table.size(); ++r) {
    text += fmt::format("| {} |\n", fmt::join(table[r], " | "));
    if (r > 0) continue;
    text += "|";
    for (std::size_t c = 0; c < table[r].size(); ++c) text += "---:|";
    text += "\n";
  }
  return text;
}

}  // namespace

std::string_view to_string(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::holds:
      return "holds";
    case Verdict::Kind::sign:
      return "holds in sign";
    case Verdict::Kind::fails:
      return "does not hold";
    default:
      return "not measured";
  }
}

std::string table_text(const Figure& figure, const Results& results) {
  std::string text = fmt::format("{}: {}\n", figure.name, figure.sentence);
  for (const Plot& plot : figure.plots) {
    for (const Panel& panel : figure.panels) {
      if (!plot.shows(panel) || results.sizes(panel.name).empty()) continue;
      text += fmt::format("\n{}, {} ({})\n{}", panel.name, plot.name, plot.unit,
                          plain(table_of(figure, plot, panel, results)));
    }
  }
  text += "\n";
  for (const Statement& statement : figure.statements) {
    const Verdict verdict = statement.check(results);
    text += fmt::format("{}: {} ({})\n    {}\n    {}\n", to_string(verdict.kind),
                        statement.sentence, statement.where, statement.rule, verdict.measured);
  }
  return text;
}

std::string order_csv(const std::vector<std::string>& made_by, const Results& results) {
  std::string text;
  for (const std::string& line : made_by) text += fmt::format("# {}\n", line);
  text += "run,place,worker,step,row,column\n";
  for (const OrderedRun& run : results.orders()) {
    for (const OrderedTask& task : run.tasks) {
      text += fmt::format("{},{},{},{},{},{}\n", run.name, task.place, task.worker, task.step,
                          task.row, task.column);
    }
  }
  return text;
}

std::string section_text(const Section& section) {
  const Figure& figure = section.figure;
  std::string text = fmt::format("## {}: {}\n\n`{}`\n\n{}\n", figure.name, figure.sentence,
                                 section.command, figure.note);
  for (const std::string& sentence : section.skipped) text += fmt::format("{}\n", sentence);
  text += "\n| the paper | holds here if | measured | verdict |\n|---|---|---|---|\n";
  for (const Statement& statement : figure.statements) {
    const Verdict verdict = statement.check(section.results);
    text += fmt::format("| {} ({}) | {} | {} | **{}** |\n", statement.sentence, statement.where,
                        statement.rule, verdict.measured, to_string(verdict.kind));
  }
  if (!figure.causes.empty()) text += "\nCauses, as far as they were found:\n\n";
  for (const std::string_view cause : figure.causes) text += fmt::format("- {}\n", cause);
  for (const Plot& plot : figure.plots) {
    for (const Panel& panel : figure.panels) {
      if (!panel.drawn || !plot.shows(panel) || section.results.sizes(panel.name).empty()) continue;
      text += fmt::format("\n{}, {} in {}:\n\n{}", panel.name, plot.name, plot.unit,
                          markdown(table_of(figure, plot, panel, section.results)));
    }
  }
  return text;
}

}  // namespace vicinal::reproduction
