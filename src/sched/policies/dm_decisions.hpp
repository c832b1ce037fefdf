// What the list schedulers tell of their choices, if somebody listens.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sched/decisions.hpp"
#include "sched/policies/dm_queue.hpp"
#include "sched/policies/dm_records.hpp"

namespace vicinal::sched::dm {

// Where the task goes, of all workers that can run it.
struct Placed {
  const graph::Task& task;
  trace::Reason reason;
  std::span<const Prediction> predictions;
  std::uint32_t worker;
  std::optional<double> drawn = {};  // from [0, 1)
};
void tell(const Decisions& decisions, const Placed& placed);

// The first task of its queue, which it is given.
void tell_first(const Decisions& decisions, WorkerId worker, const TaskRecord& first, Queue& queue);

}  // namespace vicinal::sched::dm
