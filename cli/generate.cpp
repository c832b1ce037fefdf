// vicinal generate cholesky
#include <memory>

#include <fmt/format.h>

#include "reports/catalogue.hpp"
#include "runtime_options.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"

#if VICINAL_HAVE_BLAS

#include "linalg/run.hpp"
#include "matrix_options.hpp"
#include "output_file.hpp"

namespace vicinal::cli {

namespace {

struct GenerateArguments {
  explicit GenerateArguments(CLI::App& command) : matrix(command, {"cholesky"}), runtime(command) {}
  MatrixOptions matrix;
  RuntimeOptions runtime;
  std::string output;
};

void generate(const GenerateArguments& arguments, Signals& signals) {
  const linalg::TileGrid grid = arguments.matrix.parse();
  if (arguments.output.empty()) {
    throw UsageError("say where to leave the matrix: --output FILE");
  }
  const Options options = arguments.runtime.parse({arguments.output});
  CommandFiles files;
  files.writes("--output", arguments.output);
  arguments.runtime.add_files(files, options, {options.policy});
  files.require();
  Runtime runtime(options);
  const Signals::Watch watch(signals, runtime);
  {
    Progress progress = runtime.progress({.label = "generate"});
    const linalg::Application cholesky = linalg::cholesky(grid);
    linalg::generate(
        runtime, cholesky,
        {.seed = options.seed, .output = arguments.output, .left = linalg::TileContent::symmetric},
        [&](std::string_view phase, std::uint64_t tasks) { progress.phase(phase, tasks); });
  }
  const TraceSummary recorded = runtime.stop_trace();  // throws where it is not whole
  fmt::print("{}: {} x {} {}s in tiles of {}, {}\n", reports::legible_name(arguments.output),
             grid.size, grid.size, to_string(grid.precision), grid.tile,
             reports::format_bytes(grid.bytes()));
  fmt::print("{}", recording_line(recorded.file, recorded.written));
}

}  // namespace

void add_generate(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("generate", "Writes a matrix to a tile file.");
  auto arguments = std::make_shared<GenerateArguments>(*command);
  command->add_option("-o,--output", arguments->output, "Tile file to write.")->type_name("FILE");
  command->callback([arguments, &session] { generate(*arguments, session.signals); });
}

}  // namespace vicinal::cli

#endif
