// Made-up graphs, to see what a policy does where an application hides it. The same parameters and the
// same seed give the same graph with every compiler. Tasks take as long on an accelerator as on a core.
// What is out of range is refused with UsageError, see limits.hpp.
#pragma once

#include <cstdint>

#include "graph/graph.hpp"
#include "vicinal/units.hpp"

namespace vicinal::graphs {

// Independent tasks "work" that each read `degree` different data D{i} of those in RAM, chosen at random:
// only what is loaded how often makes a difference between two orders.
struct BipartiteShape {
  std::uint64_t tasks = 1000;
  std::uint64_t data = 100;
  std::uint64_t degree = 2;  // at most 8192, and `data`
  Bytes bytes = 4_MiB;       // of each datum
  double seconds = 1e-3;     // of each task
  std::uint64_t seed = 1;
};
graph::Graph random_bipartite(const BipartiteShape& shape);

// Jacobi's iteration in one dimension: `steps` sweeps over `width` blocks, from one buffer into the other.
// Task i of a sweep reads blocks i-1, i, i+1, as far as there are, and overwrites block i of the other
// buffer. The blocks a{i} of the first buffer lie in RAM; the others, b{i}, have no home.
struct StencilShape {
  std::uint64_t width = 32;
  std::uint64_t steps = 10;
  Bytes bytes = 4_MiB;    // of each block
  double seconds = 1e-3;  // of each task
};
graph::Graph stencil(const StencilShape& shape);

// A layered graph at random: layers of 1 to 2 sqrt(tasks) tasks. A task reads one to four data, mostly
// results of the layer before, else older ones. Three tasks in four write a datum of their own, the others
// change a datum that they read. The first layer reads inputs I{i} in RAM. Sizes and times vary by 1/8 to 8 around
// `bytes` and `seconds`, times by kernel ("k0" to "k15"). Priorities are 0.
struct RandomShape {
  std::uint64_t tasks = 1000;
  Bytes bytes = 4_MiB;
  double seconds = 1e-3;
  std::uint64_t seed = 1;
};
graph::Graph random_dag(const RandomShape& shape);

}  // namespace vicinal::graphs
