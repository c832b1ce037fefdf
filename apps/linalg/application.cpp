#include "linalg/application.hpp"

#include <fmt/format.h>

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
  const std::string& kernel = kernels[task.kernel].name;
  const TaskIndex t = index(task);
  const std::size_t indices = kernels[task.kernel].indices;
  if (indices == 1) return fmt::format("{}({})", kernel, t.k);
  if (indices == 3) return fmt::format("{}({},{},{})", kernel, t.i, t.j, t.k);
  // syrk writes a tile on the diagonal.
  return fmt::format("{}({},{})", kernel, t.i, t.i == t.j ? t.k : t.j);
}

}  // namespace vicinal::linalg
