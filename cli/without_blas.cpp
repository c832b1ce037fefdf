// The subcommands that compute, in a build without OpenBLAS: they say what is missing.
#if !VICINAL_HAVE_BLAS

#include <string>

#include <fmt/format.h>

#include "session.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

void add_missing(CLI::App& app, const std::string& name, std::string_view does,
                 std::string_view lost) {
  CLI::App* command = app.add_subcommand(name, fmt::format("{} (not in this build).", does));
  command->parse_complete_callback([lost] {  // before its arguments are refused
    throw UsageError(
        fmt::format("this vicinal was built without OpenBLAS and has no {}: install "
                    "libopenblas-serial-dev and build it again",
                    lost));
  });
}

}  // namespace

void add_run(CLI::App& app, Session& /*session*/) {
  add_missing(app, "run", "Runs an application", "application to run");
}

void add_generate(CLI::App& app, Session& /*session*/) {
  add_missing(app, "generate", "Writes a matrix", "matrix to write");
}

}  // namespace vicinal::cli

#endif
