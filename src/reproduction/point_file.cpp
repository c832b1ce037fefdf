#include "reproduction/point_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <unistd.h>
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
};

constexpr std::string_view kKeyColumns =
    "panel,series,x,application,tiles,tile,panel_elements,precision,priorities,home,results,"
    "machine,gpus,cpus,gpu_memory_bytes,policy,memory_rules,look_ahead";

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

[[noreturn]] void refuse(const std::string& path) {
  throw DeviceError(fmt::format("cannot write {}: {}; give another folder, or room (--output)",
                                path, std::strerror(errno)));
}

}  // namespace

// The names of memory_rules have commas between them.
std::string key_of(const Point& point) {
  std::string rules = point.memory_rules;
  std::ranges::replace(rules, ',', '+');
  return fmt::format(
      "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", point.panel, point.series, point.x,
      point.application, point.tiles, point.tile, point.panel_elements, point.precision,
      point.bottom_levels ? "bottom-level" : "given", point.on_disk ? "disk" : "ram",
      point.results_anew ? "anew" : "read", point.machine, or_default(point.gpus),
      or_default(point.cpus), or_default(point.gpu_memory), point.policy, rules, point.look_ahead);
}

std::string csv_header() {
  std::string line(kKeyColumns);
  for (const Column& column : kColumns) line += fmt::format(",{}", column.name);
  return line;
}

std::string csv_line(const Row& row) {
  std::string line = key_of(row.point);
  for (const Column& column : kColumns) line += fmt::format(",{}", row.measures.*column.value);
  return line;
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
    : path_(std::move(path)), made_by_(std::move(made_by)), points_(points) {
  rows_.resize(points_.size());
  has_.resize(points_.size());
  for (std::size_t i = 0; i < points_.size(); ++i) rows_[i].point = points_[i];

  std::ifstream file(path_, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  const std::string head = csv_text(made_by_, {});
  if (text.starts_with(head)) {
    std::string_view rest = std::string_view(text).substr(head.size());
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      for (std::size_t i = 0; i < points_.size(); ++i) {
        const std::string key = key_of(points_[i]) + ",";
        if (!line.starts_with(key)) continue;
        has_[i] = read_measures(line.substr(key.size()), rows_[i].measures);
        if (has_[i]) found_ = Found::rows;
      }
    }
  } else if (!text.empty()) {
    found_ = Found::other;
    std::istringstream lines(text);
    std::string line;
    for (const std::string& ours : made_by_) {
      if (std::getline(lines, line) && line == "# " + ours) continue;
      difference_ = fmt::format("it says \"{}\", and this is \"{}\"", line, "# " + ours);
      break;
    }
    if (difference_.empty()) difference_ = "its columns are others";
  }
  write_anew();
}

PointFile::~PointFile() {
  if (file_ >= 0) ::close(file_);
}

// Beside it first: a process that ends meanwhile leaves the old rows or the new ones.
void PointFile::write_anew() {
  std::vector<Row> kept;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (has_[i]) kept.push_back(rows_[i]);
  }
  const std::string beside = path_ + ".new";
  const int file =
      ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) refuse(beside);
  const std::string text = csv_text(made_by_, kept);
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!written || ::rename(beside.c_str(), path_.c_str()) != 0) {
    const int cause = errno;
    ::close(file);
    ::unlink(beside.c_str());
    errno = cause;
    refuse(path_);
  }
  if (file_ >= 0) ::close(file_);
  file_ = file;
}

bool PointFile::has(const Point& point) const {
  const std::string key = key_of(point);
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (has_[i] && key_of(points_[i]) == key) return true;
  }
  return false;
}

void PointFile::append(const Row& row) {
  const std::string key = key_of(row.point);
  const std::string line = csv_line(row) + "\n";
  const std::lock_guard lock(mutex_);
  // One write: a line is there or is cut off, and never two of them are mixed.
  if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) refuse(path_);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (key_of(points_[i]) != key) continue;
    rows_[i] = row;
    has_[i] = true;
  }
}

std::vector<Row> PointFile::rows() const {
  std::vector<Row> rows;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (has_[i]) rows.push_back(rows_[i]);
  }
  return rows;
}

}  // namespace vicinal::reproduction
