#include "linalg/dense_data.hpp"

#include <algorithm>
#include <cmath>

namespace vicinal::linalg {

DenseData::DenseData(Runtime& runtime, const graphs::DenseGraph& graph, std::uint64_t seed)
    : graph_(graph), seed_(seed) {
  handles_.reserve(graph.blocks.size());
  for (std::size_t d = 0; d < graph.blocks.size(); ++d) {
    const TileShape shape{graph.blocks[d].rows, graph.blocks[d].columns, 0,
                          element_bytes(precision())};
    handles_.push_back(runtime.register_empty(shape, std::string(graph.tasks.data_name(d))));
  }
}

GeneratedPart DenseData::content(std::size_t datum) const {
  const graphs::MatrixBlock& block = graph_.blocks[datum];
  const auto part = [&](const Generator& generator) {
    return GeneratedPart{generator, block.first_row, block.first_column};
  };
  if (graph_.tasks.application().name == "lu")
    return part(Generator::dominant(graph_.order(), seed_));
  const auto inner = static_cast<double>(graph_.tasks.application().dense->k);
  if (block.matrix == 'A') return part(Generator::random(1 / std::sqrt(inner), seed_));
  if (block.matrix == 'B') return part(Generator::random(1, seed_ + 1));
  return part(Generator::random(0, seed_));
}

std::uint64_t DenseData::fill_tasks() const {
  const auto& data = graph_.tasks.data();
  return static_cast<std::uint64_t>(std::count_if(
      data.begin(), data.end(), [](const auto& datum) { return datum.home.has_value(); }));
}

void DenseData::fill(Runtime& runtime) const {
  for (std::size_t d = 0; d < handles_.size(); ++d) {
    if (!graph_.tasks.data()[d].home) continue;
    submit_generate(runtime, handles_[d], precision(), content(d));
  }
}

void DenseData::unregister(Runtime& runtime) {
  for (const Handle handle : handles_) runtime.unregister(handle, WriteBack::no);
  handles_.clear();
}

}  // namespace vicinal::linalg
