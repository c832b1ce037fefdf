#include "report_output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "draw_picture.hpp"
#include "output_file.hpp"
#include "reports/page/page.hpp"
#include "reports/terminal.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

void ReportFiles::add_to(CommandFiles& written) const {
  if (json == "-" && page == "-") {
    throw UsageError("--report: JSON goes to the output; name a file for the page");
  }
  if (!plot.empty() && !plot.ends_with(".svg")) {
    throw UsageError(fmt::format("--plot: {} is no name of an SVG; write --plot FILE.svg", plot));
  }
  if (!page.empty()) reports::require_page();
  written.writes("--json", json);
  written.writes("--report", page);
  written.writes("--plot", plot);
}

void ReportFiles::add_options(CLI::App& command) {
  command.add_option("--json", json, "Also write the report as JSON; -: to the output.")
      ->type_name("FILE");
  command.add_option("--report", page, kReportSentence)->type_name("FILE");
  command
      .add_option("--plot", plot,
                  "Also draw time and bytes of the policies beside the bounds, as SVG.")
      ->type_name("FILE");
}

ReportOutput::ReportOutput(Session& session, reports::Report report, ReportFiles files,
                           bool verbose, std::size_t runs)
    : report_(std::move(report)),
      files_(std::move(files)),
      verbose_(verbose),
      runs_(runs),
      at_interrupt_(session.signals, [this] { interrupted(); }) {}

void ReportOutput::add(reports::RunRecord record) {
  if (!record.recording.message.empty()) {
    fmt::print(stderr, "vicinal: {}: {}\n", record.policy, record.recording.message);
  }
  const std::lock_guard lock(mutex_);
  report_.runs.push_back(std::move(record));
}

int ReportOutput::finish() {
  const std::lock_guard lock(mutex_);
  print();
  write_page();
  draw_plot();
  for (const reports::RunRecord& run : report_.runs) {
    if (!run.error.empty() || run.verified == false || run.recording.failed) return kFailure;
  }
  return kSuccess;
}

void ReportOutput::print() const {
  // The standard output is the JSON's or the page's alone, if it goes there.
  const bool taken = files_.json == "-" || files_.page == "-";
  fmt::print(taken ? stderr : stdout, "{}", reports::report_text(report_, verbose_));
  if (!files_.json.empty()) write_text(files_.json, reports::report_json(report_));
}

void ReportOutput::write_page() const {
  if (files_.page.empty()) return;
  reports::PageRequest request;
  request.report = &report_;
  // Of more than two runs the page shows the ranking alone. A run that failed may have left no recording.
  const bool all_ran = std::ranges::all_of(
      report_.runs, [](const auto& run) { return run.error.empty() && !run.recording.failed; });
  if (files_.recordings.size() <= 2 && all_ran) request.recordings = files_.recordings;
  write_text(files_.page, reports::page(request));
}

void ReportOutput::draw_plot() const {
  const auto ended_well = [](const auto& run) { return run.error.empty(); };
  if (files_.plot.empty() || std::ranges::none_of(report_.runs, ended_well)) return;
  // In memory: the script reads it as a file, and nothing is left behind.
  const int file = ::memfd_create("report", 0);
  if (file < 0)
    throw DeviceError(fmt::format("--plot: no memory for the report: {}", std::strerror(errno)));
  const std::string path = fmt::format("/dev/fd/{}", file);
  std::string missing;
  try {
    std::ofstream content(path);
    content << reports::report_json(report_) << std::flush;
    if (!content)
      throw DeviceError(fmt::format("--plot: no room for the report: {}", std::strerror(errno)));
    missing = draw_picture(path, files_.plot);
  } catch (...) {
    ::close(file);
    throw;
  }
  ::close(file);
  if (!missing.empty()) throw DeviceError("--plot: " + missing);
}

void ReportOutput::interrupted() {
  const std::lock_guard lock(mutex_);
  reports::clear_line();
  fmt::print(stderr, "vicinal: interrupted: {} of {} {} ended\n", report_.runs.size(), runs_,
             runs_ == 1 ? "run has" : "runs have");
  if (!report_.runs.empty()) print();
}

}  // namespace vicinal::cli
