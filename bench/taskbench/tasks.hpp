// What a task does in every library: its kernel, and a stamp of its step and point all over its
// output. In a verification it also finds the stamps of the tasks it depends on in its inputs, before
// and after its kernel.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>

#include "taskbench/graphs.hpp"

namespace taskbench {

struct Stamp {
  std::int64_t step = 0;  // counted from 1: 0 is what nobody wrote
  std::int64_t point = 0;
};

inline void write_stamps(const Graph& graph, std::uint32_t step, std::uint32_t point,
                         std::byte* output) {
  std::fill_n(reinterpret_cast<Stamp*>(output), graph.shape().output / sizeof(Stamp),
              Stamp{std::int64_t{step} + 1, point});
}

class Verification {
 public:
  template <typename InputAt>
  void run(const Graph& graph, std::uint32_t step, std::uint32_t point, std::byte* output,
           InputAt&& input_at) {
    check_inputs(graph, step, point, input_at);
    // Of different lengths, a few much longer, so that tasks meet that should not.
    const std::uint32_t number = step * 7 + point * 13;
    Kernel{.type = KernelType::compute_bound, .iterations = number % 17 == 0 ? 4000 : number % 61}
        .run();
    check_inputs(graph, step, point, input_at);
    write_stamps(graph, step, point, output);
    ran_.fetch_add(1, std::memory_order_relaxed);
  }

  // After all tasks: throws if one found a stamp that is not that of its input.
  void check(const std::string& runtime, std::uint64_t tasks) const {
    if (wrong_.load() != 0) {
      throw std::runtime_error(runtime + ": order violated, " + std::to_string(wrong_.load()) +
                               " wrong stamps; the first: " + first_);
    }
    if (ran_.load() != tasks) {
      throw std::runtime_error(runtime + ": " + std::to_string(ran_.load()) + " of " +
                               std::to_string(tasks) + " tasks ran");
    }
  }

 private:
  template <typename InputAt>
  void check_inputs(const Graph& graph, std::uint32_t step, std::uint32_t point,
                    InputAt&& input_at) {
    std::size_t k = 0;
    for (const std::uint32_t input : graph.inputs(step, point)) {
      Stamp* const stamps = reinterpret_cast<Stamp*>(input_at(k++));
      for (std::size_t i = 0; i < graph.shape().output / sizeof(Stamp); ++i) {
        // Relaxed: whether the accesses are ordered is what is found out.
        const Stamp found{std::atomic_ref(stamps[i].step).load(std::memory_order_relaxed),
                          std::atomic_ref(stamps[i].point).load(std::memory_order_relaxed)};
        if (found.step != step || found.point != input) {
          note(graph, step, point, input, found);
        }
      }
    }
  }
  void note(const Graph& graph, std::uint32_t step, std::uint32_t point, std::uint32_t input,
            const Stamp& found) {
    const std::lock_guard lock(mutex_);
    if (wrong_.fetch_add(1) != 0) return;
    const auto text = [](std::int64_t s, std::int64_t p) {
      return "step " + std::to_string(s) + " point " + std::to_string(p);
    };
    first_ = std::string(graph.shape().name()) + ", " + text(step, point) + " found " +
             text(found.step - 1, found.point) + " for " + text(std::int64_t{step} - 1, input);
  }

  std::atomic<std::uint64_t> ran_{0};
  std::atomic<std::uint64_t> wrong_{0};
  std::mutex mutex_;
  std::string first_;
};

// input_at(k): address of what the k-th of graph.inputs() wrote.
template <typename InputAt>
void run_task(const Graph& graph, std::uint32_t step, std::uint32_t point, std::byte* output,
              InputAt&& input_at) {
  if (graph.verification() != nullptr) {
    graph.verification()->run(graph, step, point, output, input_at);
  } else {
    graph.shape().kernel.run();
    write_stamps(graph, step, point, output);
  }
}

}  // namespace taskbench
