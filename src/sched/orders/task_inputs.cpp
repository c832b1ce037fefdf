#include "sched/orders/task_inputs.hpp"

#include <algorithm>
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

Readers::Readers(const TaskInputs& inputs)
    : inputs_(inputs), readers_(inputs.data_count()), places_(inputs.size()) {
  for (Number task = 0; task < inputs.size(); ++task) {
    for (const Number datum : inputs[task]) readers_[datum].push_back(task);
  }
}

std::span<const Readers::Sharing> Readers::sharing(std::span<const Number> data) {
  sharing_.clear();
  for (const Number datum : data) {
    const std::uint64_t bytes = inputs_.bytes(datum);
    if (bytes == 0) continue;
    for (const Number reader : readers_[datum]) {
      std::uint32_t& place = places_[reader];
      if (place == 0) {
        sharing_.push_back({reader, 0});
        place = static_cast<std::uint32_t>(sharing_.size());
      }
      sharing_[place - 1].bytes += bytes;
    }
  }
  for (const Sharing& sharing : sharing_) places_[sharing.reader] = 0;
  return sharing_;
}

void Readers::move(std::span<const Number> data, Number from, Number to) {
  for (const Number datum : data) {
    std::vector<Number>& readers = readers_[datum];
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
