// Every event of a recording, as tables.
#pragma once

#include <string>

namespace vicinal::trace {
class Reader;
}

namespace vicinal::exporters {

// Makes the folder `events` in `folder`: a file for each kind of event that there is, with a column for each of its
// fields; candidates and scores of decisions are in decision_scores.csv. Throws DeviceError, and what the reader throws.
void write_events(const trace::Reader& file, const std::string& folder);

}  // namespace vicinal::exporters
