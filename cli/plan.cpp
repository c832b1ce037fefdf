// vicinal plan: what a run will do before anything runs, in a file that the run follows.
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/recorded_plan.hpp"
#include "command_files.hpp"
#include "exporters/exporters.hpp"
#include "file_in_memory.hpp"
#include "graph_options.hpp"
#include "graphs/task_names.hpp"
#include "load_option.hpp"
#include "output_file.hpp"
#include "play/play.hpp"
#include "play/unused_memories.hpp"
#include "report_output.hpp"
#include "reports/catalogue.hpp"
#include "reports/play_record.hpp"
#include "runtime_options.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

constexpr std::array<std::string_view, 6> kPlanOptions{
    "policy", "plan", "look_ahead", "compute_priorities", "memory_rules", "seed"};

struct PlanArguments {
  explicit PlanArguments(CLI::App& to)
      : graph(to), machine(to), runtime(to, kPlanOptions), load(to) {}
  GraphOptions graph;
  MachineOptions machine;
  RuntimeOptions runtime;
  LoadOption load;
  ReportFiles files;
  std::string output;
};

// The run that follows the plan.
reports::RunRecord followed(const graph::KeptPlan& plan, const graph::Graph& graph,
                            const machine::MachineModel& machine, Options options,
                            const reports::RunBounds& bounds) {
  FileInMemory file("plan");
  graph::write_plan(plan, [&](std::string_view piece) { file.write(piece); });
  options.policy = "horizon";
  options.plan = file.path();
  return reports::play_record(graph, machine, options, bounds);
}

// The plan of the fastest run so far.
class Fastest {
 public:
  void keep(const reports::RunRecord& record, const std::string& recording) {
    if (seconds_ && *seconds_ <= record.seconds) return;
    seconds_ = record.seconds;
    const exporters::RecordedFile file(recording);
    plan_ = analysis::plan_of(file.recording().run, "the simulated run");
    plan_.seconds = record.seconds;
    std::erase_if(plan_.tasks, [](const auto& task) { return task.name == play::kFill; });
  }
  // Null: no run has ended well.
  const graph::KeptPlan* plan() const { return seconds_ ? &plan_ : nullptr; }

 private:
  std::optional<double> seconds_;
  graph::KeptPlan plan_;
};

void write(const graph::KeptPlan& plan, const std::string& path) {
  OutputFile file(path);
  graph::write_plan(plan, [&](std::string_view piece) { file.write(piece); });
  file.finish();
}

int plan(const PlanArguments& arguments, Session& session) {
  const Options options = arguments.runtime.parse();
  CommandFiles files;
  arguments.load.add_to(files);
  arguments.graph.add_to(files);
  arguments.machine.add_to(files);
  files.writes("--output", arguments.output);
  arguments.files.add_to(files);
  arguments.runtime.add_files(files, options, {});
  files.require();
  if (arguments.machine.cluster()) {
    throw UsageError("--ranks: a plan is of one machine; leave it out, or give 1");
  }
  const machine::MachineModel machine = arguments.machine.machine();
  graph::Graph graph = arguments.graph.graph(options.seed);
  graphs::name_tasks(graph);
  const auto [policies, why] = arguments.runtime.chosen_policies(
      options, &machine.description, [&] { return play::auto_policy(graph, machine, options); });
  for (const std::string& sentence : play::unused_memories(graph, machine)) {
    fmt::print(stderr, "vicinal: warning: {}\n", sentence);
  }
  const reports::RunBounds bounds = reports::play_bounds(graph, machine);
  const reports::Report report{.command = session.command,
                               .application = graph.application().name,
                               .parameters = arguments.graph.facts(graph),
                               .machine = arguments.machine.facts(machine, why),
                               .runs = {}};
  Fastest fastest;
  ReportOutput output(session, report, arguments.files, true, policies.size());
  for (const std::string& policy : policies) {
    const FileInMemory recording("plan");
    Options one = with_policy(options, policy, 1);
    one.trace = recording.path();
    one.trace_events = "tasks,submission,application";
    output.add(policy, [&] {
      reports::RunRecord record = reports::play_record(graph, machine, one, bounds, report);
      fastest.keep(record, one.trace);
      record.recording = {};
      return record;
    });
  }
  const int status = output.finish();
  if (arguments.output.empty() || fastest.plan() == nullptr) return status;
  write(*fastest.plan(), arguments.output);
  const bool taken = arguments.files.json == "-" || arguments.files.page == "-";
  if (arguments.output != "-") {
    const std::string name = reports::legible_name(arguments.output);
    const reports::RunRecord run = followed(*fastest.plan(), graph, machine, options, bounds);
    fmt::print(
        taken ? stderr : stdout,
        "plan: {}, of {} tasks under {}; --plan {} follows it: {}, {} loaded, {} written back\n",
        name, fastest.plan()->tasks.size(), fastest.plan()->policy, name,
        reports::format_duration(run.seconds), reports::format_bytes(run.bytes_in),
        reports::format_bytes(run.bytes_out));
  }
  return status;
}

}  // namespace

void add_plan(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "plan", "Says what a run will do, before anything runs, and writes a plan that it follows.");
  auto arguments = std::make_shared<PlanArguments>(*command);
  command
      ->add_option("-o,--output", arguments->output,
                   "Write the plan there, for --plan of run and simulate; -: to the output.")
      ->type_name("FILE");
  arguments->files.add_options(*command);
  command->footer(
      "Of several policies (--policy horizon,darts, or all) the plan is that of the fastest.");
  command->callback([arguments, &session] { session.status = plan(*arguments, session); });
}

}  // namespace vicinal::cli
