#include "graph/without_parts.hpp"

#include <algorithm>
#include <vector>

namespace vicinal::graph {

namespace {

using Number = Graph::Number;

class Parts {
 public:
  explicit Parts(const Graph& graph) : graph_(graph), partition_of_(graph.data().size()) {
    for (const Graph::Partition& partition : graph.partitions()) {
      partition_of_[partition.whole] = &partition;
    }
  }

  // What is left of it, and its parts.
  template <typename Visit>
  void visit(Number datum, const Visit& visit_one) const {
    const Graph::Partition* const partition = partition_of_[datum];
    if (partition == nullptr || rest(datum).value > 0) visit_one(datum);
    if (partition == nullptr) return;
    for (Number i = 0; i < partition->count; ++i) visit(partition->first + i, visit_one);
  }
  Bytes rest(Number datum) const {
    Bytes left = graph_.data()[datum].bytes;
    const Graph::Partition* const partition = partition_of_[datum];
    if (partition == nullptr) return left;
    for (Number i = 0; i < partition->count; ++i) {
      left = left - std::min(left, graph_.data()[partition->first + i].bytes);
    }
    return left;
  }

 private:
  const Graph& graph_;
  std::vector<const Graph::Partition*> partition_of_;  // by datum; null: it is whole
};

}  // namespace

Graph without_parts(const Graph& graph) {
  const Parts parts(graph);
  Graph whole;
  whole.application() = graph.application();
  for (const Graph::Kernel& kernel : graph.kernels()) whole.add_kernel(kernel);
  for (Number d = 0; d < graph.data().size(); ++d) {
    whole.add_datum({.bytes = parts.rest(d), .home = graph.data()[d].home}, graph.data_name(d));
  }
  for (Number d = 0; d < graph.data().size(); ++d) {
    const std::optional<NodeKind> home = graph.data()[d].home;
    if (home) parts.visit(d, [&](Number part) { whole.set_home(part, home); });
  }
  for (const Graph::Reduction& reduction : graph.reductions()) whole.add_reduction(reduction);
  std::vector<Graph::Access> accesses;
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    const Graph::Task& task = graph.tasks()[t];
    accesses.clear();
    for (const Graph::Access& access : graph.accesses_of(task)) {
      parts.visit(access.datum, [&](Number part) { accesses.push_back({part, access.mode}); });
    }
    whole.add_task(task.kernel, accesses, task.priority, graph.task_name(t),
                   graph.predecessors_of(t));
  }
  return whole;
}

}  // namespace vicinal::graph
