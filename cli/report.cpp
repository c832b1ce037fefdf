// vicinal report: the page of a recorded run, or of two that are compared.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "command_files.hpp"
#include "output_file.hpp"
#include "reports/page/page.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

struct ReportArguments {
  std::vector<std::string> recordings;
  std::string output;
};

void write_report(const ReportArguments& arguments) {
  if (arguments.recordings.empty()) {
    throw UsageError(
        "report: name the recording of one run, those of all its ranks, or of two runs that are "
        "compared: vicinal report run.vtrace -o run.html");
  }
  if (arguments.output.empty()) {
    throw UsageError("report: say where the page goes: -o run.html, or -o - to the output");
  }
  CommandFiles files;
  for (const std::string& recording : arguments.recordings) files.reads("the recording", recording);
  files.writes("--output", arguments.output);
  files.require();
  reports::require_page();
  reports::PageRequest request;
  request.recordings = arguments.recordings;
  write_text(arguments.output, reports::page(request));
}

}  // namespace

void add_report(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand(
      "report", "Makes a page of a recorded run, which a browser opens; of two runs it compares.");
  auto arguments = std::make_shared<ReportArguments>();
  command
      ->add_option("recording", arguments->recordings,
                   "Of one run, of all ranks of one, or of two runs.")
      ->type_name("TRACE");
  command->add_option("-o,--output", arguments->output, "The page; -: to the output.")
      ->type_name("FILE");
  command->footer(
      "vicinal run and vicinal simulate record with --trace FILE. docs/report-page.md says what "
      "the "
      "page shows.");
  command->callback([arguments] { write_report(*arguments); });
}

}  // namespace vicinal::cli
