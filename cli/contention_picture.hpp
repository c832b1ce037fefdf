// Curves of the contention model beside what was measured, as figures 6.2 to 6.10 of the thesis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/contention_sweep.hpp"
#include "vicinal/contention.hpp"

namespace vicinal::cli {

struct ContentionPicture {
  std::string title;
  const ContentionModel& model;
  const std::vector<std::uint32_t>& computation_nodes;  // a column for each
  const std::vector<std::uint32_t>& transfer_nodes;     // a row for each
  const std::vector<calibration::PlacedSample>& sweep;  // measured; may be empty
};
// For reports::draw_picture_of.
std::string picture_json(const ContentionPicture& picture);

}  // namespace vicinal::cli
