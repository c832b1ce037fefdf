// The blocks of a dense graph as registered data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graphs/linalg_graphs.hpp"
#include "linalg/tiled_matrix.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::linalg {

// lu: A is Generator::dominant. Products: A is random with elements of size 1 / sqrt(K), K the inner dimension,
// B with elements of size 1, so that C has elements of size 1/3; C is 0 where it has content at the start.
class DenseData {
 public:
  // Registers them without content. The graph outlives this object.
  DenseData(Runtime& runtime, const graphs::DenseGraph& graph, std::uint64_t seed);

  const graphs::DenseGraph& graph() const { return graph_; }
  Precision precision() const { return graph_.tiles.precision; }
  Handle operator[](std::size_t datum) const { return handles_[datum]; }
  // What the datum holds at the start.
  GeneratedPart content(std::size_t datum) const;
  // Blocks that have content at the start.
  std::uint64_t fill_tasks() const;
  // Submits one task for each of them.
  void fill(Runtime& runtime) const;
  // Forgets data and content.
  void unregister(Runtime& runtime);

 private:
  const graphs::DenseGraph& graph_;
  std::uint64_t seed_;
  std::vector<Handle> handles_;  // one per datum of the graph
};

}  // namespace vicinal::linalg
