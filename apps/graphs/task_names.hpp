// Names of tasks as the application of the graph gives them when it runs: "gemm(3,1,0)". Generators leave them out, for
// simulated tasks without names cost less.
#pragma once

#include "graph/graph.hpp"

namespace vicinal::graphs {

// Of cholesky, lu and gemm3d; what has names keeps them, and in other graphs tasks are known by their numbers.
void name_tasks(graph::Graph& graph);

}  // namespace vicinal::graphs
