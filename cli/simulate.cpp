// vicinal simulate: a graph on a machine that one does not have, by the same runtime.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "against_real.hpp"
#include "file_in_memory.hpp"
#include "graphs/task_names.hpp"
#include "output_file.hpp"
#include "play/unused_memories.hpp"
#include "report_output.hpp"
#include "reports/catalogue.hpp"
#include "reports/judge.hpp"
#include "reports/play_record.hpp"
#include "session.hpp"
#include "simulate_arguments.hpp"
#include "simulate_ranks.hpp"
#include "sweep.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

// Those of the graph if nothing is to be varied.
graph::Graph with_varied_times(graph::Graph graph, const SimulateArguments& arguments,
                               const machine::MachineModel& machine) {
  const double share = varied_share(arguments);
  const std::uint64_t seed = parse_vary_seed(arguments.vary_seed);
  if (share == 0) return graph;
  if (!arguments.against.empty()) {
    throw UsageError(
        "--vary: kernels that run here take the time that they take; leave --against out");
  }
  return graph::with_varied_times(std::move(graph), machine, share, seed);
}

// Played once more, recorded in memory; of a large graph that would take too long.
std::optional<reports::ReportVerdict> judged_in_memory(const graph::Graph& graph,
                                                       const machine::MachineModel& machine,
                                                       Options options,
                                                       const reports::RunBounds& bounds) {
  constexpr std::size_t kMostTasks = 2500;
  if (graph.tasks().size() > kMostTasks) return std::nullopt;
  const FileInMemory recording("recording");
  options.trace = recording.path();
  options.trace_events = "tasks,transfers,memory,scheduler,submission,application";
  static_cast<void>(reports::play_record(graph, machine, options, bounds));
  return reports::judge(options.trace, options.policy);
}

int simulate(const SimulateArguments& arguments, Session& session) {
  const Options options = arguments.runtime.parse();
  CommandFiles files;
  arguments.add_to(files);
  arguments.runtime.add_files(files, options, arguments.runtime.policies());
  files.require();
  if (const auto cluster = arguments.machine.cluster())
    return simulate_on_ranks(arguments, *cluster, session);
  const machine::MachineModel machine = arguments.machine.machine();
  graph::Graph graph = with_varied_times(
      arguments.graph.graph(options.seed, !arguments.against.empty()), arguments, machine);
  const auto [policies, why] = arguments.runtime.chosen_policies(
      options, &machine.description, [&] { return play::auto_policy(graph, machine, options); });
  if (!options.plan.empty()) graphs::name_tasks(graph);
  const auto counted = [&](const std::string& policy) {
    return counted_machine(arguments, machine, policy);
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
        compare_with_real({graph, machine, counted, arguments.graph.shape(graph),
                           arguments.graph.panel(), arguments.disk, policies, options,
                           reports::parse_count("--real-runs", arguments.real_runs, 1, 1000)});
    const std::string& json = arguments.files.json;
    fmt::print(json == "-" ? stderr : stdout, "{}", comparison_text(comparison));
    if (!json.empty()) write_text(json, comparison_json(comparison));
    return kSuccess;
  }
  for (const std::string& sentence : play::unused_memories(graph, machine)) {
    fmt::print(stderr, "vicinal: warning: {}\n", sentence);
  }
  const reports::RunBounds bounds = reports::play_bounds(graph, machine);
  reports::Facts parameters = arguments.graph.facts(graph);
  for (auto& asked : asked_facts(arguments, options)) parameters.push_back(std::move(asked));
  const reports::Report report{.command = session.command,
                               .application = graph.application().name,
                               .parameters = parameters,
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
  command->footer(
      "--policy all plays every policy in turn, --policy darts,dmdas these two. --memory, --tiles, "
      "--gpus and --vary-seed take several values, too, with commas between them: a sweep.");
  command->callback([arguments, &session] {
    session.status =
        is_sweep(*arguments) ? sweep(*arguments, session) : simulate(*arguments, session);
  });
}

}  // namespace vicinal::cli
