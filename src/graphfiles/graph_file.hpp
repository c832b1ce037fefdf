// Graphs of tasks in files: our own format, and those in which others keep theirs. docs/graph-file.md describes them.
//
//   graph::Graph graph = graphfiles::read_graph("cholesky.json");
//   graph::set_bottom_level_priorities(graph);
//
// All readers throw UsageError. Its message names the file; for what is not of the format, line and column; for
// what means nothing, the place ("tasks[12].accesses[1]") and, for a misspelt name, the nearest valid
// one. What they return has passed require_sound. Memory and time are linear in the text.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "graph/graph.hpp"
#include "graphfiles/workflow.hpp"

namespace vicinal::graphfiles {

// Of any format, told apart by the content (graph_format.hpp). What a reader notes is a warning in the log.
graph::Graph read_graph(const std::string& path);

// `origin` names the text in messages.
graph::Graph parse_graph(std::string_view text, const std::string& origin);
graph::Graph parse_graph(std::string_view text, const std::string& origin, Notes& notes);
graph::Graph parse_graph_json(std::string_view text, const std::string& origin);
graph::Graph parse_wfformat(std::string_view text, const std::string& origin);
graph::Graph parse_wfformat(std::string_view text, const std::string& origin, Notes& notes);
graph::Graph parse_dot(std::string_view text, const std::string& origin);
graph::Graph parse_dax(std::string_view text, const std::string& origin);
graph::Graph parse_dax(std::string_view text, const std::string& origin, Notes& notes);
graph::Graph parse_stg(std::string_view text, const std::string& origin);
graph::Graph parse_starpu_tasks(std::string_view text, const std::string& origin);
graph::Graph parse_starpu_tasks(std::string_view text, const std::string& origin, Notes& notes);

// The graph in our own format, one line per datum, kernel and task. Read again it is the same graph: data,
// kernels, tasks and accesses in the same order, every number the same. Throws UsageError if two data or
// two kernels have the same name. Whether the stream took all of it is the caller's to check.
void write_graph_json(const graph::Graph& graph, std::ostream& out);

}  // namespace vicinal::graphfiles
