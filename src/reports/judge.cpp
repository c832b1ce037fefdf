#include "reports/judge.hpp"

#include <span>
#include <utility>

#include "analysis/phases.hpp"
#include "analysis/recorded_run.hpp"
#include "analysis/verdict.hpp"
#include "trace/open_runs.hpp"

namespace vicinal::reports {

ReportVerdict judge(const std::string& recording, const std::string& policy) {
  const analysis::RecordedRun run(*trace::open_runs(std::span(&recording, 1), 1).at(0), false);
  const analysis::RecordedRun proper = analysis::run_proper(run);
  analysis::Verdict verdict = analysis::verdict(proper, analysis::analyse(proper));
  return {policy, std::move(verdict.sentence), std::move(verdict.remedy),
          std::string(analysis::to_string(verdict.binder)), verdict.share};
}

}  // namespace vicinal::reports
