// vicinal run cholesky
#include <memory>

#include <fmt/format.h>

#include "runtime_options.hpp"
#include "session.hpp"
#include "tools/catalogue.hpp"
#include "vicinal/error.hpp"

#if VICINAL_HAVE_BLAS

#include <cstdio>

#include "linalg/cholesky.hpp"
#include "linalg/cholesky_run.hpp"
#include "linalg/kernel_times.hpp"
#include "linalg/tile_kernels.hpp"
#include "matrix_options.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "tools/dense_bounds.hpp"
#include "tools/report.hpp"

namespace vicinal::cli {

namespace {

// Graphs of at most so many tasks get a name per task: messages say "gemm(3,1,0)" rather than
// "gemm". Beyond, their memory and time are saved.
constexpr std::uint64_t kNamedTasks = 5000;

constexpr std::uint64_t kPage = 4096;  // replicas are padded to pages

// What was asked for, as text and flags.
struct RunArguments {
  explicit RunArguments(CLI::App& command) : matrix(command), runtime(command) {}
  MatrixOptions matrix;
  RuntimeOptions runtime;
  std::string matrix_file;
  std::string output;
  std::string priorities = "bottom-level";
  std::string json;
  bool check = false;
};

// What is to be done.
struct Plan {
  linalg::CholeskyRequest request;
  Options options;
  std::vector<std::string> policies;
  std::string json;
};

Bytes padded_tile(const linalg::TileGrid& grid) {
  return {(grid.full_tile_bytes().value + kPage - 1) / kPage * kPage};
}

// The runtime refuses too what can never fit, task by task; here the remedy can be named in the
// words of the command line.
void require_room(const linalg::CholeskyRequest& request, const Options& options) {
  if (!options.memory) return;
  const linalg::TileGrid& grid = request.grid;
  // gemm needs three tiles at once; a matrix of one or two tile rows has no gemm.
  const std::uint64_t most = std::min<std::uint64_t>(grid.tiles(), 3);
  const Bytes needed = padded_tile(grid) * most;
  if (*options.memory < needed) {
    throw UsageError(fmt::format(
        "--memory: {} is less than one task needs: {} tiles of {} x {} {}s are {}; use --memory {} "
        "or more, or a smaller --tile",
        tools::format_bytes(*options.memory), most, grid.tile, grid.tile, to_string(grid.precision),
        tools::format_bytes(needed), needed.value));
  }
  const bool fits = padded_tile(grid) * grid.lower_tiles() <= *options.memory;
  if (!fits && options.disk.empty() && request.output.empty()) {
    throw UsageError(
        fmt::format("--memory: the matrix takes {} and memory is limited to {}: name a "
                    "folder for the rest, --disk DIR",
                    tools::format_bytes(padded_tile(grid) * grid.lower_tiles()),
                    tools::format_bytes(*options.memory)));
  }
}

bool parse_priorities(const std::string& text) {
  if (text != "bottom-level" && text != "none") {
    throw UsageError(fmt::format("--priorities: \"{}\" is neither bottom-level nor none", text));
  }
  return text == "bottom-level";
}

Plan make_plan(const RunArguments& arguments) {
  require_writable("--output", arguments.output);
  require_writable("--json", arguments.json);
  Plan plan;
  plan.options = arguments.runtime.parse({arguments.output, arguments.matrix_file});
  plan.policies = arguments.runtime.policies(plan.options);
  linalg::CholeskyRequest& request = plan.request;
  if (arguments.matrix_file.empty()) {
    request.grid = arguments.matrix.parse();
  } else {
    request.grid = arguments.matrix.parse(linalg::TileFile::open(arguments.matrix_file).grid());
  }
  request.seed = plan.options.seed;
  request.matrix = arguments.matrix_file;
  request.output = arguments.output;
  request.check = arguments.check;
  request.priorities = parse_priorities(arguments.priorities);
  request.names = linalg::cholesky_tasks(request.grid.tiles()) <= kNamedTasks;
  plan.json = arguments.json;
  require_room(request, plan.options);
  return plan;
}

tools::CholeskyWork work_of(const linalg::TileGrid& grid, const linalg::KernelTimes& times) {
  return {.order = grid.size,
          .tile = grid.tile,
          .element = {element_bytes(grid.precision)},
          .matrix = grid.bytes(),
          .flops = linalg::cholesky_flops(grid.size),
          .potrf = times.potrf,
          .trsm = times.trsm,
          .syrk = times.syrk,
          .gemm = times.gemm};
}

// One policy, in a runtime of its own.
tools::RunRecord run_policy(const Plan& plan, const std::string& policy,
                            const tools::CholeskyWork& work, StallSignal& signal) {
  Options options = plan.options;
  options.policy = policy;
  Runtime runtime(options);
  const StallSignal::Watch watch(signal, runtime);
  Progress progress(runtime, policy);
  const linalg::CholeskyOutcome outcome = linalg::run_cholesky(
      runtime, plan.request,
      [&](std::string_view phase, std::uint64_t tasks) { progress.phase(phase, tasks); });
  tools::RunRecord record =
      tools::make_record(policy, runtime.machine(), outcome.before, outcome.after);
  // The limit holds in all of the run, so the peak of all of it is shown, the check included.
  for (std::size_t n = 0; n < record.nodes.size(); ++n) {
    record.nodes[n].peak = outcome.last.nodes[n].peak;
  }
  record.flops = work.flops;
  record.bounds = tools::cholesky_bounds(work, runtime.machine(), outcome.before);
  if (outcome.residual) {
    record.verified = outcome.residual->passed();
    record.residual = outcome.residual->value;
    record.tolerance = outcome.residual->tolerance;
  }
  return record;
}

tools::RunRecord run_or_error(const Plan& plan, const std::string& policy,
                              const tools::CholeskyWork& work, StallSignal& signal) {
  try {
    return run_policy(plan, policy, work, signal);
  } catch (const UsageError&) {
    throw;  // the same for every policy
  } catch (const CapacityError&) {
    throw;
  } catch (const std::exception& error) {
    tools::RunRecord record;
    record.policy = policy;
    record.error = error.what();
    return record;
  }
}

tools::Facts parameters_of(const Plan& plan) {
  const linalg::CholeskyRequest& request = plan.request;
  tools::Facts facts{{"size", request.grid.size},
                     {"tile", request.grid.tile},
                     {"tiles", request.grid.tiles()},
                     {"precision", std::string(to_string(request.grid.precision))},
                     {"matrix_bytes", request.grid.bytes()},
                     {"priorities", std::string(request.priorities ? "bottom-level" : "none")}};
  if (request.matrix.empty()) {
    facts.emplace_back("seed", request.seed);
  } else {
    facts.emplace_back("matrix", request.matrix);
  }
  if (!request.output.empty()) facts.emplace_back("output", request.output);
  return facts;
}

tools::Facts machine_of(const Plan& plan) {
  tools::Facts facts{{"vicinal", std::string(VICINAL_VERSION)},
                     {"blas", linalg::kernels_description()}};
  if (plan.options.memory) facts.emplace_back("memory", *plan.options.memory);
  if (!plan.options.disk.empty()) facts.emplace_back("disk", plan.options.disk);
  if (plan.options.accelerators > 0) {
    facts.emplace_back("accelerators", std::uint64_t{plan.options.accelerators});
  }
  return facts;
}

int run_all(const Plan& plan, StallSignal& signal) {
  const tools::CholeskyWork work =
      work_of(plan.request.grid, linalg::measure_kernels(plan.request.grid));
  tools::Report report{.application = "cholesky",
                       .parameters = parameters_of(plan),
                       .machine = machine_of(plan),
                       .runs = {}};
  int status = kSuccess;
  for (const std::string& policy : plan.policies) {
    report.runs.push_back(run_or_error(plan, policy, work, signal));
    const tools::RunRecord& run = report.runs.back();
    if (!run.error.empty() || run.verified == false) status = kFailure;
  }
  // The standard output is the JSON's alone, if it goes there.
  fmt::print(plan.json == "-" ? stderr : stdout, "{}", tools::report_text(report));
  if (!plan.json.empty()) write_text(plan.json, tools::report_json(report));
  return status;
}

}  // namespace

void add_run(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("run", "Runs an application and reports what it did.");
  command->allow_extras();
  auto arguments = std::make_shared<RunArguments>(*command);
  command->add_option("--matrix", arguments->matrix_file, "Tile file to read the matrix from.")
      ->type_name("FILE");
  command->add_option("--output", arguments->output, "Tile file to leave the factor in.")
      ->type_name("FILE");
  command->add_flag("--check", arguments->check, "Check the result: exit status 1 if it is wrong.");
  command->add_option("--priorities", arguments->priorities, "bottom-level or none.")
      ->type_name("TEXT [bottom-level]");
  command->add_option("--json", arguments->json, "Also write the report as JSON; -: to the output.")
      ->type_name("FILE");
  command->footer("--policy all runs every policy in turn.");
  command->callback([command, arguments, &session] {
    refuse_extras(*command);
    session.status = run_all(make_plan(*arguments), session.signal);
  });
}

}  // namespace vicinal::cli

#else

namespace vicinal::cli {

void add_run(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("run", "Runs an application (not in this build).");
  command->allow_extras();
  command->callback([] {
    throw UsageError(
        "this vicinal was built without OpenBLAS and has no application to run: "
        "install libopenblas-serial-dev and build it again");
  });
}

}  // namespace vicinal::cli

#endif
