// What analyses found out about a run, as data: `vicinal explain --json` and the page of runs show the same.
// docs/explain.md has the names.
#pragma once

#include "analysis/advice.hpp"
#include "analysis/comparison.hpp"
#include "analysis/verdict.hpp"
#include "reports/json.hpp"

namespace vicinal::reports {

Json verdict_json(const analysis::Verdict& verdict);
Json path_json(
    const analysis::Analyses& analyses);  // the critical path by cause, without its steps
Json idle_json(const analysis::RecordedRun& run, const analysis::Idle& idle);
Json advice_json(const analysis::RecordedRun& run, const analysis::Analyses& analyses);
Json comparison_json(const analysis::Comparison& comparison);

}  // namespace vicinal::reports
