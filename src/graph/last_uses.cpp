#include "graph/last_uses.hpp"

#include <algorithm>

namespace vicinal::graph {

std::vector<std::size_t> last_uses(const Graph& graph) {
  std::vector<std::size_t> last(graph.data().size());
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    for (const Graph::Access& access : graph.accesses_of(graph.tasks()[t])) last[access.datum] = t;
  }
  return last;
}

std::vector<bool> temporaries_of(const Graph& graph) {
  std::vector<bool> is_temporary(graph.data().size());
  std::vector<bool> changes(graph.data().size());
  for (const Graph::Task& task : graph.tasks()) {
    // A task may name a datum twice.
    for (const Graph::Access& access : graph.accesses_of(task)) is_temporary[access.datum] = true;
    for (const Graph::Access& access : graph.accesses_of(task)) {
      if (access.mode == AccessMode::R) continue;
      is_temporary[access.datum] = false;
      if (access.mode != AccessMode::W) changes[access.datum] = true;
    }
  }
  for (std::size_t d = 0; d < is_temporary.size(); ++d) {
    if (graph.data()[d].home || changes[d]) is_temporary[d] = false;
  }
  for (const auto& [whole, first, count] : graph.partitions()) {
    is_temporary[whole] = false;
    std::fill_n(is_temporary.begin() + first, count, false);
  }
  for (const auto& reduction : graph.reductions()) is_temporary[reduction.datum] = false;
  return is_temporary;
}

}  // namespace vicinal::graph
