// The table of a sweep.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "base/text.hpp"
#include "reports/aligned.hpp"
#include "reports/facts_text.hpp"
#include "reports/sweep.hpp"
#include "reports/sweep_groups.hpp"

namespace vicinal::reports {

namespace {

std::string short_time(double seconds) {
  return base::format_duration(Time::from_seconds(seconds));
}

std::string short_bytes(double bytes) {
  return base::format_bytes({static_cast<std::uint64_t>(bytes)});
}

std::string times_bound(double value, double bound) {
  return bound > 0 ? fmt::format("{:.2f}x", value / bound) : "";
}

bool has_seeds(const std::vector<SweepGroup>& groups) {
  return std::ranges::any_of(groups, [](const SweepGroup& group) { return group.asked > 1; });
}

Cells heading(const Sweep& sweep, bool seeds) {
  Cells cells;
  for (const SweepAxis& axis : sweep.axes) cells.push_back(axis.name);
  cells.insert(cells.end(), {"policy", "time", "bound"});
  if (seeds) cells.insert(cells.end(), {"25 %", "75 %"});
  cells.insert(cells.end(), {"loaded", "bound"});
  return cells;
}

// `axes`: their cells, empty where the row above has the same.
Cells row_of(const SweepGroup& group, Cells axes, bool seeds) {
  Cells cells = std::move(axes);
  cells.push_back(group.policy);
  if (group.measures.empty()) {
    cells.emplace_back("-");
    return cells;
  }
  const Quartiles seconds = group.of(&SweepMeasures::seconds);
  const double bytes = group.of(&SweepMeasures::bytes_in).median;
  cells.push_back(short_time(seconds.median));
  cells.push_back(times_bound(seconds.median, group.of(&SweepMeasures::bound_seconds).median));
  if (seeds) {
    cells.push_back(short_time(seconds.low));
    cells.push_back(short_time(seconds.high));
  }
  cells.push_back(short_bytes(bytes));
  cells.push_back(times_bound(bytes, group.of(&SweepMeasures::bound_bytes).median));
  if (group.measures.size() < group.asked) {
    cells.push_back(fmt::format("{} of {} runs", group.measures.size(), group.asked));
  }
  return cells;
}

// The fastest policy first, of each value of the axes; those of which no run has ended last.
void rank(std::vector<SweepGroup>& groups) {
  for (auto first = groups.begin(); first != groups.end();) {
    const auto last = std::find_if(first, groups.end(),
                                   [&](const SweepGroup& group) { return group.at != first->at; });
    std::stable_sort(first, last, [](const SweepGroup& a, const SweepGroup& b) {
      if (a.measures.empty() || b.measures.empty()) return !a.measures.empty();
      return a.of(&SweepMeasures::seconds).median < b.of(&SweepMeasures::seconds).median;
    });
    first = last;
  }
}

Cells axes_cells(const Sweep& sweep, const SweepGroup& group, const SweepGroup* above) {
  Cells cells;
  bool is_same = above != nullptr;
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    is_same = is_same && above->at[a] == group.at[a];
    cells.push_back(is_same ? "" : axis_value(sweep.axes[a], group.at[a]));
  }
  return cells;
}

}  // namespace

std::string sweep_text(const Sweep& sweep) {
  std::vector<SweepGroup> groups = sweep_groups(sweep);
  const bool seeds = has_seeds(groups);
  rank(groups);
  std::vector<Cells> rows{heading(sweep, seeds)};
  for (std::size_t g = 0; g < groups.size(); ++g) {
    rows.push_back(
        row_of(groups[g], axes_cells(sweep, groups[g], g == 0 ? nullptr : &groups[g - 1]), seeds));
  }
  std::string text = fmt::format("{}: {}\n{}\n\n{}", base::legible_name(sweep.application),
                                 facts_text(sweep.parameters), facts_text(sweep.machine),
                                 aligned(rows, sweep.axes.size() + 1));
  if (seeds) {
    text += fmt::format("\ntime, loaded: medians of {} seeds; 25 %, 75 %: quartiles of the time\n",
                        groups.front().asked);
  }
  return base::legible(text);
}

}  // namespace vicinal::reports
