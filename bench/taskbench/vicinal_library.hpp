// Vicinal as a library to be measured; see taskbench/samples.hpp for what is asked of one.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "taskbench/graphs.hpp"
#include "taskbench/tasks.hpp"
#include "vicinal/runtime.hpp"

namespace taskbench {

class VicinalLibrary {
 public:
  explicit VicinalLibrary(std::uint32_t workers) : runtime_(options(workers)) {}

  std::string name() const { return "vicinal"; }

  void prepare(const Graphs& graphs) {
    for (std::uint32_t i = 0; i < graphs.data(); ++i) {
      handles_.push_back(runtime_.register_empty(vicinal::Bytes{graphs.bytes()}));
    }
  }

  void submit(const Graphs& graphs) {
    std::array<vicinal::Operand, kMostInputs + 1> operands;
    graphs.for_each_task([&](const Graph& graph, std::uint32_t step, std::uint32_t point) {
      std::size_t count = 0;
      operands[count++] = vicinal::W(handles_[graph.datum(step, point)]);
      for (const std::uint32_t input : graph.inputs(step, point)) {
        operands[count++] = vicinal::R(handles_[graph.datum(step - 1, input)]);
      }
      runtime_.submit({.codelet = &codelet_,
                       .operands = std::span<const vicinal::Operand>(operands.data(), count),
                       .parameters = Parameters{&graph, step, point}});
    });
  }
  void wait() { runtime_.wait(); }

 private:
  struct Parameters {
    const Graph* graph;
    std::uint32_t step;
    std::uint32_t point;
  };

  static vicinal::Options options(std::uint32_t workers) {
    vicinal::Options options = vicinal::Options::from_environment();
    options.workers = workers;
    return options;
  }

  static void run(vicinal::KernelContext& context) {
    const auto [graph, step, point] = context.parameter<Parameters>();
    run_task(*graph, step, point, context.data<std::byte>(0),
             [&](std::size_t k) { return context.data<std::byte>(k + 1); });
  }

  const vicinal::Codelet codelet_{.name = "task", .cpu = run};
  vicinal::Runtime runtime_;
  std::vector<vicinal::Handle> handles_;
};

}  // namespace taskbench
