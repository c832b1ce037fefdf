#include "reproduction/point_file.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::reproduction {

namespace {

struct Column {
  std::string_view name;
  double Measures::*value;
};

constexpr std::array kColumns{
    Column{"seconds", &Measures::seconds},
    Column{"operations", &Measures::flops},
    Column{"loaded_from_below_bytes", &Measures::from_below},
    Column{"between_gpus_bytes", &Measures::between_gpus},
    Column{"written_back_bytes", &Measures::written_back},
    Column{"working_set_bytes", &Measures::working_set},
    Column{"memory_bytes", &Measures::memory},
    Column{"least_seconds", &Measures::least_seconds},
    Column{"bus_bytes", &Measures::bus_bytes},
    Column{"formula_bytes", &Measures::formula_bytes},
    Column{"least_bytes", &Measures::least_bytes},
    Column{"between_ranks_bytes", &Measures::between_ranks},
    Column{"broadcasts", &Measures::broadcasts},
    Column{"late_sends", &Measures::late_sends},
};

constexpr std::string_view kKeyColumns =
    "panel,series,x,application,tiles,tile,panel_elements,precision,priorities,home,results,"
    "machine,gpus,cpus,gpu_memory_bytes,policy,memory_rules,look_ahead,on_ranks";

template <typename Value>
std::string or_default(const std::optional<Value>& value) {
  if constexpr (std::is_same_v<Value, Bytes>) {
    return value ? fmt::format("{}", value->value) : "default";
  } else {
    return value ? fmt::format("{}", *value) : "default";
  }
}

// The measures at the end of a line, if they are all there.
bool read_measures(std::string_view text, Measures& measures) {
  for (const Column& column : kColumns) {
    const std::size_t end = std::min(text.find(','), text.size());
    try {
      measures.*column.value = base::parse_real(text.substr(0, end));
    } catch (const UsageError&) {
      return false;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return text.empty();
}

std::string rest_of(const Measures& measures) {
  std::string text;
  for (const Column& column : kColumns) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", measures.*column.value);
  }
  return text;
}

// Figures may have a point twice.
std::vector<std::string> keys_of(const std::vector<Point>& points) {
  std::vector<std::string> keys;
  for (const Point& point : points) {
    std::string key = key_of(point);
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace

// The names of memory_rules have commas between them.
std::string key_of(const Point& point) {
  std::string rules = point.memory_rules;
  std::ranges::replace(rules, ',', '+');
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", point.panel,
                     point.series, point.x, point.application, point.tiles, point.tile,
                     point.panel_elements, point.precision,
                     point.bottom_levels ? "bottom-level" : "given", point.on_disk ? "disk" : "ram",
                     point.results_anew ? "anew" : "read", point.machine, or_default(point.gpus),
                     or_default(point.cpus), or_default(point.gpu_memory), point.policy, rules,
                     point.look_ahead, text_of(point.on_ranks));
}

std::string csv_header() {
  std::string line(kKeyColumns);
  for (const Column& column : kColumns) line += fmt::format(",{}", column.name);
  return line;
}

std::string csv_line(const Row& row) {
  return key_of(row.point) + "," + rest_of(row.measures);
}

std::string csv_text(const std::vector<std::string>& made_by, const std::vector<Row>& rows) {
  std::string text;
  for (const std::string& line : made_by) text += fmt::format("# {}\n", line);
  text += csv_header() + "\n";
  for (const Row& row : rows) text += csv_line(row) + "\n";
  return text;
}

PointFile::PointFile(std::string path, std::vector<std::string> made_by,
                     const std::vector<Point>& points)
    : points_(points),
      file_(std::move(path), {.head = csv_text(made_by, {}),
                              .keys = keys_of(points),
                              .is_whole = [](std::string_view text) {
                                Measures measures;
                                return read_measures(text, measures);
                              }}) {
  file_.write();
}

bool PointFile::has(const Point& point) const {
  return file_.has(key_of(point));
}

void PointFile::append(const Row& row) {
  file_.append(key_of(row.point), rest_of(row.measures));
}

std::vector<Row> PointFile::rows() const {
  std::vector<Row> rows;
  for (const Point& point : points_) {
    const std::optional<std::string> rest = file_.rest(key_of(point));
    if (!rest) continue;
    rows.push_back({point, {}});
    read_measures(*rest, rows.back().measures);
  }
  return rows;
}

}  // namespace vicinal::reproduction
