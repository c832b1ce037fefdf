// vicinal run cholesky, and other applications
#include <memory>

#include <fmt/format.h>

#include "load_option.hpp"
#include "report_output.hpp"
#include "reports/catalogue.hpp"
#include "runtime_options.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"

#if VICINAL_HAVE_BLAS

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "applications.hpp"
#include "distribution_option.hpp"
#include "job.hpp"
#include "linalg/gather.hpp"
#include "output_file.hpp"
#include "reports/notes.hpp"
#include "reports/report.hpp"
#include "vicinal/ranks.hpp"
#include "vicinal/version.hpp"

namespace vicinal::cli {

namespace {

// What was asked for, as text and flags.
struct RunArguments {
  explicit RunArguments(CLI::App& command)
      : application(command), distribution(command), runtime(command), load(command) {}
  ApplicationOptions application;
  DistributionOption distribution;
  RuntimeOptions runtime;
  LoadOption load;
  ReportFiles files;
  bool verbose = false;
};

// What is to be done.
struct Plan {
  Ranks ranks;       // which all do it
  std::string name;  // of the application
  std::unique_ptr<Job> job;
  Options options;
  reports::Facts asked;  // options of the runtime that are not as usual
  std::vector<std::string> policies;
  std::string why;  // of the policy that nobody has named
  ReportFiles files;
  bool verbose = false;
};

// The runtime refuses too what can never fit, task by task; here the remedy can be named in the
// words of the command line.
void require_room(const Plan& plan) {
  const Options& options = plan.options;
  const bool is_alone = plan.ranks.count() == 1;
  const MemoryNeed need = plan.job->memory_need(plan.ranks);
  const Bytes installed{installed_memory().value / plan.ranks.on_this_host()};
  if (!options.memory && need.all > installed) {
    throw UsageError(fmt::format(
        "--memory: the data {}take {} and this computer has {}{}: limit the memory and name a "
        "folder for the rest, --memory {} --disk DIR",
        is_alone ? "" : "of a rank ", reports::format_bytes(need.all),
        reports::format_bytes(installed), is_alone ? "" : " for each", installed.value / 2));
  }
  if (!options.memory) return;
  if (*options.memory < need.task) {
    throw UsageError(fmt::format(
        "--memory: {} is less than one task needs: {}{} are {}; use --memory {} or more, or {}",
        reports::format_bytes(*options.memory), need.task_name,
        is_alone ? "" : ", with data from another rank,", reports::format_bytes(need.task),
        need.task.value, need.smaller));
  }
  if (!is_alone && options.disk.empty()) {
    throw UsageError(
        "--memory: data of other ranks come beside a rank's own: name a folder for what does not "
        "fit, --disk DIR");
  }
  if (need.all > *options.memory && options.disk.empty() && !need.has_home) {
    throw UsageError(
        fmt::format("--memory: the data take {} and memory is limited to {}: name a "
                    "folder for the rest, --disk DIR",
                    reports::format_bytes(need.all), reports::format_bytes(*options.memory)));
  }
}

// Who leaves the limit of memory to the system need not know that a folder is needed for the rest.
std::string folder_for_the_rest() {
  const char* const named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/var/tmp";
}

// Files may be refused on one rank alone. The others wait for it in a runtime, and hear there that it ends.
void require_files(const CommandFiles& files, const Ranks& ranks) {
  try {
    files.require();
  } catch (const UsageError&) {
    if (ranks.count() == 1) throw;
    const std::exception_ptr error = std::current_exception();
    try {
      Runtime runtime({.workers = 1, .bind = false, .models = "none"}, ranks);
      std::rethrow_exception(error);
    } catch (const RankError&) {  // others end, too
      std::rethrow_exception(error);
    }
  }
}

Plan make_plan(const RunArguments& arguments) {
  const ApplicationOptions& application = arguments.application;
  Plan plan;
  Options& options = plan.options;
  options = arguments.runtime.parse({application.output(), application.matrix()});
  plan.ranks = Ranks::launched(options);
  const bool is_first = plan.ranks.rank() == RankId{0};
  const std::string memory = arguments.runtime.text("memory");
  if (memory == "auto" && options.disk.empty()) options.disk = folder_for_the_rest();
  if (options.memory && (memory == "auto" || memory.ends_with('%'))) {
    options.memory = Bytes{options.memory->value / plan.ranks.on_this_host()};
  }
  auto [policies, why] = arguments.runtime.chosen_policies(plan.options);
  plan.policies = std::move(policies);
  plan.why = std::move(why);
  CommandFiles files;
  arguments.load.add_to(files);
  files.reads("--matrix", application.matrix());
  if (is_first) files.writes("--output", application.output());
  CommandFiles of_another;
  arguments.files.add_to(is_first ? files : of_another);
  arguments.runtime.add_files(files, plan.options, plan.policies, plan.ranks);
  require_files(files, plan.ranks);
  plan.asked = arguments.runtime.changed(plan.options);
  plan.name = application.name();
  plan.job = application.job(plan.options, arguments.distribution, plan.ranks.count());
  plan.files = arguments.files;
  plan.files.recordings = recordings(plan.options, plan.policies, plan.ranks);
  plan.verbose = arguments.verbose;
  require_room(plan);
  return plan;
}

// Workers of all ranks share the work. What must be loaded into a rank's memory is not known.
MachineDescription machine_of_all(MachineDescription machine, const reports::RunRecord& record) {
  if (record.ranks.empty()) return machine;
  const WorkerDescription worker = machine.workers.front();
  machine.workers.assign(record.workers, worker);
  for (NodeDescription& node : machine.nodes) node.limit.reset();
  return machine;
}

// One policy, in a runtime of its own.
reports::RunRecord run_policy(const Plan& plan, const std::string& policy,
                              const reports::Report& report, Signals& signals) {
  Runtime runtime(with_policy(plan.options, policy, plan.policies.size()), plan.ranks);
  reports::note_run(runtime, report);
  const Signals::Watch watch(signals, runtime);
  std::optional<Progress> progress;
  if (plan.ranks.rank() == RankId{0}) progress.emplace(runtime.progress({.label = policy}));
  const JobOutcome job = plan.job->run(runtime, [&](std::string_view phase, std::uint64_t tasks) {
    if (progress) progress->phase(phase, tasks);
  });
  const linalg::RunOutcome& outcome = job.run;
  reports::RunRecord record =
      reports::make_record(policy, runtime.machine(), outcome.before, outcome.after);
  // The limit holds in all of the run, so the peak of all of it is shown, the check included.
  for (std::size_t n = 0; n < record.nodes.size(); ++n) {
    record.nodes[n].peak = outcome.last.nodes[n].peak;
  }
  if (plan.ranks.count() > 1) {
    const auto own = reports::rank_record(record, outcome.before, outcome.after);
    reports::join_ranks(record, linalg::gather(runtime, own));
  }
  record.flops = job.flops;
  const bool on_cores = std::ranges::all_of(
      runtime.machine().workers, [](const auto& worker) { return runs_on_host(worker.kind); });
  record.bounds = plan.job->bounds(machine_of_all(runtime.machine(), record), on_cores, job);
  if (outcome.residual) {
    record.verified = outcome.residual->passed();
    record.residual = outcome.residual->value;
    record.tolerance = outcome.residual->tolerance;
  }
  reports::note_result(runtime, record);
  reports::end_recording(runtime, record);
  return record;
}

reports::Facts machine_of(const Plan& plan) {
  reports::Facts facts{{"vicinal", std::string(version())}};
  for (auto& fact : plan.job->kernels()) facts.push_back(std::move(fact));
  if (plan.ranks.count() > 1) {
    facts.emplace_back("ranks", std::uint64_t{plan.ranks.count()});
    facts.emplace_back("distribution", plan.job->distribution());
  }
  if (plan.options.memory) facts.emplace_back("memory", *plan.options.memory);
  if (!plan.options.disk.empty()) facts.emplace_back("disk", plan.options.disk);
  if (plan.options.accelerators > 0) {
    facts.emplace_back("accelerators", std::uint64_t{plan.options.accelerators});
  }
  if (plan.options.cuda_devices > 0) {
    facts.emplace_back("cuda_devices", std::uint64_t{plan.options.cuda_devices});
  }
  if (plan.options.opencl_devices > 0) {
    facts.emplace_back("opencl_devices", std::uint64_t{plan.options.opencl_devices});
  }
  if (!plan.why.empty()) facts.emplace_back("policy", plan.why);
  return facts;
}

int run_all(const Plan& plan, Session& session) {
  const bool is_first = plan.ranks.rank() == RankId{0};
  if (is_first) plan.job->measure();
  reports::Report report{.command = session.command,
                         .application = plan.name,
                         .parameters = plan.job->parameters(),
                         .machine = machine_of(plan),
                         .runs = {},
                         .has_tiles = plan.job->has_tiles()};
  for (const auto& asked : plan.asked) {
    const auto is_told = [&](const reports::Facts& facts) {
      return std::ranges::find(facts, asked.first, &reports::Facts::value_type::first) !=
             facts.end();
    };
    if (!is_told(report.parameters) && !is_told(report.machine)) report.parameters.push_back(asked);
  }
  ReportOutput output(session, report, plan.files, plan.verbose, plan.policies.size());
  if (!is_first) output.leave_it_to_another(fmt::format("rank {}", plan.ranks.rank().value));
  for (const std::string& policy : plan.policies) {
    const bool ended_well =
        output.add(policy, [&] { return run_policy(plan, policy, report, session.signals); });
    if (ended_well || plan.ranks.count() == 1) continue;
    // Another rank may be gone, or about to say why. Launchers end all ranks when one has ended with an error.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    break;
  }
  return output.finish();
}

}  // namespace

void add_run(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("run", "Runs an application and reports what it did.");
  auto arguments = std::make_shared<RunArguments>(*command);
  arguments->files.add_options(*command);
  command->add_flag("--verbose", arguments->verbose, kVerboseSentence);
  command->footer("--policy all runs every policy in turn, --policy darts,dmdas these two.");
  command->callback(
      [arguments, &session] { session.status = run_all(make_plan(*arguments), session); });
}

}  // namespace vicinal::cli

#endif
