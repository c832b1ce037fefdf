// vicinal contention: what computations and a transfer leave each other of the memory's bandwidth.
#include "vicinal/contention.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/contention_sweep.hpp"
#include "command_files.hpp"
#include "contention_picture.hpp"
#include "output_file.hpp"
#include "play/play.hpp"
#include "reports/aligned.hpp"
#include "reports/catalogue.hpp"
#include "reports/draw_picture.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

using calibration::PlacedSample;
using reports::Cells;

struct ContentionArguments {
  std::string machine;
  std::string cores;
  std::string computation_node;
  std::string transfer_node;
  std::string csv;
  std::string measured;
  std::string plot;
  std::string fit;
  std::string sockets = "2";
};

// What is asked for.
struct ContentionPoints {
  ContentionModel model;
  std::vector<std::uint32_t> cores;
  std::vector<std::uint32_t> computation_nodes;
  std::vector<std::uint32_t> transfer_nodes;
};

ContentionModel model_of_machine(const std::string& name) {
  const auto cluster = machine::load_cluster_of_option(name);
  const MachineDescription machine =
      cluster ? cluster->host.description : machine::load_machine_of_option(name).description;
  if (!machine.contention) {
    throw UsageError(
        fmt::format("the machine {} has no [contention]: take one that has it, as henri, or write "
                    "it with --measured FILE --fit FILE",
                    name));
  }
  return *machine.contention;
}

// All numbers from `first` on, or the one that is asked for.
std::vector<std::uint32_t> numbers(const char* option, const std::string& text, std::uint32_t first,
                                   std::uint32_t last) {
  std::vector<std::uint32_t> result;
  if (!text.empty()) {
    return {static_cast<std::uint32_t>(reports::parse_count(option, text, first, last))};
  }
  for (std::uint32_t number = first; number <= last; ++number) result.push_back(number);
  return result;
}

ContentionPoints asked_points(const ContentionArguments& arguments, ContentionModel model) {
  const std::uint32_t nodes = model.sockets * model.numa_nodes_per_socket;
  ContentionPoints points;
  points.cores = numbers("--cores", arguments.cores, 1, model.cores_per_socket);
  points.computation_nodes = numbers("--comp-node", arguments.computation_node, 0, nodes - 1);
  points.transfer_nodes = numbers("--comm-node", arguments.transfer_node, 0, nodes - 1);
  points.model = std::move(model);
  return points;
}

std::string gigabytes(BytesPerSecond rate) {
  return fmt::format("{:.2f}", rate.value / 1e9);
}

// What was measured at a point: the mean of its samples.
std::optional<ContentionSample> measured_at(const std::vector<PlacedSample>& sweep,
                                            std::uint32_t cores, std::uint32_t computation_node,
                                            std::uint32_t transfer_node) {
  ContentionSample mean{.cores = cores};
  double count = 0;
  const auto add = [](BytesPerSecond& to, BytesPerSecond more) { to.value += more.value; };
  for (const PlacedSample& placed : sweep) {
    if (placed.computation_node != computation_node || placed.transfer_node != transfer_node ||
        placed.sample.cores != cores) {
      continue;
    }
    add(mean.computations_alone, placed.sample.computations_alone);
    add(mean.computations_beside, placed.sample.computations_beside);
    add(mean.transfer_alone, placed.sample.transfer_alone);
    add(mean.transfer_beside, placed.sample.transfer_beside);
    ++count;
  }
  if (count == 0) return std::nullopt;
  for (BytesPerSecond* const rate : {&mean.computations_alone, &mean.computations_beside,
                                     &mean.transfer_alone, &mean.transfer_beside}) {
    rate->value /= count;
  }
  return mean;
}

// Calls row(cores, computation node, transfer node, what is predicted, the transfer alone).
template <typename Row>
void for_each_point(const ContentionPoints& points, const Row& row) {
  for (const std::uint32_t computation : points.computation_nodes) {
    for (const std::uint32_t transfer : points.transfer_nodes) {
      const BytesPerSecond alone =
          predict_contention(points.model, 0, computation, transfer).transfer;
      for (const std::uint32_t cores : points.cores) {
        row(cores, computation, transfer,
            predict_contention(points.model, cores, computation, transfer), alone);
      }
    }
  }
}

std::string prediction_table(const ContentionPoints& points,
                             const std::vector<PlacedSample>& sweep) {
  std::vector<Cells> rows{{"data of the computations, of the transfer, on node", "cores",
                           "computations alone", "beside", "transfer alone", "beside"}};
  if (!sweep.empty())
    rows.front().insert(rows.front().end(), {"measured: computations", "transfer"});
  for_each_point(points, [&](std::uint32_t cores, std::uint32_t computation, std::uint32_t transfer,
                             const ContentionShares& shares, BytesPerSecond alone) {
    Cells cells{fmt::format("{}, {}", computation, transfer),
                fmt::format("{}", cores),
                gigabytes(shares.alone),
                gigabytes(shares.computations),
                gigabytes(alone),
                gigabytes(shares.transfer)};
    if (const auto measured = measured_at(sweep, cores, computation, transfer)) {
      cells.push_back(gigabytes(measured->computations_beside));
      cells.push_back(gigabytes(measured->transfer_beside));
    }
    rows.push_back(std::move(cells));
  });
  return reports::aligned(rows, 1) + "Bandwidths in GB/s, of all cores together.\n";
}

std::string prediction_csv(const ContentionPoints& points, const std::vector<PlacedSample>& sweep) {
  std::string text{calibration::kSweepColumns};
  if (!sweep.empty()) {
    text +=
        ",measured_computations_alone,measured_computations_beside,measured_transfer_alone,"
        "measured_transfer_beside";
  }
  text += '\n';
  for_each_point(points, [&](std::uint32_t cores, std::uint32_t computation, std::uint32_t transfer,
                             const ContentionShares& shares, BytesPerSecond alone) {
    text += fmt::format("{},{},{}", computation, transfer, cores);
    const auto add = [&](BytesPerSecond rate) { text += fmt::format(",{:.1f}", rate.value / 1e6); };
    for (const BytesPerSecond rate : {shares.alone, shares.computations, alone, shares.transfer}) {
      add(rate);
    }
    if (const auto measured = measured_at(sweep, cores, computation, transfer)) {
      for (const BytesPerSecond rate : {measured->computations_alone, measured->computations_beside,
                                        measured->transfer_alone, measured->transfer_beside}) {
        add(rate);
      }
    } else if (!sweep.empty()) {
      text += ",,,,";
    }
    text += '\n';
  });
  return text;
}

// "from 15 cores on, to 92 %", or that it never is.
std::string falls(const std::vector<double>& shares) {
  constexpr double kFelt = 0.99;
  const auto first =
      std::find_if(shares.begin(), shares.end(), [](double share) { return share < kFelt; });
  if (first == shares.end()) return "not slowed down";
  return fmt::format("slowed down from {} {} on, to {:.0f} %", first - shares.begin() + 1,
                     first == shares.begin() ? "core" : "cores",
                     100 * *std::min_element(shares.begin(), shares.end()));
}

// A sentence for each placement, over all numbers of cores.
std::string sentences(const ContentionPoints& points) {
  std::string text;
  for (const std::uint32_t computation : points.computation_nodes) {
    for (const std::uint32_t transfer : points.transfer_nodes) {
      const double alone =
          predict_contention(points.model, 0, computation, transfer).transfer.value;
      std::vector<double> computations;
      std::vector<double> transfers;
      for (std::uint32_t n = 1; n <= points.model.cores_per_socket; ++n) {
        const ContentionShares shares = predict_contention(points.model, n, computation, transfer);
        computations.push_back(shares.computations.value / shares.alone.value);
        transfers.push_back(shares.transfer.value / alone);
      }
      text += fmt::format("data on NUMA nodes {} and {}: the transfer is {}; computations are {}\n",
                          computation, transfer, falls(transfers), falls(computations));
    }
  }
  return text;
}

// As table 6.1 of the thesis.
std::string errors_text(const ContentionModel& model, const std::vector<PlacedSample>& sweep) {
  std::vector<Cells> rows{{"mean error, data on node", "samples", "transfer", "computations"}};
  const auto row = [&](const std::string& name, std::uint32_t samples, double transfer,
                       double computations) {
    rows.push_back({name, fmt::format("{}", samples), fmt::format("{:.2f} %", 100 * transfer),
                    fmt::format("{:.2f} %", 100 * computations)});
  };
  struct Sum {
    std::uint32_t samples = 0;
    double transfer = 0;
    double computations = 0;
    double placements = 0;
  };
  Sum fitted;
  Sum others;
  const auto mean = [&](const char* name, const Sum& sum) {
    if (sum.placements == 0) return;
    row(name, sum.samples, sum.transfer / sum.placements, sum.computations / sum.placements);
  };
  for (const auto& error : calibration::placement_errors(model, sweep)) {
    row(fmt::format("{}, {}", error.computation_node, error.transfer_node), error.samples,
        error.transfer, error.computations);
    Sum& sum = error.fits ? fitted : others;
    sum.samples += error.samples;
    sum.transfer += error.transfer;
    sum.computations += error.computations;
    ++sum.placements;
  }
  mean("placements of the parameters", fitted);
  mean("other placements", others);
  return reports::aligned(rows, 1);
}

void require_known_placements(const ContentionModel& model, const std::vector<PlacedSample>& sweep,
                              const std::string& path) {
  const std::uint32_t nodes = model.sockets * model.numa_nodes_per_socket;
  for (const PlacedSample& placed : sweep) {
    const std::uint32_t node = std::max(placed.computation_node, placed.transfer_node);
    if (node < nodes) continue;
    throw UsageError(
        fmt::format("--measured: {} has data on NUMA node {}, and the machine has {} "
                    "nodes, from 0",
                    path, node, nodes));
  }
}

void contention(const ContentionArguments& arguments) {
  CommandFiles files;
  files.reads("--measured", arguments.measured);
  files.writes("--csv", arguments.csv);
  files.writes("--fit", arguments.fit);
  files.writes("--plot", arguments.plot);
  if (!arguments.plot.empty() && !arguments.plot.ends_with(".svg")) {
    throw UsageError(fmt::format("--plot: {} is no name of an SVG; write --plot FILE.svg",
                                 reports::legible_name(arguments.plot)));
  }
  files.require();
  std::vector<PlacedSample> sweep;
  if (!arguments.measured.empty()) sweep = calibration::read_sweep(arguments.measured);
  const bool fits = !arguments.fit.empty();
  if (fits && sweep.empty()) throw UsageError("--fit: from which sweep? Add --measured FILE");
  if (!fits && arguments.machine.empty()) {
    throw UsageError("say of which machine, as in vicinal contention henri");
  }
  const auto sockets =
      static_cast<std::uint32_t>(reports::parse_count("--sockets", arguments.sockets, 1, 64));
  const ContentionPoints points =
      asked_points(arguments, fits ? calibration::fit_model(sweep, sockets)
                                   : model_of_machine(arguments.machine));
  require_known_placements(points.model, sweep, arguments.measured);
  const bool taken = arguments.csv == "-" || arguments.fit == "-";
  fmt::print(taken ? stderr : stdout, "{}\n{}{}{}", prediction_table(points, sweep),
             sentences(points), sweep.empty() ? "" : "\n",
             sweep.empty() ? "" : errors_text(points.model, sweep));
  if (!arguments.csv.empty()) write_text(arguments.csv, prediction_csv(points, sweep));
  if (fits) write_text(arguments.fit, calibration::contention_tables(points.model));
  if (arguments.plot.empty()) return;
  const std::string& of = fits ? arguments.measured : arguments.machine;
  reports::draw_picture_of(
      picture_json({.title = fmt::format("{}: computations beside a transfer", of),
                    .model = points.model,
                    .computation_nodes = points.computation_nodes,
                    .transfer_nodes = points.transfer_nodes,
                    .sweep = sweep}),
      arguments.plot);
}

}  // namespace

void add_contention(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand(
      "contention", "Bandwidth of computations and of a transfer beside each other.");
  auto arguments = std::make_shared<ContentionArguments>();
  command
      ->add_option("machine", arguments->machine,
                   "A machine whose file has [contention]: shipped, or a machine file.")
      ->type_name("NAME");
  command
      ->add_option("--cores", arguments->cores,
                   "Cores of one socket that compute; each number of them without it.")
      ->type_name("INTEGER");
  command
      ->add_option("--comp-node", arguments->computation_node,
                   "NUMA node of the data of the computations, from 0, which is on their socket; "
                   "each without it.")
      ->type_name("INTEGER");
  command
      ->add_option("--comm-node", arguments->transfer_node,
                   "NUMA node of the data of the transfer; each without it.")
      ->type_name("INTEGER");
  command->add_option("--csv", arguments->csv, "Also write it as CSV, in MB/s; -: to the output.")
      ->type_name("FILE");
  command
      ->add_option("--measured", arguments->measured,
                   "Measured sweeps, CSV with the columns of --csv: put beside, with the mean "
                   "error of each placement.")
      ->type_name("FILE");
  command
      ->add_option("--fit", arguments->fit,
                   "Fit the model to the measured sweeps, and write [contention] for a machine "
                   "file; -: to the output.")
      ->type_name("FILE");
  command
      ->add_option("--plot", arguments->plot,
                   "Also draw the curves of each placement beside what was measured, as SVG.")
      ->type_name("FILE");
  command
      ->add_option("--sockets", arguments->sockets, "Of the machine that was measured, for --fit.")
      ->type_name("INTEGER [2]");
  command->callback([arguments] { contention(*arguments); });
}

}  // namespace vicinal::cli
