// The node on which a datum was written last, or is being written: kept in Handle::policy_data, which is then
// the policy's no more. A number, so that nothing is allocated for a datum.
//
// It may be set when the task that writes is given to the node: what else uses the datum becomes ready only
// when that has ended.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/task.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::sched::placement {

inline std::optional<NodeId> owner_of(const graph::Handle& handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle.policy_data);
  if (number == 0) return std::nullopt;
  return NodeId{static_cast<std::uint32_t>(number - 1)};
}

inline void set_owner_of_written(const graph::Task& task, NodeId node) {
  for (const graph::Access& access : task.accesses()) {
    if (!leaves_content(access.mode)) continue;
    access.handle->policy_data = reinterpret_cast<void*>(std::uintptr_t{node.value} + 1);
  }
}

// In Policy::data_forgotten.
inline void forget_owner(graph::Handle& handle) {
  handle.policy_data = nullptr;
}

}  // namespace vicinal::sched::placement
