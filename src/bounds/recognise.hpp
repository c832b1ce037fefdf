// Tiled factorisations known by their tasks alone: graphs out of files do not say which application made them.
#pragma once

#include <optional>
#include <string_view>

#include "graph/graph.hpp"

namespace vicinal::bounds {

struct DenseKernel {
  std::string_view name;  // "cholesky", "lu"
  graph::DenseShape shape;
};

// Of a graph whose tasks are those of one factorisation of a matrix in equal tiles, each once, in an order in which
// the updates of a tile have rising steps, and tasks that fill tiles; names and kernels do not count. Without pivoting.
// O(tasks).
std::optional<DenseKernel> recognise(const graph::Graph& graph);

}  // namespace vicinal::bounds
