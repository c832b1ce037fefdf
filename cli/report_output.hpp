// The report of several runs, one after the other: printed and written at the end, or when the process is
// interrupted, with the runs that have ended.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command_files.hpp"
#include "reports/report.hpp"
#include "session.hpp"

namespace vicinal::cli {

// Where a report goes beside what is printed: each a file, "-" or nothing.
struct ReportFiles {
  std::string json;
  std::string page;
  std::string plot;                     // an SVG; never the output
  std::vector<std::string> recordings;  // of the runs, for the page

  // To what the command writes. Throws UsageError: JSON and page go to the output both, or the picture is no SVG.
  void add_to(CommandFiles& written) const;
  // --json, --report, --plot. This object must outlive the parse.
  void add_options(CLI::App& command);
};

class ReportOutput {
 public:
  // `runs`: how many there will be.
  ReportOutput(Session& session, reports::Report report, ReportFiles files, bool verbose,
               std::size_t runs);
  ReportOutput(const ReportOutput&) = delete;
  ReportOutput& operator=(const ReportOutput&) = delete;

  // `run` gives the record. What goes wrong in it is its outcome, and the others go on; but UsageError and
  // CapacityError of the first run go through: most often they are the same for every policy. Returns whether it has ended well.
  template <typename Run>
  bool add(const std::string& policy, const Run& run);
  // Another rank prints and writes the report: this one, of that name, tells its errors alone.
  void leave_it_to_another(std::string name) { quiet_as_ = std::move(name); }
  // Finds out what binds the fastest run; gives nothing where that is not known. Called by finish().
  using Judge = std::function<std::optional<reports::ReportVerdict>(const std::string& policy)>;
  void judge_by(Judge judge) { judge_ = std::move(judge); }
  // The exit status.
  int finish();

 private:
  void print() const;  // under mutex_
  void tell_errors() const;
  void find_verdict();
  void write_page() const;
  void draw_plot() const;
  void interrupted();
  void add(reports::RunRecord record);

  std::mutex mutex_;
  reports::Report report_;  // under mutex_
  ReportFiles files_;
  bool verbose_;
  std::size_t runs_;
  Judge judge_;
  std::string quiet_as_;  // empty: it is this one that prints
  Signals::AtInterrupt at_interrupt_;
};

template <typename Run>
bool ReportOutput::add(const std::string& policy, const Run& run) {
  reports::RunRecord record;
  try {
    record = run();
  } catch (const std::exception& error) {
    const bool may_be_everyones = dynamic_cast<const UsageError*>(&error) != nullptr ||
                                  dynamic_cast<const CapacityError*>(&error) != nullptr;
    if (report_.runs.empty() && may_be_everyones) throw;
    record.policy = policy;
    record.error = error.what();
  }
  const bool ended_well = record.error.empty();
  add(std::move(record));
  return ended_well;
}

}  // namespace vicinal::cli
