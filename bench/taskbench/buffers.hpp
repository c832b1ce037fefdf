// The data of the graphs for a library that leaves them to its user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "taskbench/graphs.hpp"
#include "taskbench/tasks.hpp"

namespace taskbench {

class Buffers {
 public:
  void prepare(const Graphs& graphs) {
    lines_ = (graphs.bytes() + sizeof(Line) - 1) / sizeof(Line);
    content_.assign(lines_ * graphs.data(), Line{});
  }
  std::byte* at(std::uint32_t datum) const {
    return const_cast<std::byte*>(content_[lines_ * datum].bytes);
  }

  void run_task(const Graph& graph, std::uint32_t step, std::uint32_t point) const {
    taskbench::run_task(graph, step, point, at(graph.datum(step, point)), [&](std::size_t k) {
      return at(graph.datum(step - 1, graph.inputs(step, point)[k]));
    });
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::uint64_t lines_ = 0;  // per datum
  std::vector<Line> content_;
};

}  // namespace taskbench
