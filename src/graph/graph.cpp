#include "graph/graph.hpp"

#include <utility>

namespace vicinal::graph {

void Graph::set_kernels(std::vector<Kernel> one_per_use) {
  kernels_ = std::move(one_per_use);
  Number next = 0;
  for (Task& task : tasks_) task.kernel = next++;
  for (Reduction& reduction : reductions_) {
    reduction.neutral = next++;
    reduction.combine = next++;
  }
}

void Graph::renumber(std::span<const Number> kernels, std::span<const Number> data) {
  for (Task& task : tasks_) task.kernel = kernels[task.kernel];
  for (Access& access : accesses_) access.datum = data[access.datum];
}

}  // namespace vicinal::graph
