// Questions:
//   in memory: how fast is the factorisation of a matrix that fits, against the threaded dpotrf of
//              OpenBLAS with as many threads?
//   on disk:   with a half and a quarter of the memory it takes, how far is the time from the
//              larger of the time in memory and the time the disk needs for the bytes moved?
// `cholesky --help` lists the options.
//
// Lower bounds: in memory, the kernels' times (each measured alone) shared by the workers; on disk,
// the larger of the time in memory and bytes read / read bandwidth + bytes written / write
// bandwidth, both measured in the same folder by the same driver before the runs. What is compared
// runs in turn, in pairs, so that a disturbance of the machine meets both: ours and the peer
// (executable openblas_threaded_potrf beside this one), a run in memory and one on disk under the
// same policy. Given are medians, least and most, also of the ratios of pairs. Times are of the
// factorisation alone: matrices are generated before it. Every result of ours is checked.
#if VICINAL_HAVE_BLAS

#include "linalg/cholesky.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "comparison.hpp"
#include "drivers/disk/disk_bandwidth.hpp"
#include "help.hpp"
#include "linalg/kernel_times.hpp"
#include "linalg/openblas.hpp"
#include "linalg/run.hpp"
#include "linalg/tile_kernels.hpp"
#include "reports/catalogue.hpp"
#include "reports/report.hpp"

namespace {

using namespace vicinal;

struct Settings {
  std::uint64_t size = 8192;
  std::vector<std::uint64_t> tiles = {512, 256};
  std::uint32_t workers = 2;
  std::uint32_t repetitions = 5;
  std::string disk;                   // empty: beside the executable
  std::vector<std::string> policies;  // on disk; empty: all
  std::string json;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

Settings parse(int count, char** arguments) {
  Settings settings;
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (i + 1 == count) throw std::invalid_argument(fmt::format("{} needs a value", name));
    const std::string value = arguments[++i];
    if (name == "--size") {
      settings.size = std::stoull(value);
    } else if (name == "--tiles") {
      settings.tiles.clear();
      for (const std::string& tile : split(value)) settings.tiles.push_back(std::stoull(tile));
    } else if (name == "--workers") {
      settings.workers = static_cast<std::uint32_t>(std::stoul(value));
    } else if (name == "--repetitions") {
      settings.repetitions = static_cast<std::uint32_t>(std::stoul(value));
    } else if (name == "--disk") {
      settings.disk = value;
    } else if (name == "--policies") {
      settings.policies = split(value);
    } else if (name == "--json") {
      settings.json = value;
    } else {
      throw std::invalid_argument(fmt::format("unknown argument {}", name));
    }
  }
  return settings;
}

// --- samples -------------------------------------------------------------------------------------

double median(const std::vector<double>& values) {
  return bench::median(values).value();
}
double least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}
double most(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}
std::string spread(const std::vector<double>& values) {
  return fmt::format("{:.3f} ({:.3f}..{:.3f})", median(values), least(values), most(values));
}
void add_values(nlohmann::json& row, const std::string& name, const std::vector<double>& values) {
  row[name] = median(values);
  row[name + "_least"] = least(values);
  row[name + "_most"] = most(values);
}

Options options_of(const Settings& settings, const std::string& policy) {
  Options options;
  options.workers = settings.workers;
  options.policy = policy;
  return options;
}

// One checked run.
reports::RunRecord run(const Options& options, const linalg::TileGrid& grid) {
  Runtime runtime(options);
  const linalg::Application cholesky = linalg::cholesky(grid);
  const linalg::RunOutcome outcome =
      linalg::run(runtime, {.application = &cholesky, .check = true});
  if (!outcome.residual->passed()) {
    throw std::runtime_error(fmt::format("wrong result under {}: residual {} > {}", options.policy,
                                         outcome.residual->value, outcome.residual->tolerance));
  }
  reports::RunRecord record =
      reports::make_record(options.policy, runtime.machine(), outcome.before, outcome.after);
  record.flops = linalg::cholesky_flops(grid.size);
  return record;
}

// --- in memory -----------------------------------------------------------------------------------

// Seconds, or nothing if the peer was not built.
std::optional<double> run_peer(const Settings& settings) {
  const std::filesystem::path peer =
      bench::this_executable().parent_path() / "openblas_threaded_potrf";
  if (!std::filesystem::exists(peer)) return std::nullopt;
  // prepare_openblas may have set OPENBLAS_CORETYPE, which the peer inherits: the same kernels.
  return std::stod(bench::output_of(fmt::format("OPENBLAS_NUM_THREADS={} '{}' {} 1",
                                                settings.workers, peer.string(), settings.size)));
}

double bound_seconds(const Settings& settings, const linalg::TileGrid& grid) {
  const linalg::Application cholesky = linalg::cholesky(grid);
  MachineDescription machine;
  machine.nodes.push_back({kRam, "ram", NodeKind::ram, {}});
  machine.workers.resize(settings.workers);
  return cholesky.bounds(machine, linalg::measure_kernels(cholesky), {}).seconds();
}

nlohmann::json measure_in_memory(const Settings& settings, std::uint64_t tile) {
  const linalg::TileGrid grid{settings.size, tile, linalg::Precision::f64};
  std::vector<double> ours;
  std::vector<double> peers;
  std::vector<double> ratios;  // of GFlop/s: above 1, we are faster
  std::vector<double> bounds;
  for (std::uint32_t i = 0; i < settings.repetitions; ++i) {
    bounds.push_back(bound_seconds(settings, grid));
    ours.push_back(run(options_of(settings, Options{}.policy), grid).gflops());
    if (const auto peer = run_peer(settings)) {
      peers.push_back(linalg::cholesky_flops(settings.size) / *peer * 1e-9);
      ratios.push_back(ours.back() / peers.back());
    }
  }
  const double seconds = linalg::cholesky_flops(settings.size) / median(ours) * 1e-9;
  nlohmann::json row = {{"case", "in memory"},
                        {"size", settings.size},
                        {"tile", tile},
                        {"workers", settings.workers},
                        {"repetitions", settings.repetitions},
                        {"seconds", seconds},
                        {"bound_seconds", median(bounds)}};
  add_values(row, "gflops", ours);
  std::string text = fmt::format("in memory, tile {:<4}  {} GFlop/s, {:.2f} x the bound {:.3f} s",
                                 tile, spread(ours), seconds / median(bounds), median(bounds));
  if (!peers.empty()) {
    add_values(row, "peer_gflops", peers);
    add_values(row, "ratio_to_peer", ratios);
    text +=
        fmt::format("; threaded dpotrf {} GFlop/s; ours/peer {}", spread(peers), spread(ratios));
  }
  fmt::print(stderr, "{}\n", text);
  return row;
}

// --- on disk -------------------------------------------------------------------------------------

Bytes padded_matrix(const linalg::TileGrid& grid) {
  return {(grid.full_tile_bytes().value + 4095) / 4096 * 4096 * grid.lower_tiles()};
}

struct DiskCase {
  linalg::TileGrid grid;
  std::uint64_t factor = 2;  // the matrix takes so many times the memory
  std::string policy;
  drivers::DiskBandwidth bandwidth;
};

nlohmann::json measure_on_disk(const Settings& settings, const DiskCase& c) {
  Options options = options_of(settings, c.policy);
  options.memory = Bytes{padded_matrix(c.grid).value / c.factor};
  options.disk = settings.disk;
  std::vector<double> seconds;
  std::vector<double> in_memory;
  std::vector<double> ratios;
  std::vector<double> bytes_in;
  std::vector<double> bytes_out;
  for (std::uint32_t i = 0; i < settings.repetitions; ++i) {
    in_memory.push_back(run(options_of(settings, c.policy), c.grid).seconds);
    const reports::RunRecord record = run(options, c.grid);
    bytes_in.push_back(static_cast<double>(record.bytes_in.value));
    bytes_out.push_back(static_cast<double>(record.bytes_out.value));
    // One device reads or writes: the times add up.
    const double on_disk =
        bytes_in.back() / c.bandwidth.read.value + bytes_out.back() / c.bandwidth.write.value;
    seconds.push_back(record.seconds);
    ratios.push_back(record.seconds / std::max(in_memory.back(), on_disk));
  }
  nlohmann::json row = {{"case", "on disk"},
                        {"size", c.grid.size},
                        {"tile", c.grid.tile},
                        {"workers", settings.workers},
                        {"repetitions", settings.repetitions},
                        {"policy", c.policy},
                        {"memory", options.memory->value},
                        {"times_too_large", c.factor},
                        {"read_bytes_per_second", c.bandwidth.read.value},
                        {"write_bytes_per_second", c.bandwidth.write.value}};
  add_values(row, "seconds", seconds);
  add_values(row, "in_memory_seconds", in_memory);
  add_values(row, "bytes_in", bytes_in);
  add_values(row, "bytes_out", bytes_out);
  add_values(row, "ratio_to_bound", ratios);
  fmt::print(
      stderr,
      "on disk, {}x, tile {:<4} {:<6}  {} s, {} in, {} out; time / max(in memory, disk) {}\n",
      c.factor, c.grid.tile, c.policy, spread(seconds),
      reports::format_bytes({static_cast<std::uint64_t>(median(bytes_in))}),
      reports::format_bytes({static_cast<std::uint64_t>(median(bytes_out))}), spread(ratios));
  return row;
}

// --- all -----------------------------------------------------------------------------------------

nlohmann::json machine_json() {
  std::ifstream info("/proc/cpuinfo");
  std::string model;
  for (std::string line; model.empty() && std::getline(info, line);) {
    if (line.starts_with("model name")) model = line.substr(line.find(':') + 2);
  }
  return {{"processor", model},
          {"processors", sysconf(_SC_NPROCESSORS_ONLN)},
          {"load_at_the_start", bench::load_of_machine()},
          {"blas", linalg::kernels_description()}};
}

nlohmann::json measure(const Settings& settings) {
  const nlohmann::json machine = machine_json();
  nlohmann::json result = {{"benchmark", "cholesky"}, {"machine", machine}};
  fmt::print(stderr, "Cholesky, N = {}, double, {} workers, {} repetitions; {}\n", settings.size,
             settings.workers, settings.repetitions, machine.dump());
  for (const std::uint64_t tile : settings.tiles) {
    result["rows"].push_back(measure_in_memory(settings, tile));
  }
  const linalg::TileGrid first{settings.size, settings.tiles.at(0), linalg::Precision::f64};
  const drivers::DiskBandwidth bandwidth = drivers::measure_bandwidth(
      settings.disk, {.bytes = padded_matrix(first), .tile = first.full_tile_bytes()});
  fmt::print(stderr, "disk: read {}/s, write {}/s{}\n",
             reports::format_bytes({static_cast<std::uint64_t>(bandwidth.read.value)}),
             reports::format_bytes({static_cast<std::uint64_t>(bandwidth.write.value)}),
             bandwidth.direct_io ? "" : " (through the page cache)");
  for (const std::uint64_t factor : {2, 4}) {
    for (const std::string& policy : settings.policies) {
      result["rows"].push_back(measure_on_disk(settings, {first, factor, policy, bandwidth}));
    }
  }
  return result;
}

void run_benchmark(Settings settings) {
  linalg::prepare_openblas();
  // Beside the executable, hence on a disk: a temporary folder is often in memory.
  std::filesystem::path own;
  if (settings.disk.empty()) {
    own = bench::this_executable().parent_path() / "cholesky.disk";
    std::filesystem::create_directory(own);
    settings.disk = own.string();
  }
  if (settings.policies.empty()) {
    for (const auto& policy : reports::policies()) settings.policies.emplace_back(policy.name);
  }
  const nlohmann::json result = measure(settings);
  if (!own.empty()) std::filesystem::remove_all(own);
  bench::write_json(result, settings.json);
}

constexpr const char* kHelp =
    R"(A factorisation in memory and on disk: bench/cholesky.cpp says how it is measured.

  cholesky                   both; N = 8192 in double, tiles of 512 and 256, 2 workers
  cholesky --json -          the rows on standard output (else a file), the table on standard
                             error
  cholesky --size N --tiles 512,256 --workers 2 --repetitions 5 --disk DIR --policies darts,lws
)";

}  // namespace

int main(int count, char** arguments) {
  if (bench::helped(count, arguments, kHelp)) return 0;
  try {
    run_benchmark(parse(count, arguments));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cholesky: %s\n", error.what());
    return 1;
  }
}

#else

#include <cstdio>

int main() {
  std::fputs("cholesky: built without OpenBLAS\n", stderr);
  return 1;
}

#endif
