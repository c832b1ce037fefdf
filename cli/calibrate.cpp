// vicinal calibrate: measures this machine for a machine file.
#include "calibration/calibrate.hpp"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "graphs/make_graph.hpp"
#include "load_option.hpp"
#include "output_file.hpp"
#include "play/play.hpp"
#include "reports/catalogue.hpp"
#include "runtime_options.hpp"
#include "session.hpp"

#if VICINAL_HAVE_BLAS
#include "linalg/kernel_probes.hpp"
#include "linalg/tile_kernels.hpp"
#endif

namespace vicinal::cli {

namespace {

// Beyond, a single product of tiles takes many seconds.
constexpr std::uint64_t kLeastTile = 16;
constexpr std::uint64_t kMostTile = 4096;

// Of the graph on which policies are timed: 4960 tasks, three times the memory of its machine.
constexpr std::uint64_t kScheduledTiles = 30;

struct CalibrateArguments {
  explicit CalibrateArguments(CLI::App& command) : runtime(command), load(command) {}
  RuntimeOptions runtime;
  LoadOption load;
  std::string output;
  std::string tile = "512";
};

std::vector<calibration::KernelSet> kernels_of(std::uint64_t tile, const Options& options) {
#if VICINAL_HAVE_BLAS
  return linalg::kernel_sets(tile, options.memory);
#else
  (void)tile, (void)options;
  return {};
#endif
}

std::string sentence_of(const calibration::Calibration& calibration, std::uint64_t tile) {
  std::string sentence =
      fmt::format("{} workers of {}", calibration.workers, calibration.processor);
#if VICINAL_HAVE_BLAS
  sentence += fmt::format(", tiles of {} by {}", tile, linalg::kernels_description());
#else
  (void)tile;
#endif
  return sentence;
}

// A tile of doubles as a replica, in whole pages.
Bytes kept_on_disk(std::uint64_t tile) {
  constexpr std::uint64_t kPageBytes = 4096;
  return {(tile * tile * sizeof(double) + kPageBytes - 1) / kPageBytes * kPageBytes};
}

void calibrate(const CalibrateArguments& arguments) {
  const std::uint64_t tile = reports::parse_count("--tile", arguments.tile, kLeastTile, kMostTile);
  const Options options = arguments.runtime.parse();
  reports::require_policy(options.policy);
  CommandFiles files;
  arguments.load.add_to(files);
  files.writes("--output", arguments.output);
  arguments.runtime.add_files(files, options, {options.policy});
  files.require();
  const auto kernels = kernels_of(tile, options);
  const auto progress = [](std::string_view what) { fmt::print(stderr, "measuring: {}\n", what); };
  calibration::Calibration calibration =
      calibration::calibrate(options, kernels, kept_on_disk(tile), progress);
  progress("policies");
  calibration.scheduling = calibration::measure_scheduling(
      graphs::make_graph({.application = "cholesky", .tiles = kScheduledTiles}),
      machine::load_machine("v100p", {}));
  // The standard output is the file's alone, if it goes there.
  fmt::print(arguments.output == "-" ? stderr : stdout, "{}",
             calibration::calibration_text(calibration));
  if (arguments.output.empty()) return;
  write_text(arguments.output,
             calibration::machine_file(calibration, sentence_of(calibration, tile)));
}

}  // namespace

void add_calibrate(CLI::App& app, Session& /*session*/) {
  CLI::App* command =
      app.add_subcommand("calibrate", "Measures this machine and writes a machine file.");
  auto arguments = std::make_shared<CalibrateArguments>(*command);
  command->add_option("-o,--output", arguments->output, "Machine file to write; -: to the output.")
      ->type_name("FILE");
  command->add_option("--tile", arguments->tile, "Order of the tiles of the timed kernels.")
      ->type_name("INTEGER [512]");
  command->footer(
      "The options of the runtime say what is measured: --disk DIR, --accelerators N, "
      "--cuda-devices N, --opencl-devices N, --workers N.");
  command->callback([arguments] { calibrate(*arguments); });
}

}  // namespace vicinal::cli
