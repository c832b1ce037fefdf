#include "simulate_arguments.hpp"

#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "reports/catalogue.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

// Those that mean something where the machine is described by a file,
// and for --against real where CUDA is.
constexpr std::array<std::string_view, 20> kOptions{"policy",
                                                    "plan",
                                                    "look_ahead",
                                                    "window_tasks",
                                                    "window_bytes",
                                                    "compute_priorities",
                                                    "memory_rules",
                                                    "seed",
                                                    "receive_placement",
                                                    "cuda_library",
                                                    "cublas_library",
                                                    "cusolver_library",
                                                    "trace",
                                                    "trace_events",
                                                    "trace_memory",
                                                    "broadcast_finding",
                                                    "reduction_tree",
                                                    "numa_placement",
                                                    "receive_numa",
                                                    "contention"};

}  // namespace

SimulateArguments::SimulateArguments(CLI::App& to)
    : command(to), graph(to), machine(to), runtime(to, kOptions), load(to), distribution(to) {
  to.add_option("--tree", tree,
                "On a cluster: how data go to several ranks; auto, off, chain, binary, 4-ary, "
                "binomial, delegated.")
      ->type_name("TEXT [auto]")
      ->group("Machine");
  sweep.add_options(to);
  files.add_options(to);
  to.add_option("--count-scheduling", scheduling,
                "Machine file written by vicinal calibrate: count what it says a policy costs per "
                "task.")
      ->type_name("FILE");
  CLI::Option* vary_option =
      to.add_option("--vary", vary,
                    "Each task takes up to so much longer or shorter than its kernel says, at "
                    "random.")
          ->type_name("PERCENT [0]");
  to.add_option("--vary-seed", vary_seed, "Of the random numbers of --vary.")
      ->type_name("INTEGER [1]")
      ->needs(vary_option);
  CLI::Option* against_option =
      to.add_option("--against", against,
                    "real: run the job here as well, and say how far the simulation is off.")
          ->type_name("TEXT");
  to.add_option("--disk", disk, "With --against real: folder of the disk.")
      ->type_name("DIR")
      ->needs(against_option);
  to.add_option("--real-runs", real_runs, "With --against real: of each policy; the medians count.")
      ->type_name("INTEGER [3]")
      ->needs(against_option);
  to.add_flag("--verbose", verbose, kVerboseSentence);
}

void SimulateArguments::add_to(CommandFiles& of_command) const {
  load.add_to(of_command);
  graph.add_to(of_command);
  machine.add_to(of_command);
  of_command.reads("--count-scheduling", scheduling);
  files.add_to(of_command);
}

double varied_share(const SimulateArguments& arguments) {
  const double percent = reports::parse_real("--vary", arguments.vary, 0);
  if (percent >= 100) {
    throw UsageError(fmt::format(
        "--vary: {} % and more would leave a task no time; give less than 100", arguments.vary));
  }
  return percent / 100;
}

std::uint64_t parse_vary_seed(const std::string& text) {
  return reports::parse_count("--vary-seed", text, 0, std::numeric_limits<std::uint32_t>::max());
}

machine::MachineModel counted_machine(const SimulateArguments& arguments,
                                      const machine::MachineModel& machine,
                                      const std::string& policy) {
  const std::string& file = arguments.scheduling;
  if (file.empty()) return machine;
  const std::optional<double> seconds = machine::load_machine(file, {}).scheduling_seconds(policy);
  if (!seconds) {
    throw UsageError(fmt::format(
        "--count-scheduling: {} does not say what policy {} costs; `vicinal calibrate --output {}` "
        "measures it",
        file, policy, file));
  }
  machine::MachineModel counted = machine;
  for (WorkerDescription& worker : counted.description.workers) {
    worker.task_overhead += Time::from_seconds(*seconds);
  }
  return counted;
}

reports::Facts asked_facts(const SimulateArguments& arguments, const Options& options) {
  reports::Facts facts;
  if (varied_share(arguments) > 0) {
    facts.emplace_back("vary", 100 * varied_share(arguments));
    facts.emplace_back("vary_seed", arguments.vary_seed);
  }
  for (auto& fact : arguments.runtime.changed(options)) facts.push_back(std::move(fact));
  if (!arguments.scheduling.empty()) facts.emplace_back("count_scheduling", arguments.scheduling);
  if (!arguments.load.files().empty()) {
    facts.emplace_back("load", fmt::format("{}", fmt::join(arguments.load.files(), ", ")));
  }
  return facts;
}

}  // namespace vicinal::cli
