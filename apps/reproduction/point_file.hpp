// The CSV file of a figure: a row per simulation, appended when it has ended, so that a run that is stopped goes on
// where it was. Lines that begin with # say what made it; a file that says something else is not gone on with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/row_file.hpp"
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
  using Found = reports::RowFile::Found;

  // Reads what is there, keeps the rows of `points`, and makes the file hold those alone. A line that was cut off
  // when the process ended is left out. Throws DeviceError if the file cannot be written.
  PointFile(std::string path, std::vector<std::string> made_by, const std::vector<Point>& points);

  // `other`: there was a file that something else made, whose rows are gone; `difference` tells what.
  Found found() const { return file_.found(); }
  const std::string& difference() const { return file_.difference(); }

  // By any thread.
  bool has(const Point& point) const;
  void append(const Row& row);
  // In the order of `points`, those that there are.
  std::vector<Row> rows() const;

 private:
  std::vector<Point> points_;
  reports::RowFile file_;
};

}  // namespace vicinal::reproduction
