// The bounds of a graph on a machine: beside what a run took, as a table for people and as JSON for
// programs.
//
//   record.bounds = run_bounds(bounds::graph_bounds(graph, machine.description, seconds));
#pragma once

#include <string>

#include "bounds/graph_bounds.hpp"
#include "reports/report.hpp"

namespace vicinal::reports {

// For the report of a run.
reports::RunBounds run_bounds(const bounds::GraphBounds& bounds);

// A line per bound, the largest of its group marked; ends with a line feed.
std::string bounds_text(const bounds::GraphBounds& bounds);
// Documented in docs/report.md. Indented; ends with a line feed.
std::string bounds_json(const bounds::GraphBounds& bounds);

}  // namespace vicinal::reports
