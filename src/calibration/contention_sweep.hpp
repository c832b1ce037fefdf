// Measured sweeps over the number of cores that compute beside a transfer, by where the data are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vicinal/contention.hpp"

namespace vicinal::calibration {

struct PlacedSample {
  std::uint32_t computation_node = 0;  // NUMA nodes, as ContentionModel numbers them
  std::uint32_t transfer_node = 0;
  ContentionSample sample;
};

// Of the CSV file, with bandwidths in MB/s.
inline constexpr std::string_view kSweepColumns =
    "computation_node,transfer_node,cores,computations_alone,computations_beside,transfer_alone,"
    "transfer_beside";

// Both throw UsageError that names file and line.
std::vector<PlacedSample> parse_sweep(std::string_view text, const std::string& origin);
std::vector<PlacedSample> read_sweep(const std::string& path);
// The text that parse_sweep reads.
std::string sweep_csv(const std::vector<PlacedSample>& sweep);

// The model of the machine that was measured (section 6.3.1): local from the samples with all data on node 0, remote from
// those with all data on the first node of the second socket. As many NUMA nodes and cores as were measured. Throws
// UsageError that names the placement that is missing.
ContentionModel fit_model(const std::vector<PlacedSample>& sweep, std::uint32_t sockets);

// [contention] of a machine file with this model, to a tenth of a MB/s; without a surface.
std::string contention_tables(const ContentionModel& model);

// How far a model is from what was measured of one placement: means of the absolute differences over the measured, beside each
// other.
struct PlacementError {
  std::uint32_t computation_node = 0;
  std::uint32_t transfer_node = 0;
  double computations = 0;  // 0.01: one percent
  double transfer = 0;
  std::uint32_t samples = 0;
  bool fits = false;  // one of the two placements of fit_model
};
// In the order of their nodes.
std::vector<PlacementError> placement_errors(const ContentionModel& model,
                                             const std::vector<PlacedSample>& sweep);

}  // namespace vicinal::calibration
