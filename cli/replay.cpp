// vicinal replay: a recorded run again, in simulation: by other policies, on another machine, with other limits.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/advice.hpp"
#include "analysis/phases.hpp"
#include "analysis/recorded_job.hpp"
#include "analysis/recorded_plan.hpp"
#include "command_files.hpp"
#include "exporters/exporters.hpp"
#include "file_in_memory.hpp"
#include "graph_options.hpp"
#include "kernel_time_option.hpp"
#include "load_option.hpp"
#include "play/unused_memories.hpp"
#include "report_output.hpp"
#include "reports/catalogue.hpp"
#include "reports/own_results.hpp"
#include "reports/play_record.hpp"
#include "runtime_options.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

constexpr const char* kRecordedOrder = "recorded order";

// Unless the command line gives an option its value is that of the recording.
constexpr std::array<std::string_view, 6> kReplayOptions{
    "policy", "look_ahead", "window_tasks", "window_bytes", "compute_priorities", "seed"};

struct ReplayArguments {
  explicit ReplayArguments(CLI::App& to)
      : command(to), machine(to, ""), runtime(to, kReplayOptions), times(to), load(to) {}
  const CLI::App& command;
  std::string recording;
  MachineOptions machine;
  RuntimeOptions runtime;
  KernelTimeOption times;
  LoadOption load;
  ReportFiles files;
  bool verbose = false;
};

bool is_given(const ReplayArguments& arguments, std::string_view option) {
  return arguments.command.get_option("--" + std::string(option))->count() > 0;
}

Options options_of(const ReplayArguments& arguments, const Options& recorded) {
  Options options = arguments.runtime.parse();
  for (const auto& [name, value] : recorded.changed()) {
    if (name == "policy" || !arguments.runtime.has(name)) continue;
    if (arguments.runtime.text(name).empty()) options.set(name, value);
  }
  options.memory_rules = recorded.memory_rules;
  return options;
}

// Of the nodes on which tasks ran, each has workers there, too.
bool has_nodes_of(const graph::KeptPlan& plan, const MachineDescription& machine) {
  return std::ranges::all_of(plan.tasks, [&](const graph::KeptPlan::Task& task) {
    return std::ranges::any_of(machine.workers, [&](const WorkerDescription& worker) {
      return machine.nodes[worker.node.value].name == plan.nodes[task.node];
    });
  });
}

// One of somebody's own is known where it has been loaded.
bool is_known(const std::string& policy) {
  try {
    reports::require_policy(policy);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

// A program that filled its data first knows more of where they lie than its graph does.
void keep_larger(reports::RunBounds& bounds, const reports::ToldBytes& told) {
  bounds.compulsory_in = std::max(bounds.compulsory_in, told.in);
  bounds.compulsory_out = std::max(bounds.compulsory_out, told.out);
}

int replay(const ReplayArguments& arguments, Session& session) {
  if (arguments.recording.empty()) {
    throw UsageError(
        "say which recording: vicinal replay run.vtrace --policy darts,lws; run --trace FILE makes "
        "one");
  }
  CommandFiles files;
  files.reads("the recording", arguments.recording);
  arguments.machine.add_to(files);
  arguments.load.add_to(files);
  arguments.files.add_to(files);
  files.require();
  const exporters::RecordedFile file(arguments.recording);
  const std::string name = reports::legible_name(arguments.recording);
  const analysis::RecordedRun run = analysis::run_proper(file.recording().run);
  const graph::KeptPlan plan = analysis::plan_of(run, name);  // refuses several ranks
  const analysis::RecordedJob job =
      analysis::job_of(run, name, arguments.times.times(), analysis::TaskTimes::own);
  const bool has_own_machine = arguments.machine.name().empty();
  const machine::MachineModel machine = arguments.machine.machine_or(job.machine);
  const play::StartingPlace place =
      has_own_machine ? job.place : play::starting_place(job.graph, machine.description);
  for (const std::string& sentence : play::unused_memories(job.graph, machine)) {
    fmt::print(stderr, "vicinal: warning: {}\n", sentence);
  }
  reports::RunBounds recorded_bounds = reports::play_bounds(job.graph, job.machine);
  keep_larger(recorded_bounds, reports::told_bounds(run));
  const reports::RunBounds bounds =
      arguments.machine.is_as_given() ? recorded_bounds : reports::play_bounds(job.graph, machine);
  const Options options = options_of(arguments, job.options);

  const bool has_nodes = has_nodes_of(plan, machine.description);
  Policies policies;
  if (is_given(arguments, "policy")) {
    policies = arguments.runtime.chosen_policies(options, &machine.description, [&] {
      return play::auto_policy(job.graph, machine, options);
    });
  }
  const std::string& own = job.options.policy;
  const bool is_asked = std::ranges::count(policies.names, own) > 0;
  if (!is_asked && is_known(own)) policies.names.insert(policies.names.begin(), own);
  if (policies.names.empty() && !has_nodes) {
    throw UsageError(fmt::format(
        "say by which policy (--policy): the recorded one, {}, is not known here (--load)",
        reports::legible_name(own)));
  }
  const reports::Report report{
      .command = session.command,
      .application = job.graph.application().name,
      .parameters = {{"recording", name}, {"recorded_policy", run.facts.policy}},
      .machine = arguments.machine.facts(machine, policies.why),
      .runs = {}};
  ReportOutput output(session, report, arguments.files, arguments.verbose,
                      policies.names.size() + (has_nodes ? 2 : 1));
  const auto play = [&](const std::string& policy, const std::string& followed) {
    Options one = options;
    one.policy = policy;
    one.plan = followed;
    return reports::play_record(job.graph, machine, one, bounds, {}, place);
  };
  if (has_nodes) {
    FileInMemory file_of_plan("replay");
    graph::write_plan(plan, [&](std::string_view piece) { file_of_plan.write(piece); });
    output.add(kRecordedOrder, [&] {
      reports::RunRecord record = play("horizon", file_of_plan.path());
      record.policy = kRecordedOrder;
      return record;
    });
  }
  double as_it_was = 0;  // seconds
  for (const std::string& policy : policies.names) {
    output.add(policy, [&] {
      reports::RunRecord record = play(policy, {});
      if (policy == own) as_it_was = record.seconds;
      return record;
    });
  }
  reports::RunRecord recorded = reports::recorded_record(run, analysis::analyse(run));
  recorded.policy = "recorded";
  recorded.flops = job.graph.flops();
  recorded.bounds = recorded_bounds;
  output.add(recorded.policy, [&] { return recorded; });
  const int status = output.finish();
  const bool taken = arguments.files.json == "-" || arguments.files.page == "-";
  if (arguments.machine.is_as_given() && as_it_was > 0 && recorded.seconds > 0) {
    fmt::print(
        taken ? stderr : stdout,
        "played under {} the run takes {:.2f} times what it took: the times of the others may "
        "be as far off\n",
        own, as_it_was / recorded.seconds);
  }
  return status;
}

}  // namespace

void add_replay(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "replay",
      "Plays a recorded run again: by other policies, on another machine, with other memory.");
  auto arguments = std::make_shared<ReplayArguments>(*command);
  command->add_option("trace", arguments->recording, "The recording (run --trace FILE makes one).")
      ->type_name("TRACE");
  arguments->files.add_options(*command);
  command->add_flag("--verbose", arguments->verbose, kVerboseSentence);
  command->footer(
      "Tasks take the time that they took. Without --machine it is the machine of the recording, "
      "its links as fast as they were.");
  command->callback([arguments, &session] { session.status = replay(*arguments, session); });
}

}  // namespace vicinal::cli
