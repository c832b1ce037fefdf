// The CSV file of a figure: a row per simulation, appended when it has ended, so that a run that is stopped goes on
// where it was. Lines that begin with # say what made it; a file that says something else is not gone on with.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "reproduction/results.hpp"

namespace vicinal::reproduction {

// The parameters alone: rows of equal keys are of the same simulation.
std::string key_of(const Point& point);
std::string csv_header();
std::string csv_line(const Row& row);  // without its line feed

// The whole file: what made it, line by line, then the names of the columns, then the rows.
std::string csv_text(const std::vector<std::string>& made_by, const std::vector<Row>& rows);

class PointFile {
 public:
  enum class Found : std::uint8_t { nothing, rows, other };

  // Reads what is there, keeps the rows of `points`, and makes the file hold those alone. A line that was cut off
  // when the process ended is left out. Throws DeviceError if the file cannot be written.
  PointFile(std::string path, std::vector<std::string> made_by, const std::vector<Point>& points);
  ~PointFile();
  PointFile(const PointFile&) = delete;
  PointFile& operator=(const PointFile&) = delete;

  // `other`: there was a file that something else made, whose rows are gone; `difference` tells what.
  Found found() const { return found_; }
  const std::string& difference() const { return difference_; }

  // By any thread.
  bool has(const Point& point) const;
  void append(const Row& row);
  // In the order of `points`, those that there are.
  std::vector<Row> rows() const;

 private:
  void write_anew();  // under mutex_
  std::string path_;
  std::vector<std::string> made_by_;
  std::vector<Point> points_;
  Found found_ = Found::nothing;
  std::string difference_;
  mutable std::mutex mutex_;
  std::vector<Row> rows_;  // one per point, under mutex_
  std::vector<bool> has_;  // under mutex_
  int file_ = -1;
};

}  // namespace vicinal::reproduction
