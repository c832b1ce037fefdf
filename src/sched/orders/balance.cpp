#include "sched/orders/balance.hpp"

#include <algorithm>
#include <list>
#include <numeric>

namespace vicinal::sched::orders {

namespace {

// Of one device, with least-recently-used eviction.
class SimulatedMemory {
 public:
  SimulatedMemory(const TaskInputs& inputs, Bytes memory)
      : inputs_(inputs), memory_(memory.value), places_(inputs.data_count(), used_.end()) {}

  // Returns the bytes that the task misses.
  Bytes run(Number task) {
    std::uint64_t missing = 0;
    for (const Number datum : inputs_[task]) {
      std::list<Number>::iterator& place = places_[datum];
      if (place == used_.end()) {
        missing += inputs_.bytes(datum);
        place = used_.insert(used_.end(), datum);
      } else {
        used_.splice(used_.end(), used_, place);
      }
    }
    held_ += missing;
    // The task's own inputs are the last ones.
    for (std::size_t others = used_.size() - inputs_[task].size(); held_ > memory_ && others > 0;
         --others) {
      held_ -= inputs_.bytes(used_.front());
      places_[used_.front()] = used_.end();
      used_.pop_front();
    }
    return {missing};
  }

 private:
  const TaskInputs& inputs_;
  std::uint64_t memory_;
  std::uint64_t held_ = 0;
  std::list<Number> used_;  // data that are there, the least recently used first
  std::vector<std::list<Number>::iterator> places_;  // by datum; the end: not there
};

std::int64_t sum(const std::vector<std::int64_t>& steps) {
  return std::accumulate(steps.begin(), steps.end(), std::int64_t{0});
}

}  // namespace

void balance(std::vector<Order>& packages, const Steps& steps) {
  if (packages.empty()) return;
  std::vector<std::int64_t> length;
  for (const Order& package : packages) length.push_back(sum(steps(package)));
  while (true) {
    const auto shortest = std::min_element(length.begin(), length.end());
    const auto longest = std::max_element(length.begin(), length.end());
    Order& from = packages[static_cast<std::size_t>(longest - length.begin())];
    Order& to = packages[static_cast<std::size_t>(shortest - length.begin())];
    const std::int64_t before = *longest;
    // Rounded up: above it, or below, is so also of the exact one, or the packages differ by 1.
    const auto count = static_cast<std::int64_t>(length.size());
    const std::int64_t average = (sum(length) + count - 1) / count;
    const std::vector<std::int64_t> step = steps(from);
    std::size_t kept = from.size();
    for (std::int64_t left = *longest, right = *shortest;
         kept > 0 && left > average && right < average && right + step[kept - 1] < left;) {
      --kept;
      left -= step[kept];
      right += step[kept];
    }
    if (kept == from.size()) return;
    const std::size_t received = to.size();
    const auto first_moved = from.begin() + static_cast<std::ptrdiff_t>(kept);
    to.insert(to.end(), first_moved, from.end());
    Order rest(from.begin(), first_moved);
    const std::int64_t rest_length = sum(steps(rest));
    const std::int64_t grown_length = sum(steps(to));
    if (std::max(rest_length, grown_length) >= before) {
      to.resize(received);
      return;
    }
    from = std::move(rest);
    *longest = rest_length;
    *shortest = grown_length;
  }
}

void balance_counts(std::vector<Order>& packages) {
  balance(packages,
          [](std::span<const Number> order) { return std::vector<std::int64_t>(order.size(), 1); });
}

void balance_durations(std::vector<Order>& packages, std::span<const Time> durations) {
  balance(packages, [&](std::span<const Number> order) {
    std::vector<std::int64_t> steps;
    for (const Number task : order) steps.push_back(durations[task].ns);
    return steps;
  });
}

void balance_simulated(std::vector<Order>& packages, const TaskInputs& inputs,
                       std::span<const Time> durations, const SimulatedDevice& device) {
  balance(packages, [&](std::span<const Number> order) {
    return simulated_steps(order, inputs, durations, device);
  });
}

std::vector<std::int64_t> simulated_steps(std::span<const Number> order, const TaskInputs& inputs,
                                          std::span<const Time> durations,
                                          const SimulatedDevice& device) {
  SimulatedMemory memory(inputs, device.memory);
  std::vector<std::int64_t> steps;
  Time before;
  for (const Number task : order) {
    const Time copies = duration(memory.run(task), device.bandwidth);
    steps.push_back(std::max(before, copies).ns);
    before = durations[task];
  }
  if (!steps.empty()) steps.back() += before.ns;
  return steps;
}

Bytes loaded_bytes(std::span<const Number> order, const TaskInputs& inputs, Bytes memory) {
  SimulatedMemory simulated(inputs, memory);
  Bytes loaded;
  for (const Number task : order) loaded += simulated.run(task);
  return loaded;
}

}  // namespace vicinal::sched::orders
