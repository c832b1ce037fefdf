// The experiments on computation beside transfers: their questions, and the points that a machine
// can measure. After Swartvagher's thesis (2022), chapter 5 and section 6.3.1. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/interference/machine_facts.hpp"

namespace vicinal::interference {

// What is measured together. Text and numbers alone, so that a row of a file has them.
struct Point {
  std::string experiment;
  std::string kernel;         // that computes; "none"
  std::string transfer;       // what is beside it; "none"
  std::uint32_t cores = 0;    // that compute
  std::uint32_t repeats = 1;  // of the operations on an element: 1/12 flop per byte each, of triad
  std::uint64_t bytes = 0;    // of a transfer
  std::uint32_t computation_node =
      0;  // NUMA node of the data of the computation, of the transfer, of its thread
  std::uint32_t transfer_node = 0;
  std::uint32_t thread_node = 0;
  std::uint32_t number = 0;  // tells apart what is equal otherwise
  friend bool operator==(const Point&, const Point&) = default;
};

// Up to so much a transfer tells latency.
inline constexpr std::uint64_t kSmallBytes = 4096;
// As the thesis's: one float.
inline constexpr std::uint64_t kLatencyBytes = 4;
// Bytes per element of triad: two are read, one is written.
double intensity_of(const Point& point);  // flop per byte

enum class Axis : std::uint8_t { cores, bytes, intensity, kernel, placement, number };

struct Experiment {
  std::string_view name;
  std::string_view section;  // of the thesis; empty: it is not there
  std::string_view question;
  Axis axis = Axis::cores;
};
std::span<const Experiment> experiments();
// Throws UsageError, with the nearest name.
const Experiment& experiment_named(std::string_view name);

enum class Effort : std::uint8_t { quick, usual };

// In the order in which they are measured; none: see why_not.
std::vector<Point> points_of(const Experiment& experiment, const MachineFacts& machine,
                             Effort effort);
// A sentence that says why this machine cannot show it; empty: it can.
std::string why_not(const Experiment& experiment, const MachineFacts& machine);
// What of it cannot be seen although something can: a sentence; empty: nothing.
std::string shortcoming(const Experiment& experiment, const MachineFacts& machine);

// "copies in memory"
std::string_view transfer_words(std::string_view transfer);
// "triad"
std::string_view kernel_words(std::string_view kernel);

}  // namespace vicinal::interference
