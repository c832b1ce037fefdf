// How busy each row of the Gantt chart is, in equal parts of the run: what the page draws before it has read every task.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "reports/page/run_data.hpp"

namespace vicinal::reports {

namespace {

using analysis::CopyOfRun;
using analysis::kNobody;
using analysis::kUnknown;
using analysis::TaskOfRun;

// Of a row: how much of each part was spent on each kind of work, in parts of one part.
class Row {
 public:
  // `most`: of what a part has room for at least.
  Row(std::size_t kinds, double bin, double most = 1) : bin_(bin), most_(most), shares_(kinds) {}

  void add(std::size_t kind, double from, double to) {
    std::vector<double>& shares = shares_[std::min(kind, shares_.size() - 1)];
    if (shares.empty()) shares.resize(kOverviewBins, 0);
    auto first = static_cast<std::size_t>(from / bin_);
    for (; first < kOverviewBins && static_cast<double>(first) * bin_ < to; ++first) {
      const double begin = static_cast<double>(first) * bin_;
      shares[first] += std::max(0.0, std::min(to, begin + bin_) - std::max(from, begin)) / bin_;
    }
  }

  // A column of bytes for each kind of work that there is: 255 is all of a part, also of links that carry several
  // copies at once.
  void write(Columns& table, std::string_view row) const {
    double most = most_;
    for (std::size_t i = 0; i < kOverviewBins; ++i) most = std::max(most, all_of(i));
    for (std::size_t kind = 0; kind < shares_.size(); ++kind) {
      if (shares_[kind].empty()) continue;
      std::string bytes(kOverviewBins, '\0');
      for (std::size_t i = 0; i < kOverviewBins; ++i) {
        bytes[i] = static_cast<char>(std::lround(255 * shares_[kind][i] / most));
      }
      table.bytes(fmt::format("{}.{}", row, kind), bytes);
    }
  }

 private:
  double all_of(std::size_t bin) const {
    double sum = 0;
    for (const std::vector<double>& shares : shares_) sum += shares.empty() ? 0 : shares[bin];
    return sum;
  }

  double bin_;
  double most_;
  std::vector<std::vector<double>> shares_;
};

}  // namespace

namespace {

// Of ranks whose workers share a row.
void write_ranks(const RunView& view, double bin, Columns& table) {
  std::vector<Row> rows;
  std::vector<std::uint32_t> row_of_worker(view.run.facts.machine.workers.size(), kNobody);
  for (const RankRow& row : view.rank_rows) {
    const auto number = static_cast<std::uint32_t>(rows.size());
    rows.emplace_back(kOverviewKinds, bin, std::max(1.0, static_cast<double>(row.workers)));
    std::fill_n(row_of_worker.begin() + row.first_worker, row.workers, number);
  }
  for (std::size_t t = 0; t < view.run.tasks.size(); ++t) {
    const TaskOfRun& task = view.run.tasks[t];
    if (view.begins[t] == kUnknown || row_of_worker[task.worker] == kNobody) continue;
    rows[row_of_worker[task.worker]].add(view.codelet_of_name[task.name],
                                         static_cast<double>(view.begins[t]),
                                         static_cast<double>(task.ended));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].write(table, fmt::format("r{}", i));
}

}  // namespace

Section overview_section(const RunView& view) {
  const double bin = static_cast<double>(view.end * view.unit) / kOverviewBins;
  if (!view.rank_rows.empty()) {
    Columns table("overview");
    write_ranks(view, bin, table);
    return table.section();
  }
  std::vector<Row> workers(view.run.facts.machine.workers.size(), Row(kOverviewKinds, bin));
  for (std::size_t t = 0; t < view.run.tasks.size(); ++t) {
    const TaskOfRun& task = view.run.tasks[t];
    if (view.begins[t] == kUnknown) continue;
    workers[task.worker].add(view.codelet_of_name[task.name], static_cast<double>(view.begins[t]),
                             static_cast<double>(task.ended));
  }
  constexpr std::size_t kCauses = 7;  // analysis::Cause
  std::vector<Row> links(view.links.size(), Row(kCauses, bin));
  for (const CopyOfRun& copy : view.run.copies) {
    const std::uint32_t link = view.link_of(copy);
    if (link == kNobody || copy.ended == kUnknown) continue;
    links[link].add(static_cast<std::size_t>(copy.cause), static_cast<double>(copy.started),
                    static_cast<double>(copy.ended));
  }
  Columns table("overview");
  for (std::size_t i = 0; i < workers.size(); ++i) workers[i].write(table, fmt::format("w{}", i));
  for (std::size_t i = 0; i < links.size(); ++i) links[i].write(table, fmt::format("l{}", i));
  return table.section();
}

}  // namespace vicinal::reports
