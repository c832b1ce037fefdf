#include "linalg/application.hpp"

#include "graphs/task_names.hpp"

namespace vicinal::linalg {

TaskIndex Application::index(const Task& task) const {
  const graphs::MatrixBlock& read = data[task.accesses.front().datum].block;
  const graphs::MatrixBlock& written = data[task.accesses.back().datum].block;
  const auto tile_of = [&](std::uint64_t element) {
    return static_cast<std::uint32_t>(element / grid.tile);
  };
  return {.i = tile_of(written.first_row),
          .j = tile_of(written.first_column),
          .k = tile_of(read.first_column),
          .tile = static_cast<std::uint32_t>(grid.tile)};
}

std::string Application::task_name(const Task& task) const {
  const TaskKernel& kernel = kernels[task.kernel];
  const TaskIndex t = index(task);
  return graphs::task_name(kernel.name, kernel.indices, t.i, t.j, t.k);
}

}  // namespace vicinal::linalg
