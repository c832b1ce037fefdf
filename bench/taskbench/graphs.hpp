// The task graphs of Task Bench: E. Slaughter et al., "Task Bench: A Parameterized Benchmark for
// Evaluating Parallel Runtime Performance", SC 2020. A task is one point in one step. It reads what
// some points wrote in the step before, and writes a datum of its own. Point p in step s writes datum
// (s mod fields, p), so that a task also waits for those that read what it overwrites.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "taskbench/kernel.hpp"

namespace taskbench {

enum class Pattern : std::uint8_t {
  trivial,              // nothing is read
  no_comm,              // the point itself
  stencil_1d,           // itself and both neighbours
  stencil_1d_periodic,  // the same on a ring
  dom,                  // itself and the left neighbour, a wave that enters and leaves
  tree,                 // point / 2; one point in the first step, twice as many in each one after
  fft,                  // itself and those a power of two away, the next power in each step
  all_to_all,           // all
  nearest,              // a window of `radix` points
  spread,               // `radix` points at equal distances, moved on in each step
  random_nearest,       // itself and a random `fraction` of the window
};
inline constexpr std::string_view kPatternNames[] = {
    "trivial",    "no_comm", "stencil_1d", "stencil_1d_periodic", "dom", "tree", "fft",
    "all_to_all", "nearest", "spread",     "random_nearest"};
inline constexpr std::size_t kMostInputs = 254;  // of a task

class Verification;  // taskbench/tasks.hpp

struct Shape {
  Pattern pattern = Pattern::trivial;
  std::uint32_t steps = 4;
  std::uint32_t width = 4;
  std::uint32_t radix = 3;
  std::uint32_t period = 3;  // steps after which spread and random_nearest repeat
  double fraction = 0.25;
  std::uint32_t fields = 2;   // data per point
  std::uint64_t output = 16;  // bytes of a datum
  Kernel kernel;

  std::string_view name() const { return kPatternNames[static_cast<std::size_t>(pattern)]; }
};

// Points first, ..., last - 1.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t count() const { return last - first; }
};

class Graph {
 public:
  // Its data are numbered from first_datum.
  Graph(const Shape& shape, std::uint32_t first_datum) : shape_(shape), first_datum_(first_datum) {
    check();
    for (std::uint32_t set = 0; set < sets(); ++set) {
      for (std::uint32_t point = 0; point < shape_.width; ++point) add_inputs(set, point);
    }
  }

  const Shape& shape() const { return shape_; }
  Kernel& kernel() { return shape_.kernel; }
  // What the tasks are checked by; null in those that are timed.
  Verification* verification() const { return verification_; }
  void verify_with(Verification* verification) { verification_ = verification; }
  std::uint32_t data() const { return shape_.width * shape_.fields; }
  std::uint32_t datum(std::uint32_t step, std::uint32_t point) const {
    return first_datum_ + step % shape_.fields * shape_.width + point;
  }

  // The points that have a task in this step.
  Range points(std::uint32_t step) const {
    const std::uint32_t width = shape_.width;
    if (shape_.pattern == Pattern::tree) {
      return {0, step < 32 ? static_cast<std::uint32_t>(
                                 std::min<std::uint64_t>(width, std::uint64_t{1} << step))
                           : width};
    }
    if (shape_.pattern != Pattern::dom) return {0, width};
    // Enters with point 0; leaves so that the last point ends in the last step.
    const std::uint32_t most = std::min(width, (shape_.steps + 1) / 2);
    return {step + most > shape_.steps ? step + most - shape_.steps : 0, std::min(most, step + 1)};
  }

  // The points of the step before that a task reads, ascending.
  std::span<const std::uint32_t> inputs(std::uint32_t step, std::uint32_t point) const {
    if (step == 0) return {};
    std::span<const std::uint32_t> all = inputs_[set_of(step) * shape_.width + point];
    const Range before = points(step - 1);
    while (!all.empty() && all.front() < before.first) all = all.subspan(1);
    while (!all.empty() && all.back() >= before.last) all = all.first(all.size() - 1);
    return all;
  }

  // Calls visit(*this, step, point) for each task of the step.
  template <typename Visit>
  void for_each_task(std::uint32_t step, Visit&& visit) const {
    const Range range = points(step);
    for (std::uint32_t point = range.first; point < range.last; ++point) visit(*this, step, point);
  }

 private:
  void check() const {
    if (shape_.steps == 0 || shape_.width == 0) {
      throw std::invalid_argument("-steps, -width: at least 1");
    }
    if (shape_.fields < 2) throw std::invalid_argument("-field: at least 2");
    if (shape_.output < 16) throw std::invalid_argument("-output: at least 16");
    if (shape_.kernel.type == KernelType::memory_bound &&
        (shape_.kernel.samples == 0 || shape_.kernel.piece() == 0)) {
      throw std::invalid_argument("memory_bound: -scratch of at least twice -sample");
    }
    const bool repeats =
        shape_.pattern == Pattern::spread || shape_.pattern == Pattern::random_nearest;
    if (repeats && shape_.period == 0) throw std::invalid_argument("-period: at least 1");
    if (shape_.pattern == Pattern::spread && shape_.radix > 0 &&
        (shape_.radix > shape_.width ||
         shape_.period > (shape_.width + shape_.radix - 1) / shape_.radix)) {
      throw std::invalid_argument("spread: -period at most -width / -radix, rounded up");
    }
  }

  // Steps differ in what is read by this number of sets.
  std::uint32_t sets() const {
    switch (shape_.pattern) {
      case Pattern::fft:
        return std::max(1U, static_cast<std::uint32_t>(std::bit_width(shape_.width - 1)));
      case Pattern::spread:
      case Pattern::random_nearest:
        return shape_.period;
      default:
        return 1;
    }
  }
  std::uint32_t set_of(std::uint32_t step) const {
    if (shape_.pattern == Pattern::fft) return (step - 1) % sets();
    return step % sets();
  }

  void add_inputs(std::uint32_t set, std::uint32_t point) {
    std::vector<std::uint32_t> found;
    const std::int64_t width = shape_.width;
    const std::int64_t p = point;
    const auto add = [&](std::int64_t input) {
      if (input >= 0 && input < width) found.push_back(static_cast<std::uint32_t>(input));
    };
    const auto add_range = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i <= last; ++i) add(i);
    };
    const std::int64_t radix = shape_.radix;
    switch (shape_.pattern) {
      case Pattern::trivial:
        break;
      case Pattern::no_comm:
        add(p);
        break;
      case Pattern::stencil_1d:
        add_range(p - 1, p + 1);
        break;
      case Pattern::stencil_1d_periodic:
        for (const std::int64_t i : {p + width - 1, p, p + 1}) add(i % width);
        break;
      case Pattern::dom:
        add_range(p - 1, p);
        break;
      case Pattern::tree:
        add(p / 2);
        break;
      case Pattern::fft:
        for (const std::int64_t i : {p - (std::int64_t{1} << set), p, p + (std::int64_t{1} << set)})
          add(i);
        break;
      case Pattern::all_to_all:
        add_range(0, width - 1);
        break;
      case Pattern::nearest:
        if (radix > 0) add_range(p - radix / 2, p + (radix - 1) / 2);
        break;
      case Pattern::spread:
        for (std::int64_t i = 0; i < radix; ++i) {
          add((p + i * width / radix + (i > 0 ? set : 0)) % width);
        }
        break;
      case Pattern::random_nearest:
        for (std::int64_t i = p - radix / 2; radix > 0 && i <= p + (radix - 1) / 2; ++i) {
          if (i == p || random(set, point, i) < shape_.fraction) add(i);
        }
        break;
    }
    std::ranges::sort(found);
    const auto rest = std::ranges::unique(found);
    found.erase(rest.begin(), rest.end());
    if (found.size() > kMostInputs) {
      throw std::invalid_argument("a task would read " + std::to_string(found.size()) +
                                  " points; at most " + std::to_string(kMostInputs));
    }
    inputs_.push_back(std::move(found));
  }

  // In [0, 1), the same for the same dependency: the finaliser of SplitMix64.
  static double random(std::uint32_t set, std::uint32_t point, std::int64_t input) {
    std::uint64_t z = (std::uint64_t{set} << 42U) ^ (std::uint64_t{point} << 21U) ^
                      static_cast<std::uint64_t>(input);
    z = (z + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ (z >> 31U)) >> 11U) * 0x1p-53;
  }

  Shape shape_;
  std::uint32_t first_datum_;
  Verification* verification_ = nullptr;
  std::vector<std::vector<std::uint32_t>> inputs_;  // by set and point
};

// Graphs that run at the same time.
class Graphs {
 public:
  explicit Graphs(const std::vector<Shape>& shapes) {
    for (const Shape& shape : shapes) {
      graphs_.emplace_back(shape, data_);
      data_ += graphs_.back().data();
      bytes_ = std::max(bytes_, shape.output);
      steps_ = std::max(steps_, shape.steps);
    }
    for_each_task([this](const Graph& graph, std::uint32_t step, std::uint32_t point) {
      ++tasks_;
      dependencies_ += graph.inputs(step, point).size();
    });
  }

  const std::vector<Graph>& all() const { return graphs_; }
  std::uint32_t data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }  // of the largest datum
  std::uint64_t tasks() const { return tasks_; }
  std::uint64_t dependencies() const { return dependencies_; }

  void set_iterations(std::uint64_t iterations) {
    for (Graph& graph : graphs_) graph.kernel().iterations = iterations;
  }
  void verify_with(Verification* verification) {
    for (Graph& graph : graphs_) graph.verify_with(verification);
  }
  // `of_task(kernel)` of all tasks.
  template <typename OfTask>
  std::uint64_t sum(OfTask&& of_task) const {
    std::uint64_t sum = 0;
    for_each_task([&](const Graph& graph, std::uint32_t, std::uint32_t) {
      sum += of_task(graph.shape().kernel);
    });
    return sum;
  }

  // Calls visit(graph, step, point) for each task, in the order of submission.
  template <typename Visit>
  void for_each_task(Visit&& visit) const {
    for (std::uint32_t step = 0; step < steps_; ++step) {
      for (const Graph& graph : graphs_) {
        if (step < graph.shape().steps) graph.for_each_task(step, visit);
      }
    }
  }

 private:
  std::vector<Graph> graphs_;
  std::uint32_t data_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t steps_ = 0;
  std::uint64_t tasks_ = 0;
  std::uint64_t dependencies_ = 0;
};

}  // namespace taskbench
