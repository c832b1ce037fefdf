// Facts of a report in one line.
#pragma once

#include <string>

#include "reports/report.hpp"

namespace vicinal::reports {

std::string facts_text(const Facts& facts);  // "size 20000, tile 1000"

}  // namespace vicinal::reports
