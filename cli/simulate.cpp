// vicinal simulate: a graph on a machine that one does not have, by the same runtime.
#include <array>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "against_real.hpp"
#include "graph_options.hpp"
#include "output_file.hpp"
#include "report_output.hpp"
#include "reports/catalogue.hpp"
#include "reports/judge.hpp"
#include "reports/play_record.hpp"
#include "runtime_options.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

// Those that mean something where the machine is described by a file,
// and for --against real where CUDA is.
constexpr std::array<std::string_view, 13> kOptions{
    "policy",       "look_ahead",   "window_tasks", "window_bytes",   "compute_priorities",
    "memory_rules", "seed",         "cuda_library", "cublas_library", "cusolver_library",
    "trace",        "trace_events", "trace_memory"};

struct SimulateArguments {
  explicit SimulateArguments(CLI::App& command)
      : graph(command), machine(command), runtime(command, kOptions) {}
  GraphOptions graph;
  MachineOptions machine;
  RuntimeOptions runtime;
  ReportFiles files;
  std::string against;
  std::string real_runs = "3";
  std::string scheduling;
  std::string disk;
  bool verbose = false;
  std::string vary = "0";
  std::string vary_seed = "1";
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

// Those of the graph if nothing is to be varied.
graph::Graph with_varied_times(graph::Graph graph, const SimulateArguments& arguments,
                               const machine::MachineModel& machine) {
  const double percent = reports::parse_real("--vary", arguments.vary, 0);
  if (percent >= 100) {
    throw UsageError(fmt::format(
        "--vary: {} % and more would leave a task no time; give less than 100", arguments.vary));
  }
  const std::uint64_t seed = reports::parse_count("--vary-seed", arguments.vary_seed, 0,
                                                  std::numeric_limits<std::uint32_t>::max());
  if (percent == 0) return graph;
  if (!arguments.against.empty()) {
    throw UsageError(
        "--vary: kernels that run here take the time that they take; leave --against out");
  }
  return graph::with_varied_times(std::move(graph), machine, percent / 100, seed);
}

// Played once more, recorded in memory; of a large graph that would take too long.
std::optional<reports::ReportVerdict> judged_in_memory(const graph::Graph& graph,
                                                       const machine::MachineModel& machine,
                                                       Options options,
                                                       const reports::RunBounds& bounds) {
  constexpr std::size_t kMostTasks = 2500;
  if (graph.tasks().size() > kMostTasks) return std::nullopt;
  const int file = ::memfd_create("recording", 0);
  if (file < 0) return std::nullopt;
  std::optional<reports::ReportVerdict> verdict;
  try {
    options.trace = fmt::format("/proc/self/fd/{}", file);
    options.trace_events = "tasks,transfers,memory,scheduler,submission,application";
    static_cast<void>(reports::play_record(graph, machine, options, bounds));
    verdict = reports::judge(options.trace, options.policy);
  } catch (...) {
    ::close(file);
    throw;
  }
  ::close(file);
  return verdict;
}

int simulate(const SimulateArguments& arguments, Session& session) {
  const Options options = arguments.runtime.parse();
  CommandFiles files;
  arguments.graph.add_to(files);
  arguments.machine.add_to(files);
  files.reads("--count-scheduling", arguments.scheduling);
  arguments.files.add_to(files);
  arguments.runtime.add_files(files, options, arguments.runtime.policies());
  files.require();
  const machine::MachineModel machine = arguments.machine.machine();
  const auto [policies, why] = arguments.runtime.chosen_policies(options, &machine.description);
  const graph::Graph graph = with_varied_times(
      arguments.graph.graph(options.seed, !arguments.against.empty()), arguments, machine);
  const auto counted = [&](const std::string& policy) {
    return arguments.scheduling.empty() ? machine
                                        : with_scheduling(machine, arguments.scheduling, policy);
  };
  if (!arguments.against.empty()) {
    if (arguments.against != "real") {
      throw UsageError(
          fmt::format("--against: \"{}\" is not known; there is real", arguments.against));
    }
    if (!arguments.files.page.empty()) {
      throw UsageError("--report: there is no page of --against; leave one of them out");
    }
    if (!arguments.files.plot.empty()) {
      throw UsageError("--plot: there is no picture of --against; leave one of them out");
    }
    const Comparison comparison =
        compare_with_real({graph, machine, counted, arguments.disk, policies, options,
                           reports::parse_count("--real-runs", arguments.real_runs, 1, 1000)});
    const std::string& json = arguments.files.json;
    fmt::print(json == "-" ? stderr : stdout, "{}", comparison_text(comparison));
    if (!json.empty()) write_text(json, comparison_json(comparison));
    return kSuccess;
  }
  const reports::RunBounds bounds = reports::play_bounds(graph, machine);
  const reports::Report report{.command = session.command,
                               .application = graph.application().name,
                               .parameters = arguments.graph.facts(graph),
                               .machine = arguments.machine.facts(machine, why),
                               .runs = {}};
  ReportFiles outputs = arguments.files;
  outputs.recordings = recordings(options, policies);
  ReportOutput output(session, report, outputs, arguments.verbose, policies.size());
  output.judge_by([&](const std::string& policy) {
    return judged_in_memory(graph, counted(policy), with_policy(options, policy, 1), bounds);
  });
  for (const std::string& policy : policies) {
    Options one = with_policy(options, policy, policies.size());
    one.measure_scheduling = true;
    const machine::MachineModel on = counted(policy);
    output.add(policy, [&] { return reports::play_record(graph, on, one, bounds, report); });
  }
  return output.finish();
}

}  // namespace

void add_simulate(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("simulate", "Plays a graph of tasks on a machine that one does not have.");
  auto arguments = std::make_shared<SimulateArguments>(*command);
  arguments->files.add_options(*command);
  command
      ->add_option(
          "--count-scheduling", arguments->scheduling,
          "Machine file written by vicinal calibrate: count what it says a policy costs per "
          "task.")
      ->type_name("FILE");
  CLI::Option* vary =
      command
          ->add_option(
              "--vary", arguments->vary,
              "Each task takes up to so much longer or shorter than its kernel says, at random.")
          ->type_name("PERCENT")
          ->capture_default_str();
  command->add_option("--vary-seed", arguments->vary_seed, "Of the random numbers of --vary.")
      ->type_name("INTEGER")
      ->capture_default_str()
      ->needs(vary);
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
  command->add_flag("--verbose", arguments->verbose, kVerboseSentence);
  command->footer("--policy all plays every policy in turn, --policy darts,dmdas these two.");
  command->callback([arguments, &session] { session.status = simulate(*arguments, session); });
}

}  // namespace vicinal::cli
