#include "report_output.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "help_format.hpp"
#include "output_file.hpp"
#include "reports/draw_picture.hpp"
#include "reports/judge.hpp"
#include "reports/page/page.hpp"
#include "reports/terminal.hpp"
#include "runtime_options.hpp"
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
  if (quiet_as_.empty()) {
    find_verdict();
    print();
    write_page();
    draw_plot();
  } else {
    tell_errors();
  }
  for (const reports::RunRecord& run : report_.runs) {
    if (!run.error.empty() || run.verified == false || run.recording.failed) return kFailure;
  }
  return kSuccess;
}

void ReportOutput::tell_errors() const {
  for (const reports::RunRecord& run : report_.runs) {
    if (run.error.empty()) continue;
    fmt::print(stderr, "vicinal: {}: {} failed: {}\n", quiet_as_, run.policy, run.error);
  }
}

// A recording that cannot be read is told of where it is asked for; a report goes without.
void ReportOutput::find_verdict() {
  const reports::RunRecord* const fastest = reports::fastest(report_);
  if (fastest == nullptr) return;
  try {
    for (std::size_t r = 0; r < report_.runs.size(); ++r) {
      const bool recorded = r < files_.recordings.size() && !report_.runs[r].recording.failed;
      if (&report_.runs[r] != fastest || !recorded) continue;
      report_.verdict = reports::judge(files_.recordings[r], fastest->policy);
    }
    if (!report_.verdict && judge_) report_.verdict = judge_(fastest->policy);
  } catch (const std::exception&) {
    report_.verdict.reset();
  }
}

void ReportOutput::print() const {
  // The standard output is the JSON's or the page's alone, if it goes there.
  const bool taken = files_.json == "-" || files_.page == "-";
  std::FILE* const output = taken ? stderr : stdout;
  fmt::print(output, "{}", reports::report_text(report_, verbose_, columns_of_table(taken)));
  for (const reports::RunRecord& run : report_.runs) {
    fmt::print(output, "{}", recording_line(run.recording.file, run.recording.bytes));
  }
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
  reports::draw_picture_of(reports::report_json(report_), files_.plot);
}

void ReportOutput::interrupted() {
  const std::lock_guard lock(mutex_);
  if (!quiet_as_.empty()) return;
  reports::clear_line();
  fmt::print(stderr, "vicinal: interrupted: {} of {} {} ended\n", report_.runs.size(), runs_,
             runs_ == 1 ? "run has" : "runs have");
  if (!report_.runs.empty()) print();
}

}  // namespace vicinal::cli
