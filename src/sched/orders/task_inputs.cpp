#include "sched/orders/task_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <string>

#include "vicinal/access.hpp"

namespace vicinal::sched::orders {

void TaskInputs::add(std::span<const Number> data) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] >= bytes_.size() || (i > 0 && data[i] <= data[i - 1])) {
      throw std::invalid_argument("task " + std::to_string(size()) + " reads datum " +
                                  std::to_string(data[i]) + " at place " + std::to_string(i) +
                                  ": numbers must rise and stay below " +
                                  std::to_string(bytes_.size()) + ", the number of sizes");
    }
  }
  data_.insert(data_.end(), data.begin(), data.end());
  ends_.push_back(data_.size());
}

TaskInputs inputs_of(const graph::Graph& graph) {
  std::vector<Bytes> bytes;
  bytes.reserve(graph.data().size());
  for (const graph::Graph::Datum& datum : graph.data()) bytes.push_back(datum.bytes);
  TaskInputs inputs(std::move(bytes));
  std::vector<Number> data;
  for (const graph::Graph::Task& task : graph.tasks()) {
    data.clear();
    for (const auto& [datum, mode] : graph.accesses_of(task)) {
      if (reads(mode)) data.push_back(datum);
    }
    std::sort(data.begin(), data.end());
    data.erase(std::unique(data.begin(), data.end()), data.end());
    inputs.add(data);
  }
  return inputs;
}

TaskInputs inputs_of(const TaskInputs& all, std::span<const Number> tasks) {
  std::vector<Bytes> bytes(all.data_count());
  for (Number datum = 0; datum < bytes.size(); ++datum) bytes[datum].value = all.bytes(datum);
  TaskInputs inputs(std::move(bytes));
  for (const Number task : tasks) inputs.add(all[task]);
  return inputs;
}

std::vector<std::uint64_t> rounded_sizes(const TaskInputs& inputs) {
  std::vector<std::uint64_t> sizes(inputs.data_count());
  for (Number datum = 0; datum < sizes.size(); ++datum) sizes[datum] = inputs.bytes(datum);
  std::vector<std::uint64_t> rising;
  std::ranges::copy_if(sizes, std::back_inserter(rising),
                       [](std::uint64_t size) { return size > 0; });
  if (rising.empty()) return sizes;
  const auto middle = rising.begin() + static_cast<std::ptrdiff_t>(rising.size() / 2);
  std::ranges::nth_element(rising, middle);
  const auto median = static_cast<double>(*middle);
  for (std::uint64_t& size : sizes) {
    if (size == 0) continue;
    const double octaves = std::round(std::log2(static_cast<double>(size) / median));
    size = std::max(std::uint64_t{1},
                    static_cast<std::uint64_t>(std::ldexp(median, static_cast<int>(octaves))));
  }
  return sizes;
}

Readers::Readers(const TaskInputs& inputs, std::vector<std::uint64_t> weights)
    : inputs_(inputs),
      weights_(std::move(weights)),
      counts_(inputs.data_count()),
      readers_(inputs.data_count()),
      places_(inputs.size()) {
  for (Number task = 0; task < inputs.size(); ++task) {
    for (const Number datum : inputs[task]) ++counts_[datum];
  }
  for (Number task = 0; task < inputs.size(); ++task) {
    for (const Number datum : inputs[task]) {
      if (counts_[datum] <= kMostReaders) readers_[datum].push_back(task);
    }
  }
}

std::span<const Readers::Sharing> Readers::sharing(std::span<const Number> data) {
  sharing_.clear();
  for (const Number datum : data) {
    const std::uint64_t bytes = inputs_.bytes(datum);
    if (bytes == 0) continue;
    const std::uint64_t weight = weights_.empty() ? bytes : weights_[datum];
    for (const Number reader : readers_[datum]) {
      std::uint32_t& place = places_[reader];
      if (place == 0) {
        sharing_.push_back({reader, 0, 0});
        place = static_cast<std::uint32_t>(sharing_.size());
      }
      sharing_[place - 1].bytes += bytes;
      sharing_[place - 1].weight += weight;
    }
  }
  for (const Sharing& sharing : sharing_) places_[sharing.reader] = 0;
  return sharing_;
}

void Readers::move(std::span<const Number> data, Number from, Number to) {
  for (const Number datum : data) {
    std::vector<Number>& readers = readers_[datum];
    if (readers.empty()) continue;  // too many
    const auto left = std::find(readers.begin(), readers.end(), from);
    if (std::find(readers.begin(), readers.end(), to) == readers.end()) {
      *left = to;
    } else {
      *left = readers.back();
      readers.pop_back();
    }
  }
}

}  // namespace vicinal::sched::orders
