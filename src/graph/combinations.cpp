#include "graph/combinations.hpp"

namespace vicinal::graph {

std::vector<Combination> combinations_of(const Graph& graph) {
  std::vector<Combination> combinations;
  if (graph.reductions().empty()) return combinations;
  struct State {
    std::size_t reduction = 0;
    bool is_open = false;
    bool has_content = false;
  };
  std::vector<State> states(graph.data().size());
  for (std::size_t d = 0; d < states.size(); ++d) {
    states[d].has_content = graph.data()[d].home.has_value();
  }
  for (std::size_t r = 0; r < graph.reductions().size(); ++r) {
    states[graph.reductions()[r].datum].reduction = r;
  }
  const auto close = [&](State& state, std::size_t before) {
    if (!state.is_open) return;
    combinations.push_back({state.reduction, before, state.has_content});
    state.is_open = false;
    state.has_content = true;
  };
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    for (const auto& [datum, mode] : graph.accesses_of(graph.tasks()[t])) {
      State& state = states[datum];
      if (mode == AccessMode::reduction) {
        state.is_open = true;
      } else if (mode != AccessMode::scratch) {
        close(state, t);
        state.has_content |= leaves_content(mode);
      }
    }
  }
  for (const Graph::Reduction& reduction : graph.reductions()) {
    close(states[reduction.datum], graph.tasks().size());
  }
  return combinations;
}

}  // namespace vicinal::graph
