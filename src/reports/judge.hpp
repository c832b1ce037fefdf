// What a report says first: what binds its fastest run, from the recording of it.
#pragma once

#include <string>

#include "reports/report.hpp"

namespace vicinal::reports {

// Throws what trace::Reader and analysis::RecordedRun do.
ReportVerdict judge(const std::string& recording, const std::string& policy);

}  // namespace vicinal::reports
