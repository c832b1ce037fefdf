#include "against_real.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "graphs/linalg_graphs.hpp"
#include "reports/catalogue.hpp"
#include "runtime_options.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::cli {

namespace {

struct Outcome {
  double seconds = 0;
  double bytes = 0;  // loaded
};

// For the shell that popen runs.
std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

std::uint32_t workers_of(const MachineDescription& machine, ProcessorKind kind) {
  return static_cast<std::uint32_t>(
      std::ranges::count(machine.workers, kind, &WorkerDescription::kind));
}

void require_workers_of_here(const MachineDescription& machine) {
  if (workers_of(machine, ProcessorKind::gpu) > 0) {
    throw UsageError(
        "--against real: machine has GPUs of no known kind; give the file that "
        "`vicinal calibrate` wrote here, with --cuda-devices or --opencl-devices where it has "
        "some");
  }
  if (workers_of(machine, ProcessorKind::cpu) == 0) {
    throw UsageError("--against real: a runtime has a CPU worker at least; leave --cpus 0 out");
  }
}

// The devices get the memory of the simulated ones, but never more than a device has.
void add_devices(const RealJob& job,
                 const std::function<void(const std::string&, const std::string&)>& add) {
  const MachineDescription& machine = job.machine.description;
  const std::uint32_t cuda = workers_of(machine, ProcessorKind::cuda);
  const std::uint32_t opencl = workers_of(machine, ProcessorKind::opencl);
  add("--cuda-devices", fmt::to_string(cuda));
  add("--opencl-devices", fmt::to_string(opencl));
  if (cuda + opencl == 0) return;
  Bytes memory;
  std::uint32_t tasks = 1;
  for (const WorkerDescription& worker : machine.workers) {
    if (worker.kind == ProcessorKind::cpu) continue;
    memory = std::max(memory, machine.nodes[worker.node.value].limit.value_or(Bytes{0}));
    tasks = std::max(tasks, worker.pipeline);
  }
  add("--device-memory", fmt::to_string(memory.value));
  add("--device-tasks", fmt::to_string(tasks));
  if (cuda == 0) return;
  add("--cuda-library", job.options.cuda_library);
  add("--cublas-library", job.options.cublas_library);
  add("--cusolver-library", job.options.cusolver_library);
}

// In flight per direction.
std::uint32_t disk_copies(const MachineDescription& machine) {
  const std::optional<NodeId> disk = machine.disk();
  for (const LinkDescription& link : machine.links) {
    if (disk && link.to == *disk) return link.copies_in_flight;
  }
  throw UsageError(
      "--against real: --disk is given and the machine has no disk; let `vicinal calibrate --disk "
      "DIR` measure it");
}

std::string command_of(const RealJob& job, const std::string& policy) {
  if (!job.shape) {
    throw UsageError(
        "--against real: only cholesky, lu, lu-incpiv, qr, gemm2d and gemm3d can be run for real");
  }
  const graph::DenseShape& shape = *job.shape;
  std::string command = shell_quoted(std::filesystem::read_symlink("/proc/self/exe"));
  const auto add = [&](const std::string& option, const std::string& value) {
    command += " " + option + " " + shell_quoted(value);
  };
  command += " run " + shell_quoted(job.graph.application().name);
  add("--size", fmt::to_string(shape.tiles * shape.tile));
  add("--tile", fmt::to_string(shape.tile));
  if (shape.k > 0) add("--inner", fmt::to_string(shape.k));
  if (job.panel != "0") add("--panel", job.panel);
  if (const auto tree = graphs::panel_tree(job.graph)) {
    add("--panel-tree", std::string(graphs::to_string(*tree)));
  }
  add("--precision", job.graph.application().precision);
  add("--policy", policy);
  require_workers_of_here(job.machine.description);
  add("--workers", fmt::to_string(workers_of(job.machine.description, ProcessorKind::cpu)));
  add_devices(job, add);
  if (const auto limit = job.machine.description.nodes[0].limit) {
    add("--memory", fmt::to_string(limit->value));
  }
  if (!job.disk.empty()) {
    add("--disk", job.disk);
    add("--disk-copies", fmt::to_string(disk_copies(job.machine.description)));
  }
  add("--seed", fmt::to_string(job.options.seed));
  add("--look-ahead", fmt::to_string(job.options.look_ahead));
  add("--window-tasks", fmt::to_string(job.options.window_tasks));
  add("--window-bytes", fmt::to_string(job.options.window_bytes.value));
  add("--compute-priorities", job.options.compute_priorities ? "true" : "false");
  const bool no_priorities = std::ranges::all_of(
      job.graph.tasks(), [](const graph::Graph::Task& task) { return task.priority == 0; });
  add("--priorities", no_priorities ? "none" : "bottom-level");
  return command + " --json - 2>/dev/null";
}

Outcome run_for_real(const RealJob& job, const std::string& policy) {
  std::FILE* const output = popen(command_of(job, policy).c_str(), "r");
  if (output == nullptr) throw DeviceError("--against real: the run cannot be started");
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), output)) {
    text.append(buffer.data(), n);
  }
  if (pclose(output) != 0) {
    throw UsageError(fmt::format("--against real: the run failed: {}", command_of(job, policy)));
  }
  const auto run = nlohmann::json::parse(text).at("runs").at(0);
  return {run.at("seconds"), run.at("bytes_in")};
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// By policy, the medians of the runs. All policies in turn, as the speed of a machine drifts.
std::vector<Outcome> run_all_for_real(const RealJob& job) {
  std::vector<std::vector<double>> seconds(job.policies.size());
  std::vector<std::vector<double>> bytes(job.policies.size());
  for (std::uint64_t run = 0; run < job.real_runs; ++run) {
    for (std::size_t p = 0; p < job.policies.size(); ++p) {
      const Outcome real = run_for_real(job, job.policies[p]);
      seconds[p].push_back(real.seconds);
      bytes[p].push_back(real.bytes);
    }
  }
  std::vector<Outcome> medians;
  for (std::size_t p = 0; p < job.policies.size(); ++p) {
    medians.push_back({median(seconds[p]), median(bytes[p])});
  }
  return medians;
}

Outcome simulated(const RealJob& job, const std::string& policy, std::string& recordings) {
  const Options options = with_policy(job.options, policy, job.policies.size());
  const play::Hooks hooks{.begun = {},
                          .ended = [&](Runtime& runtime, const play::Played& /*played*/) {
                            const TraceSummary recorded = runtime.stop_trace();
                            recordings += recording_line(recorded.file, recorded.written);
                          }};
  const play::Played played =
      play::play(job.graph, job.counted(policy), options, 1, play::StartingPlace::filled, hooks);
  const reports::RunRecord record =
      reports::make_record(policy, job.machine.description, played.before, played.after);
  return {record.seconds, static_cast<double>(record.bytes_in.value)};
}

// Of the simulation, as a part of the real value; 0 where both are 0.
double error(double simulated, double real) {
  return real > 0 ? (simulated - real) / real : simulated > 0 ? 1 : 0;
}

double median_size(std::vector<double> errors) {
  for (double& e : errors) e = std::abs(e);
  return median(std::move(errors));
}

}  // namespace

double Compared::seconds_error() const {
  return error(seconds, real_seconds);
}

double Compared::bytes_error() const {
  return error(bytes_in, real_bytes_in);
}

double Comparison::seconds_error() const {
  std::vector<double> errors;
  for (const Compared& row : rows) errors.push_back(row.seconds_error());
  return median_size(std::move(errors));
}

double Comparison::bytes_error() const {
  std::vector<double> errors;
  for (const Compared& row : rows) errors.push_back(row.bytes_error());
  return median_size(std::move(errors));
}

Comparison compare_with_real(const RealJob& job) {
  if (!job.options.memory_rules.empty()) {
    throw UsageError(
        "--memory-rules: a real run has none; leave the option out with --against real");
  }
  static_cast<void>(command_of(job, job.policies.front()));  // refused before anything runs
  const std::vector<Outcome> real = run_all_for_real(job);
  Comparison comparison{
      .application = job.graph.application().name, .real_runs = job.real_runs, .rows = {}};
  for (std::size_t p = 0; p < job.policies.size(); ++p) {
    const Outcome here = simulated(job, job.policies[p], comparison.recordings);
    comparison.rows.push_back({.policy = job.policies[p],
                               .real_seconds = real[p].seconds,
                               .seconds = here.seconds,
                               .real_bytes_in = real[p].bytes,
                               .bytes_in = here.bytes});
  }
  return comparison;
}

std::string comparison_text(const Comparison& comparison) {
  constexpr double kMebibyte = 1 << 20;
  std::string text = fmt::format("{:<8}  {:>9}  {:>9}  {:>7}  {:>11}  {:>11}  {:>7}\n", "policy",
                                 "real, s", "sim., s", "error", "real, MiB", "sim., MiB", "error");
  for (const Compared& row : comparison.rows) {
    text += fmt::format("{:<8}  {:>9.3f}  {:>9.3f}  {:>6.1f}%  {:>11.1f}  {:>11.1f}  {:>6.1f}%\n",
                        row.policy, row.real_seconds, row.seconds, 100 * row.seconds_error(),
                        row.real_bytes_in / kMebibyte, row.bytes_in / kMebibyte,
                        100 * row.bytes_error());
  }
  return text +
         fmt::format("median error: time {:.1f} %, bytes {:.1f} % ({} real {} of each policy)\n",
                     100 * comparison.seconds_error(), 100 * comparison.bytes_error(),
                     comparison.real_runs, comparison.real_runs == 1 ? "run" : "runs") +
         comparison.recordings;
}

std::string comparison_json(const Comparison& comparison) {
  using Json = nlohmann::ordered_json;
  Json policies = Json::array();
  for (const Compared& row : comparison.rows) {
    policies.push_back({{"policy", row.policy},
                        {"seconds", row.seconds},
                        {"real_wall_seconds", row.real_seconds},
                        {"wall_seconds_error", row.seconds_error()},
                        {"bytes_in", std::llround(row.bytes_in)},
                        {"real_bytes_in", std::llround(row.real_bytes_in)},
                        {"bytes_in_error", row.bytes_error()}});
  }
  const Json json = {{"format", "vicinal-comparison-1"},
                     {"application", comparison.application},
                     {"real_runs", comparison.real_runs},
                     {"policies", std::move(policies)},
                     {"wall_seconds_error", comparison.seconds_error()},
                     {"bytes_in_error", comparison.bytes_error()}};
  return json.dump(2) + "\n";
}

}  // namespace vicinal::cli
