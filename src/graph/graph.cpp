#include "graph/graph.hpp"

#include <utility>

namespace vicinal::graph {

void Graph::set_kernels(std::vector<Kernel> one_per_task) {
  kernels_ = std::move(one_per_task);
  for (std::size_t t = 0; t < tasks_.size(); ++t) tasks_[t].kernel = static_cast<Number>(t);
}

void Graph::renumber(std::span<const Number> kernels, std::span<const Number> data) {
  for (Task& task : tasks_) task.kernel = kernels[task.kernel];
  for (Access& access : accesses_) access.datum = data[access.datum];
}

}  // namespace vicinal::graph
