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
#include "kernel_time_option.hpp"
#include "output_file.hpp"
#include "output_folder.hpp"
#include "reports/catalogue.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

using exporters::Format;

struct ExportArguments {
  explicit ExportArguments(CLI::App& command) : times(command) {}
  std::vector<std::string> traces;
  std::string format;
  std::string output;
  KernelTimeOption times;
};

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
  const std::vector<analysis::KernelTime> times = arguments.times.times();
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
  auto arguments = std::make_shared<ExportArguments>(*command);
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
  command->callback([arguments] { export_run(*arguments); });
}

}  // namespace vicinal::cli
