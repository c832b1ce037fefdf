// What `vicinal simulate` is told: of one graph on one machine, or of a sweep over several.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "command_files.hpp"
#include "distribution_option.hpp"
#include "graph_options.hpp"
#include "load_option.hpp"
#include "report_output.hpp"
#include "reports/report.hpp"
#include "runtime_options.hpp"
#include "sweep_options.hpp"

namespace vicinal::cli {

struct SimulateArguments {
  // Adds the options; this object must outlive the parse.
  explicit SimulateArguments(CLI::App& to);
  // Those that are named, but those of the runtime.
  void add_to(CommandFiles& of_command) const;

  const CLI::App& command;
  GraphOptions graph;
  MachineOptions machine;
  RuntimeOptions runtime;
  LoadOption load;
  DistributionOption distribution;
  std::string tree = "auto";
  SweepOptions sweep;
  ReportFiles files;
  std::string against;
  std::string real_runs = "3";
  std::string scheduling;
  std::string disk;
  bool verbose = false;
  std::string vary = "0";
  std::string vary_seed = "1";  // of a sweep several, commas between them
};

// What --vary says, as a share; 0: nothing is varied. Throws UsageError.
double varied_share(const SimulateArguments& arguments);
std::uint64_t parse_vary_seed(const std::string& text);

// The machine as the policy meets it: every task waits for it, as long as the file of --count-scheduling says.
machine::MachineModel counted_machine(const SimulateArguments& arguments,
                                      const machine::MachineModel& machine,
                                      const std::string& policy);

// What was asked for beside graph and machine, for the report: options of the runtime that are not as usual, --vary.
reports::Facts asked_facts(const SimulateArguments& arguments, const Options& options);

}  // namespace vicinal::cli
