// vicinal export: a recorded run in the formats of other tools.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

#include <fmt/format.h>

#include "command_files.hpp"
#include "exporters/exporters.hpp"
#include "output_file.hpp"
#include "output_folder.hpp"
#include "reports/catalogue.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

using exporters::Format;

struct ExportArguments {
  std::vector<std::string> traces;
  std::string format;
  std::string output;
  std::vector<std::string> times;
};

// "gemm@gpu=1.4e-3"; a codelet's name may have the signs, too.
analysis::KernelTime parse_time(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::size_t at = text.rfind('@', equals);
  if (equals == std::string::npos || at == std::string::npos || at == 0) {
    throw UsageError(
        fmt::format("--time {}: write CODELET@KIND=SECONDS, such as gemm@gpu=1.4e-3", text));
  }
  const std::string kind = text.substr(at + 1, equals - at - 1);
  for (std::size_t k = 0; k < kProcessorKinds; ++k) {
    if (kind != to_string(static_cast<ProcessorKind>(k))) continue;
    const double seconds = reports::parse_real("--time", text.substr(equals + 1), 0);
    if (seconds <= 0) throw UsageError(fmt::format("--time {}: the time must be above 0", text));
    return {text.substr(0, at), static_cast<ProcessorKind>(k), seconds};
  }
  throw UsageError(fmt::format(
      "--time {}: there is no kind of processor {}; there are cpu, emulated, gpu, opencl "
      "and cuda",
      text, kind));
}

std::string list_of_formats() {
  std::string list;
  for (const Format& format : exporters::formats()) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", format.name);
  }
  return list;
}

const Format& wanted_format(const std::string& name) {
  if (name.empty()) {
    throw UsageError(fmt::format("say in which format: --format {}", list_of_formats()));
  }
  const Format* const format = exporters::find_format(name);
  if (format == nullptr) {
    std::vector<std::string> names;
    for (const Format& known : exporters::formats()) names.emplace_back(known.name);
    std::string help = reports::suggestion(name, names);
    if (help.empty()) help = fmt::format("; there are {}", list_of_formats());
    throw UsageError(fmt::format("--format {}: unknown format{}", name, help));
  }
  if (!format->needs.empty()) {
    throw UsageError(
        fmt::format("--format {}: this vicinal was built without it; install {} and build again",
                    name, format->needs));
  }
  return *format;
}

// What the export says of less than the run is said beside it.
void warn(const analysis::RecordedRun& run, const std::vector<std::string>& traces) {
  const std::string name = reports::legible_name(
      traces.size() == 1 ? traces.front()
                         : fmt::format("{} and {} more", traces.front(), traces.size() - 1));
  if (!run.complete) {
    fmt::print(stderr,
               "vicinal: {}: the recording was not ended: it goes as far as its last event\n",
               name);
  }
  if (run.events_lost > 0) {
    fmt::print(stderr, "vicinal: {}: {} events were lost while it was recorded\n", name,
               run.events_lost);
  }
}

void export_run(const ExportArguments& arguments) {
  if (arguments.traces.empty()) {
    throw UsageError("say which recording: vicinal export TRACE --format FORMAT --output PATH");
  }
  const Format& format = wanted_format(arguments.format);
  std::vector<analysis::KernelTime> times;
  for (const std::string& text : arguments.times) times.push_back(parse_time(text));
  if (!times.empty() && format.name != "graph") {
    throw UsageError(fmt::format(
        "--time: {} has what was recorded, only graph is played; leave it away", format.name));
  }
  if (arguments.output.empty()) throw UsageError("say where to leave the export: --output PATH");
  const bool is_folder = format.write_folder != nullptr;
  if (is_folder && arguments.output == "-") {
    throw UsageError(fmt::format("--output -: {} is a folder; give the path of one", format.name));
  }
  CommandFiles files;
  for (const std::string& trace : arguments.traces) files.reads("the recording", trace);
  if (is_folder) {
    require_free("--output", arguments.output);
  } else {
    files.writes("--output", arguments.output);
  }
  files.require();
  const exporters::RecordedFile file(arguments.traces);
  warn(file.recording().run, arguments.traces);
  if (is_folder) {
    OutputFolder folder(arguments.output);
    format.write_folder(file.recording(), folder.path());
    folder.finish();
  } else {
    OutputFile output(arguments.output);
    exporters::Recording recording = file.recording();
    recording.times = times;
    format.write_file(recording, [&](std::string_view piece) { output.write(piece); });
    output.finish();
  }
  fmt::print(arguments.output == "-" ? stderr : stdout, "{}: {}: {}\n",
             reports::legible_name(arguments.output), format.name, format.sentence);
}

std::string help_of_formats() {
  std::string help = "One of:";
  for (const Format& format : exporters::formats()) {
    help += fmt::format("\n{}: {}", format.name, format.sentence);
    if (!format.needs.empty()) help += " (left out when this vicinal was built)";
  }
  return help;
}

}  // namespace

void add_export(CLI::App& app, Session& /*session*/) {
  CLI::App* command =
      app.add_subcommand("export", "Writes a recorded run in the format of another tool.");
  auto arguments = std::make_shared<ExportArguments>();
  command
      ->add_option(
          "trace", arguments->traces,
          "The recording: a file that --trace has written, or those of all ranks of a run.")
      ->type_name("TRACE");
  command->add_option("--format", arguments->format, help_of_formats())->type_name("FORMAT");
  command
      ->add_option("-o,--output", arguments->output,
                   "The file, or the folder, which is made; -: the standard output.")
      ->type_name("PATH");
  command
      ->add_option("--time", arguments->times,
                   "graph: what a task of a codelet takes on a kind of processor (cpu, emulated, "
                   "gpu, opencl, cuda), "
                   "such as gemm@gpu=1.4e-3; for each that the run did not use.")
      ->type_name("CODELET@KIND=SECONDS")
      ->expected(1)
      ->take_all();
  command->callback([arguments] { export_run(*arguments); });
}

}  // namespace vicinal::cli
