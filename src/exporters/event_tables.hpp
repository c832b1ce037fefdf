// Every event of a recording, as tables.
#pragma once

#include "exporters/table.hpp"

namespace vicinal::trace {
class EventSource;
}

namespace vicinal::exporters {

// A table for each kind of event that there is, with a column for each of its fields; candidates and scores of
// decisions are in decision_scores. Throws DeviceError, and what the file throws.
void write_events(const trace::EventSource& file, Tables& tables);

}  // namespace vicinal::exporters
