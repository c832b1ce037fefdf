// Many simulations of one graph and machine, of which parameters vary: medians and quartiles over the seeds, as a table,
// as JSON, and as a picture. docs/report.md says what the fields mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/report.hpp"

namespace vicinal::reports {

// What is kept of a run: all that is the same when it is simulated again. Sizes are in bytes.
struct SweepMeasures {
  double seconds = 0;
  double gflops = 0;
  double tasks = 0;
  double workers = 0;
  double idle_seconds = 0;  // of all workers together
  double bytes_in = 0;
  double bytes_out = 0;
  double evictions = 0;
  double write_backs = 0;
  double bound_seconds = 0;
  double bound_bytes = 0;
  double bound_bytes_out = 0;
};
SweepMeasures sweep_measures(const RunRecord& run);
// Their columns in a CSV file, commas between them: the names, the values to the last digit, and back; none: some are not
// there.
std::string sweep_columns();
// The names and values of the measures, in the order of the columns.
using SweepColumn = std::pair<std::string_view, double>;
std::vector<SweepColumn> sweep_values(const SweepMeasures& measures);
std::string sweep_fields(const SweepMeasures& measures);
std::optional<SweepMeasures> parse_sweep_fields(std::string_view text);

// A parameter of which several values were asked for.
struct SweepAxis {
  std::string name;  // "memory"
  bool is_bytes = false;
  std::vector<std::uint64_t> values;
};

struct SweepRun {
  std::vector<std::size_t> at;  // of each axis the value, by its place
  std::string policy;
  std::uint64_t seed = 1;
  std::uint64_t vary_seed = 1;
  std::optional<SweepMeasures> measures;  // none: it has not ended well
};

struct Sweep {
  std::string command = {};
  std::string application;
  Facts parameters;  // that all runs have in common
  Facts machine;
  std::vector<SweepAxis> axes;
  std::vector<SweepRun> runs;
};

// Of several values: the middle, and the middle of either half, between two neighbours in proportion.
struct Quartiles {
  double low = 0;
  double median = 0;
  double high = 0;
};
// `values` has one at least.
Quartiles quartiles(std::vector<double> values);

// For people: a row per value of the axes and policy, the fastest policy first; ends with a line feed.
std::string sweep_text(const Sweep& sweep);
// Ends with a line feed.
std::string sweep_json(const Sweep& sweep);
// For share/draw_figure.py: curves over the first axis, a column of panels per value of the others; without an axis that
// of a report, a bar per policy. Empty: no run has ended well.
std::string sweep_picture(const Sweep& sweep);

}  // namespace vicinal::reports
