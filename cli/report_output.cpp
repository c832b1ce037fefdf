#include "report_output.hpp"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "output_file.hpp"
#include "progress.hpp"

namespace vicinal::cli {

ReportOutput::ReportOutput(Session& session, reports::Report report, std::string json, bool verbose,
                           std::size_t runs)
    : report_(std::move(report)),
      json_(std::move(json)),
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
  for (const reports::RunRecord& run : report_.runs) {
    if (!run.error.empty() || run.verified == false) return kFailure;
  }
  return kSuccess;
}

void ReportOutput::print() const {
  // The standard output is the JSON's alone, if it goes there.
  fmt::print(json_ == "-" ? stderr : stdout, "{}", reports::report_text(report_, verbose_));
  if (!json_.empty()) write_text(json_, reports::report_json(report_));
}

void ReportOutput::interrupted() {
  const std::lock_guard lock(mutex_);
  clear_progress();
  fmt::print(stderr, "vicinal: interrupted: {} of {} {} ended\n", report_.runs.size(), runs_,
             runs_ == 1 ? "run has" : "runs have");
  if (!report_.runs.empty()) print();
}

}  // namespace vicinal::cli
