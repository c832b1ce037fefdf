#include "linalg/pivots.hpp"

#include <string_view>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::linalg {

namespace {

void require(const TaskIndex& task, int minor, std::string_view kernel, std::string_view cause,
             std::string_view what) {
  if (minor == 0) return;
  const std::uint64_t row = std::uint64_t{task.k} * task.tile + static_cast<unsigned>(minor) - 1;
  throw TaskError(
      fmt::format("{0}({1}): the matrix {2}: pivot {3} of tile ({1},{1}), row {4} of "
                  "the matrix, is {5}",
                  kernel, task.k, cause, minor - 1, row, what));
}

}  // namespace

void require_potrf(const TaskIndex& task, int minor) {
  require(task, minor, "potrf", "is not positive definite", "not positive");
}
void require_getrf(const TaskIndex& task, int minor) {
  require(task, minor, "getrf", "needs pivoting", "0");
}

}  // namespace vicinal::linalg
