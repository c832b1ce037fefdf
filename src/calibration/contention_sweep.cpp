#include "calibration/contention_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "machine/number_csv.hpp"
#include "vicinal/error.hpp"

namespace vicinal::calibration {
namespace {

constexpr double kMostNodes = 4096;

std::vector<ContentionSample> of_placement(const std::vector<PlacedSample>& sweep,
                                           std::uint32_t node) {
  std::vector<ContentionSample> samples;
  for (const PlacedSample& placed : sweep) {
    if (placed.computation_node == node && placed.transfer_node == node) {
      samples.push_back(placed.sample);
    }
  }
  if (samples.empty()) {
    throw UsageError(fmt::format(
        "contention model: the sweep lacks the placement with data of both on NUMA node {}, from "
        "which the parameters are taken",
        node));
  }
  return samples;
}

}  // namespace

std::vector<PlacedSample> parse_sweep(std::string_view text, const std::string& origin) {
  std::vector<PlacedSample> sweep;
  for (const auto& row : machine::parse_number_csv(text, origin, kSweepColumns)) {
    const auto count = [&](std::size_t column, double lowest, double highest) {
      const double number = row.numbers[column];
      if (number >= lowest && number <= highest && number == std::floor(number)) {
        return static_cast<std::uint32_t>(number);
      }
      machine::refuse_line(origin, row.line,
                           fmt::format("expected a whole number from {} to {} in column {}", lowest,
                                       highest, column + 1));
    };
    const auto rate = [&](std::size_t column) {
      const double number = row.numbers[column];
      if (number > 0 && number <= 1e9) return BytesPerSecond{number * 1e6};
      machine::refuse_line(
          origin, row.line,
          fmt::format("expected a bandwidth above 0, in MB/s, in column {}", column + 1));
    };
    sweep.push_back({.computation_node = count(0, 0, kMostNodes),
                     .transfer_node = count(1, 0, kMostNodes),
                     .sample = {.cores = count(2, 1, kMostContendingCores),
                                .computations_alone = rate(3),
                                .computations_beside = rate(4),
                                .transfer_alone = rate(5),
                                .transfer_beside = rate(6)}});
  }
  return sweep;
}

std::vector<PlacedSample> read_sweep(const std::string& path) {
  return parse_sweep(machine::read_small_file(path, "the sweep"), path);
}

std::string sweep_csv(const std::vector<PlacedSample>& sweep) {
  std::string text = fmt::format("{}\n", kSweepColumns);
  for (const PlacedSample& placed : sweep) {
    const ContentionSample& sample = placed.sample;
    fmt::format_to(std::back_inserter(text), "{},{},{},{:.1f},{:.1f},{:.1f},{:.1f}\n",
                   placed.computation_node, placed.transfer_node, sample.cores,
                   sample.computations_alone.value / 1e6, sample.computations_beside.value / 1e6,
                   sample.transfer_alone.value / 1e6, sample.transfer_beside.value / 1e6);
  }
  return text;
}

ContentionModel fit_model(const std::vector<PlacedSample>& sweep, std::uint32_t sockets) {
  std::uint32_t nodes = 1;
  ContentionModel model;
  model.sockets = std::max(sockets, 1U);
  for (const PlacedSample& placed : sweep) {
    nodes = std::max({nodes, placed.computation_node + 1, placed.transfer_node + 1});
    model.cores_per_socket = std::max(model.cores_per_socket, placed.sample.cores);
  }
  model.numa_nodes_per_socket = (nodes + model.sockets - 1) / model.sockets;
  model.local = fit_contention(of_placement(sweep, 0));
  model.remote = model.sockets == 1
                     ? model.local
                     : fit_contention(of_placement(sweep, model.numa_nodes_per_socket));
  return model;
}

std::vector<PlacementError> placement_errors(const ContentionModel& model,
                                             const std::vector<PlacedSample>& sweep) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, PlacementError> found;
  const auto difference = [](BytesPerSecond predicted, BytesPerSecond measured) {
    return std::abs(predicted.value - measured.value) / measured.value;
  };
  for (const PlacedSample& placed : sweep) {
    PlacementError& error = found[{placed.computation_node, placed.transfer_node}];
    const ContentionShares shares = predict_contention(
        model, placed.sample.cores, placed.computation_node, placed.transfer_node);
    error.computations += difference(shares.computations, placed.sample.computations_beside);
    error.transfer += difference(shares.transfer, placed.sample.transfer_beside);
    ++error.samples;
  }
  std::vector<PlacementError> errors;
  for (auto& [placement, error] : found) {
    std::tie(error.computation_node, error.transfer_node) = placement;
    error.computations /= error.samples;
    error.transfer /= error.samples;
    error.fits = placement.first == placement.second &&
                 (placement.first == 0 || placement.first == model.numa_nodes_per_socket);
    errors.push_back(error);
  }
  return errors;
}

std::string contention_tables(const ContentionModel& model) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out,
                 "[contention]\nsockets = {}\nnuma_nodes_per_socket = {}\ncores_per_socket = {}\n",
                 model.sockets, model.numa_nodes_per_socket, model.cores_per_socket);
  const auto write = [&](const char* name, const ContentionParameters& p) {
    fmt::format_to(out, "\n[contention.{}]\n", name);
    const auto rate = [&](const char* key, BytesPerSecond value) {
      fmt::format_to(out, "{} = \"{:.1f} MB/s\"\n", key, value.value / 1e6);
    };
    fmt::format_to(out, "most_beside = {}\n", p.most_beside);
    rate("total_beside", p.total_beside);
    fmt::format_to(out, "most_alone = {}\n", p.most_alone);
    rate("total_alone", p.total_alone);
    rate("total_at_most_alone", p.total_at_most_alone);
    fmt::format_to(out, "least_share = {:.3f}\n", p.least_share);
    rate("loss_before", p.loss_before);
    rate("loss_after", p.loss_after);
    rate("core", p.core);
    rate("transfer", p.transfer);
  };
  write("local", model.local);
  if (model.sockets > 1) write("remote", model.remote);
  return text;
}

}  // namespace vicinal::calibration
