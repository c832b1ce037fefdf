#include "engine/costs.hpp"

#include <algorithm>
#include <new>
#include <optional>

#include "engine/run_times.hpp"

namespace vicinal::engine {

Time Costs::run_time(const graph::Task& task, WorkerId worker) const {
  const ProcessorKind kind = machine_.workers[worker.value].kind;
  const Time expected = graph::expected_time(task, kind);
  if (expected.ns != 0 || models_ == nullptr) return expected;
  try {
    return models_->predict(task.codelet->name, kind, footprint_of(task));
  } catch (const std::bad_alloc&) {  // nothing is known, then
    return {0};
  }
}

Time Costs::transfer_time(const graph::Handle& handle, NodeId node) const {
  const std::uint64_t valid = residency_.valid_mask(handle);
  if ((valid & memory::bit(node)) != 0) return {0};
  std::optional<Time> best;
  for (const LinkDescription& link : machine_.links) {
    if (link.to != node || (valid & memory::bit(link.from)) == 0) continue;
    const Time time = link.bandwidth.value > 0
                          ? link.latency + duration(handle.bytes(), link.bandwidth)
                          : Time{static_cast<std::int64_t>(handle.bytes().value)};
    if (!best || time < *best) best = time;
  }
  return best.value_or(Time{static_cast<std::int64_t>(2 * handle.bytes().value)});
}

Bytes Costs::missing_bytes(const graph::Task& task, NodeId node) const {
  Bytes sum;
  for (const graph::Access& access : task.accesses()) {
    if (reads(access.mode) && !residency_.on_node(*access.handle, node))
      sum += access.handle->bytes();
  }
  return sum;
}

Time Costs::copy_time(const graph::Task& task, NodeId node) const {
  Time sum;
  for (const graph::Access& access : task.accesses()) {
    if (reads(access.mode) && !residency_.on_node(*access.handle, node)) {
      sum = std::min(sum + transfer_time(*access.handle, node), kLongestDuration);
    }
  }
  return sum;
}

}  // namespace vicinal::engine
