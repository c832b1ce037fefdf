// Names of tasks as the application of the graph gives them when it runs: "gemm(3,1,0)". Generators leave them out, for
// simulated tasks without names cost less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "graph/graph.hpp"

namespace vicinal::graphs {

// Of a task that writes tile (i, j) in step k. `indices`: 1, the step; 2, the row, and the step or the column; 3, row,
// column and step.
std::string task_name(std::string_view kernel, std::size_t indices, std::uint32_t i,
                      std::uint32_t j, std::uint32_t k);

// Of cholesky, lu and gemm3d; what has names keeps them, and in other graphs tasks are known by their numbers.
void name_tasks(graph::Graph& graph);

}  // namespace vicinal::graphs
