// What the tables of a recorded run hold; docs/exports.md lists the columns.
#pragma once

#include "exporters/exporters.hpp"
#include "exporters/table.hpp"

namespace vicinal::exporters {

// Those of tasks, data, copies and so on; without a file those of events are left out.
void write_tables(const Recording& recording, Tables& tables);

}  // namespace vicinal::exporters
