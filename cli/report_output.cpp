#include "report_output.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "output_file.hpp"
#include "progress.hpp"
#include "reports/page/page.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

void ReportFiles::require_writable() const {
  if (json == "-" && page == "-") {
    throw UsageError("--report: JSON goes to the output; name a file for the page");
  }
  cli::require_writable("--json", json);
  cli::require_writable("--report", page);
  if (!page.empty()) reports::require_page();
}

ReportOutput::ReportOutput(Session& session, reports::Report report, ReportFiles files,
                           bool verbose, std::size_t runs)
    : report_(std::move(report)),
      files_(std::move(files)),
      verbose_(verbose),
      runs_(runs),
      at_interrupt_(session.signals, [this] { interrupted(); }) {}

void ReportOutput::add(reports::RunRecord record) {
  const std::lock_guard lock(mutex_);
  report_.runs.push_back(std::move(record));
}

int ReportOutput::finish() {
  const std::lock_guard lock(mutex_);
  print();
  write_page();
  for (const reports::RunRecord& run : report_.runs) {
    if (!run.error.empty() || run.verified == false) return kFailure;
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
  const bool all_ran =
      std::ranges::all_of(report_.runs, [](const auto& run) { return run.error.empty(); });
  if (files_.recordings.size() <= 2 && all_ran) request.recordings = files_.recordings;
  write_text(files_.page, reports::page(request));
}

void ReportOutput::interrupted() {
  const std::lock_guard lock(mutex_);
  clear_progress();
  fmt::print(stderr, "vicinal: interrupted: {} of {} {} ended\n", report_.runs.size(), runs_,
             runs_ == 1 ? "run has" : "runs have");
  if (!report_.runs.empty()) print();
}

}  // namespace vicinal::cli
