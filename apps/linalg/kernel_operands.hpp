// What the kernels of all factorisations by tiles are given.
#pragma once

#include <cstddef>
#include <cstdint>

#include "linalg/block.hpp"
#include "vicinal/codelet.hpp"

namespace vicinal::linalg {

// Which task a task is, for its parameter: step k, tile (i, j) written. 16 bytes: carried in the task.
struct TaskIndex {
  std::uint32_t i = 0;
  std::uint32_t j = 0;
  std::uint32_t k = 0;
  std::uint32_t tile = 0;  // elements
};

template <typename T>
Block<T> operand_block(const KernelContext& context, std::size_t operand) {
  const Layout& layout = context.operand(operand).layout;
  return {context.data<T>(operand), static_cast<int>(layout.rows()),
          static_cast<int>(layout.columns), static_cast<int>(layout.leading_dimension())};
}

}  // namespace vicinal::linalg
