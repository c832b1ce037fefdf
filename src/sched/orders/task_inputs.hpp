// What orders are computed from: the data that each task reads, and their sizes. And what tasks share.
//
// An order is a list of the numbers of tasks, each once, in which one memory should run them so that few bytes are
// loaded (Gonthier, Marchal, Thibault, "Locality-aware scheduling of independent tasks for runtime systems", COLOC
// 2021: "the paper" in this folder). The functions of this folder are pure: the same input gives the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "graph/graph.hpp"
#include "vicinal/units.hpp"

namespace vicinal::sched::orders {

using Number = graph::Graph::Number;  // of a task or a datum, from 0
using Order = std::vector<Number>;

class TaskInputs {
 public:
  TaskInputs() = default;
  // One size per datum. Orders that count shared data, as the paper does, instead of their bytes: 1 byte for each.
  explicit TaskInputs(std::vector<Bytes> bytes) : bytes_(std::move(bytes)) {}

  // `data`: numbers below those of the sizes, rising, each once. Throws std::invalid_argument otherwise.
  void add(std::span<const Number> data);

  std::size_t size() const { return ends_.size(); }  // tasks
  std::size_t data_count() const { return bytes_.size(); }
  std::span<const Number> operator[](std::size_t task) const {
    const std::size_t first = task == 0 ? 0 : ends_[task - 1];
    return {data_.data() + first, ends_[task] - first};
  }
  std::uint64_t bytes(Number datum) const { return bytes_[datum].value; }

 private:
  std::vector<Bytes> bytes_;
  std::vector<Number> data_;  // of all tasks, one behind the other
  std::vector<std::size_t> ends_;
};

// Of a graph's tasks, by the same numbers: what they read or change; what they only overwrite is not loaded.
TaskInputs inputs_of(const graph::Graph& graph);
// Of some tasks; task i is number tasks[i] there, the data are the same.
TaskInputs inputs_of(const TaskInputs& all, std::span<const Number> tasks);

// Per datum its bytes, rounded to the median times a power of two (of ratios, not of differences): sizes that lie within
// a third of the median, as those of tiles drawn around a mean do, are equal.
std::vector<std::uint64_t> rounded_sizes(const TaskInputs& inputs);

// Who reads each datum, and hence what readers share. Readers are tasks, or packages of tasks that grow. What more than
// kMostReaders tasks read is not looked at: it brings no two of them closer to each other than to the others, and to
// look at all its readers for each of them would take time quadratic in their number.
class Readers {
 public:
  static constexpr std::size_t kMostReaders = 2048;
  struct Sharing {
    Number reader = 0;
    std::uint64_t bytes = 0;   // shared, more than 0
    std::uint64_t weight = 0;  // of the data shared
  };

  // Each task reads its inputs. By datum its weight; none: its bytes.
  explicit Readers(const TaskInputs& inputs, std::vector<std::uint64_t> weights = {});

  // All who read some of `data`, in no particular order, with the bytes that they read of them. Valid until
  // the next call. O(readers of all these data).
  std::span<const Sharing> sharing(std::span<const Number> data);
  std::size_t count(Number datum) const { return counts_[datum]; }  // tasks that read it
  // `from`, who reads all of `data`, leaves them to `to`, who may read some of them already.
  void move(std::span<const Number> data, Number from, Number to);

 private:
  const TaskInputs& inputs_;
  const std::vector<std::uint64_t> weights_;  // none: the bytes
  std::vector<std::size_t> counts_;           // by datum
  std::vector<std::vector<Number>> readers_;  // by datum; none of one that too many read
  std::vector<Sharing> sharing_;
  std::vector<std::uint32_t> places_;  // by reader, in sharing_, plus 1; 0: not there
};

}  // namespace vicinal::sched::orders
