// What was measured of a point, as a row of a CSV file.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "calibration/interference/difference.hpp"
#include "calibration/interference/experiments.hpp"

namespace vicinal::interference {

struct Row {
  Point point;
  bool shares = false;          // computation and transfer have a core in common
  Difference computation = {};  // of an operation of the kernel
  Difference transfer = {};     // of a transfer
  double kernel_bytes = 0;      // that an operation of the kernel moves
  double megahertz_alone = 0;   // of the core that transfers, while nothing else runs; 0: not known
  double megahertz_beside = 0;
  double misses_alone =
      0;  // cache misses per second while the kernel runs alone, and beside; 0: not known
  double misses_beside = 0;
};

// The parameters alone, with commas between; no comma behind.
std::string key_of(const Point& point);
std::string rest_of(const Row& row);
std::string csv_header();
// None: the line was cut off.
std::optional<Row> row_of(const Point& point, std::string_view rest);

// The sweeps of the contention model, by the NUMA nodes of their data: MB/s of all cores together and of the transfer, alone
// and side by side. Empty: there is none.
std::string model_csv(std::span<const Row> rows);

}  // namespace vicinal::interference
