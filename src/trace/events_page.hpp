// The page docs/trace.md: how runs are recorded, and every event.
#pragma once

#include <string>

namespace vicinal::trace {

std::string events_markdown();

}  // namespace vicinal::trace
