#include <algorithm>

#include "analysis/steps.hpp"
#include "reports/page/run_data.hpp"

namespace vicinal::reports {

namespace {

using analysis::CopyOfRun;
using analysis::kNobody;
using analysis::kUnknown;
using analysis::RecordedRun;
using analysis::TaskOfRun;

std::int64_t last_moment(const RecordedRun& run) {
  std::int64_t last = run.end;
  for (const TaskOfRun& task : run.tasks) last = std::max({last, task.ended, task.started});
  for (const CopyOfRun& copy : run.copies) last = std::max({last, copy.ended, copy.started});
  return last;
}

// Nanoseconds; 0: none ran.
std::int64_t mean_task(const RecordedRun& run) {
  std::int64_t busy = 0;
  std::int64_t tasks = 0;
  for (const TaskOfRun& task : run.tasks) {
    if (!task.ran()) continue;
    busy += task.ended - task.started;
    ++tasks;
  }
  return tasks > 0 ? busy / tasks : 0;
}

// A power of ten: no coarser than a thousandth of the mean task, but such that moments have 31 bits. Of few tasks
// the times are kept as fine as that allows.
std::int64_t unit_of(const RecordedRun& run, std::int64_t last, std::int64_t mean) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 2;
  constexpr std::size_t kManyTasks = 100'000;
  std::int64_t unit = 1;
  while (last / unit >= kMost) unit *= 10;
  if (run.tasks.size() >= kManyTasks) {
    while (mean / (unit * 10) >= 1000) unit *= 10;
  }
  return unit;
}

std::vector<std::uint32_t> codelets_by_time(const RecordedRun& run,
                                            std::vector<std::uint32_t>& place) {
  std::vector<std::int64_t> time(run.names.size(), -1);
  for (const TaskOfRun& task : run.tasks) {
    if (!task.ran() || task.name >= time.size()) continue;
    time[task.name] = std::max<std::int64_t>(time[task.name], 0) + (task.ended - task.started);
  }
  std::vector<std::uint32_t> codelets;
  for (std::uint32_t name = 0; name < time.size(); ++name) {
    if (time[name] >= 0) codelets.push_back(name);
  }
  std::ranges::stable_sort(codelets,
                           [&](std::uint32_t a, std::uint32_t b) { return time[a] > time[b]; });
  place.assign(run.names.size(), kNobody);
  for (std::uint32_t i = 0; i < codelets.size(); ++i) place[codelets[i]] = i;
  return codelets;
}

std::vector<RankRow> rows_of_ranks(const RecordedRun& run) {
  std::vector<RankRow> rows;
  if (run.ranks.size() < 2 || run.facts.machine.workers.size() <= kMostRows) return rows;
  const std::size_t in_row = (run.ranks.size() + kMostRows - 1) / kMostRows;
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
    const trace::RankOfSource& of = run.ranks[rank];
    if (rank % in_row == 0)
      rows.push_back(
          {.first_rank = static_cast<std::uint32_t>(rank), .first_worker = of.first_worker});
    ++rows.back().ranks;
    rows.back().workers += of.workers;
  }
  return rows;
}

}  // namespace

RunView::RunView(const RecordedRun& recorded, std::int64_t coarser) : run(recorded) {
  const std::int64_t last = last_moment(run);
  const std::int64_t mean = mean_task(run);
  unit = unit_of(run, last, mean) * coarser;
  may_be_coarser = mean / (unit * 10) >= 20;
  end = last / unit + 1;
  codelets = codelets_by_time(run, codelet_of_name);
  begins = analysis::begins_of_runs(run, analysis::runs_of_workers(run));
  rank_rows = rows_of_ranks(run);
  for (const CopyOfRun& copy : run.copies) {
    if (copy.started != kUnknown) link_of_.try_emplace({copy.from, copy.to}, 0);
  }
  for (auto& [ends, lane] : link_of_) {
    lane = static_cast<std::uint32_t>(links.size());
    links.push_back({ends.first, ends.second});
  }
}

std::uint32_t RunView::link_of(const CopyOfRun& copy) const {
  if (copy.started == kUnknown) return kNobody;
  return link_of_.at({copy.from, copy.to});
}

}  // namespace vicinal::reports
