// A recorded run as a plan: its tasks where they ran, in the order in which they began.
#pragma once

#include <string>

#include "analysis/recorded_run.hpp"
#include "graph/kept_plan.hpp"

namespace vicinal::analysis {

// Of the tasks of the application that have ended well. `origin` names the recording in messages. Throws UsageError where
// the recording does not say which task was which, or on which node one ran, or is of several ranks.
graph::KeptPlan plan_of(const RecordedRun& run, const std::string& origin);

}  // namespace vicinal::analysis
