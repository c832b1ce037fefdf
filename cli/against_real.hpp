// A job for real and in simulation, side by side: how far the simulation can be trusted here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "play/play.hpp"
#include "reports/report.hpp"
#include "vicinal/options.hpp"

namespace vicinal::cli {

struct RealJob {
  const graph::Graph& graph;             // of an application that `vicinal run` has
  const machine::MachineModel& machine;  // this one, as `vicinal calibrate` describes it
  // What is simulated: the machine, on which a policy may be made to take its time.
  std::function<machine::MachineModel(const std::string& policy)> counted;
  std::optional<graph::DenseShape> shape;  // none: the application is not dense
  std::string panel;  // the option of this name; "0": the application's own choice
  std::string disk;   // folder; empty: none
  std::vector<std::string> policies;
  Options options;
  std::uint64_t real_runs = 3;  // of each policy: the medians count
};

// Of one policy. Errors are those of the simulation, as parts of the real values.
struct Compared {
  std::string policy;
  double real_seconds = 0;
  double seconds = 0;
  double real_bytes_in = 0;
  double bytes_in = 0;
  double seconds_error() const;
  double bytes_error() const;
};

struct Comparison {
  std::string application;
  std::uint64_t real_runs = 0;
  std::vector<Compared> rows;
  std::string recordings = {};  // of the simulations, a line each
  // The medians of the sizes of the errors.
  double seconds_error() const;
  double bytes_error() const;
};

// Throws UsageError for a graph or a machine that cannot be run here.
Comparison compare_with_real(const RealJob& job);

// A row per policy and the medians.
std::string comparison_text(const Comparison& comparison);

// docs/report.md says what the fields mean.
std::string comparison_json(const Comparison& comparison);

}  // namespace vicinal::cli
