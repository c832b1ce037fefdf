// vicinal simulate: a graph on a machine that one does not have, by the same runtime.
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "against_real.hpp"
#include "graph_options.hpp"
#include "output_file.hpp"
#include "run_or_error.hpp"
#include "runtime_options.hpp"
#include "session.hpp"
#include "tools/catalogue.hpp"
#include "tools/play.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

// Those that mean something where the machine is described by a file.
constexpr std::array<std::string_view, 7> kOptions{
    "policy",       "look_ahead", "window_tasks", "window_bytes", "compute_priorities",
    "memory_rules", "seed"};

struct SimulateArguments {
  explicit SimulateArguments(CLI::App& command)
      : graph(command), machine(command), runtime(command, kOptions) {}
  GraphOptions graph;
  MachineOptions machine;
  RuntimeOptions runtime;
  std::string json;
  std::string against;
  std::string real_runs = "3";
  std::string scheduling;
  std::string disk;
};

// Every task waits for the policy, as long as the file says.
machine::MachineModel with_scheduling(machine::MachineModel machine, const std::string& file,
                                      const std::string& policy) {
  const std::optional<double> seconds = machine::load_machine(file, {}).scheduling_seconds(policy);
  if (!seconds) {
    throw UsageError(fmt::format(
        "--count-scheduling: {} does not say what policy {} costs; `vicinal calibrate --output {}` "
        "measures it",
        file, policy, file));
  }
  for (WorkerDescription& worker : machine.description.workers) {
    worker.task_overhead += Time::from_seconds(*seconds);
  }
  return machine;
}

int simulate(const SimulateArguments& arguments) {
  require_writable("--json", arguments.json);
  const Options options = arguments.runtime.parse();
  const std::vector<std::string> policies = arguments.runtime.policies(options);
  const tools::TaskGraph graph = arguments.graph.graph(options.seed, !arguments.against.empty());
  const machine::MachineModel machine = arguments.machine.machine();
  const auto counted = [&](const std::string& policy) {
    return arguments.scheduling.empty() ? machine
                                        : with_scheduling(machine, arguments.scheduling, policy);
  };
  if (!arguments.against.empty()) {
    if (arguments.against != "real") {
      throw UsageError(
          fmt::format("--against: \"{}\" is not known; there is real", arguments.against));
    }
    const Comparison comparison =
        compare_with_real({graph, machine, counted, arguments.disk, policies, options,
                           tools::parse_count("--real-runs", arguments.real_runs, 1, 1000)});
    fmt::print(arguments.json == "-" ? stderr : stdout, "{}", comparison_text(comparison));
    if (!arguments.json.empty()) write_text(arguments.json, comparison_json(comparison));
    return kSuccess;
  }
  tools::Report report{
      .application = graph.name.empty() ? "graph" : graph.name,
      .parameters = arguments.graph.facts(graph),
      .machine = arguments.machine.facts(machine),
      .runs = {},
  };
  const tools::RunBounds bounds = tools::play_bounds(graph, machine);
  int status = kSuccess;
  for (const std::string& policy : policies) {
    Options with_policy = options;
    with_policy.policy = policy;
    with_policy.measure_scheduling = true;
    const machine::MachineModel on = counted(policy);
    report.runs.push_back(run_or_error(policy, report.runs.empty(), [&] {
      return tools::play_record(graph, on, with_policy, bounds);
    }));
    if (!report.runs.back().error.empty()) status = kFailure;
  }
  fmt::print(arguments.json == "-" ? stderr : stdout, "{}", tools::report_text(report));
  if (!arguments.json.empty()) write_text(arguments.json, tools::report_json(report));
  return status;
}

}  // namespace

void add_simulate(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("simulate", "Plays a graph of tasks on a machine that one does not have.");
  command->allow_extras();
  auto arguments = std::make_shared<SimulateArguments>(*command);
  command->add_option("--json", arguments->json, "Also write the report as JSON; -: to the output.")
      ->type_name("FILE");
  command
      ->add_option(
          "--count-scheduling", arguments->scheduling,
          "Machine file written by vicinal calibrate: count what it says a policy costs per "
          "task.")
      ->type_name("FILE");
  CLI::Option* against =
      command
          ->add_option("--against", arguments->against,
                       "real: run the job here as well, and say how far the simulation is off.")
          ->type_name("TEXT");
  command->add_option("--disk", arguments->disk, "With --against real: folder of the disk.")
      ->type_name("DIR")
      ->needs(against);
  command
      ->add_option("--real-runs", arguments->real_runs,
                   "With --against real: of each policy; the medians count.")
      ->type_name("INTEGER")
      ->capture_default_str()
      ->needs(against);
  command->footer("--policy all plays every policy in turn.");
  command->callback([command, arguments, &session] {
    refuse_extras(*command);
    session.status = simulate(*arguments);
  });
}

}  // namespace vicinal::cli
