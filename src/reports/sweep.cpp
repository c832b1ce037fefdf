// What the forms of a sweep have in common: measures as columns, and runs that differ in their seeds alone put together.
#include "reports/sweep.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"
#include "reports/sweep_groups.hpp"
#include "vicinal/error.hpp"

namespace vicinal::reports {

namespace {

struct MeasureColumn {
  std::string_view name;
  double SweepMeasures::*value;
};

constexpr std::array kMeasureColumns{
    MeasureColumn{"seconds", &SweepMeasures::seconds},
    MeasureColumn{"gflops", &SweepMeasures::gflops},
    MeasureColumn{"tasks_run", &SweepMeasures::tasks},
    MeasureColumn{"workers", &SweepMeasures::workers},
    MeasureColumn{"idle_seconds", &SweepMeasures::idle_seconds},
    MeasureColumn{"bytes_in", &SweepMeasures::bytes_in},
    MeasureColumn{"bytes_out", &SweepMeasures::bytes_out},
    MeasureColumn{"evictions", &SweepMeasures::evictions},
    MeasureColumn{"write_backs", &SweepMeasures::write_backs},
    MeasureColumn{"bound_seconds", &SweepMeasures::bound_seconds},
    MeasureColumn{"bound_bytes", &SweepMeasures::bound_bytes},
    MeasureColumn{"bound_bytes_out", &SweepMeasures::bound_bytes_out},
};

double number_of(Bytes bytes) {
  return static_cast<double>(bytes.value);
}

}  // namespace

SweepMeasures sweep_measures(const RunRecord& run) {
  SweepMeasures measures{.seconds = run.seconds,
                         .gflops = run.gflops(),
                         .tasks = static_cast<double>(run.tasks),
                         .workers = static_cast<double>(run.workers),
                         .idle_seconds = run.idle_seconds,
                         .bytes_in = number_of(run.bytes_in),
                         .bytes_out = number_of(run.bytes_out),
                         .bound_seconds = run.bounds.seconds(),
                         .bound_bytes = number_of(run.bounds.bytes_in()),
                         .bound_bytes_out = number_of(run.bounds.bytes_out())};
  for (const NodeRecord& node : run.nodes) {
    measures.evictions += static_cast<double>(node.evictions);
    measures.write_backs += static_cast<double>(node.write_backs);
  }
  return measures;
}

std::string sweep_columns() {
  std::string text;
  for (const MeasureColumn& column : kMeasureColumns) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", column.name);
  }
  return text;
}

std::vector<SweepColumn> sweep_values(const SweepMeasures& measures) {
  std::vector<SweepColumn> values;
  for (const MeasureColumn& column : kMeasureColumns) {
    values.emplace_back(column.name, measures.*column.value);
  }
  return values;
}

std::string sweep_fields(const SweepMeasures& measures) {
  std::string text;
  for (const MeasureColumn& column : kMeasureColumns) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", measures.*column.value);
  }
  return text;
}

std::optional<SweepMeasures> parse_sweep_fields(std::string_view text) {
  SweepMeasures measures;
  for (const MeasureColumn& column : kMeasureColumns) {
    const std::size_t end = std::min(text.find(','), text.size());
    try {
      measures.*column.value = base::parse_real(text.substr(0, end));
    } catch (const UsageError&) {
      return std::nullopt;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return text.empty() ? std::optional(measures) : std::nullopt;
}

Quartiles quartiles(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    const double part = place - std::floor(place);
    return values[below] + (values[above] - values[below]) * part;
  };
  return {at(0.25), at(0.5), at(0.75)};
}

std::vector<SweepGroup> sweep_groups(const Sweep& sweep) {
  std::vector<SweepGroup> groups;
  for (const SweepRun& run : sweep.runs) {
    const auto same = std::ranges::find_if(groups, [&](const SweepGroup& group) {
      return group.at == run.at && group.policy == run.policy;
    });
    SweepGroup& group = same == groups.end()
                            ? groups.emplace_back(SweepGroup{.at = run.at, .policy = run.policy})
                            : *same;
    ++group.asked;
    if (run.measures) group.measures.push_back(*run.measures);
  }
  return groups;
}

Quartiles SweepGroup::of(double SweepMeasures::*measure) const {
  std::vector<double> values;
  for (const SweepMeasures& one : measures) values.push_back(one.*measure);
  return quartiles(std::move(values));
}

std::string axis_value(const SweepAxis& axis, std::size_t place) {
  const std::uint64_t value = axis.values[place];
  return axis.is_bytes ? base::format_bytes({value}) : fmt::format("{}", value);
}

}  // namespace vicinal::reports
