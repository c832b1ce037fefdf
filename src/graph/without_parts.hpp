// A graph in which no datum is in parts, with the same dependencies and the same bytes.
#pragma once

#include "graph/graph.hpp"

namespace vicinal::graph {

// Tasks and data have the same numbers. Who accesses a datum in parts accesses its parts, down to those that are whole,
// and what is left of it: it keeps the bytes that are in no part. Parts are at home where the whole is.
// What is known of graphs without parts (bounds, bottom levels) holds for the graph.
Graph without_parts(const Graph& graph);

}  // namespace vicinal::graph
