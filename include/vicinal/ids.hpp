// Strong ids. A number of one kind cannot be passed for another.
#pragma once

#include <compare>
#include <cstdint>

namespace vicinal {

// Names one submission: the slot that holds the task and the slot's generation, so that the id of
// a finished task is never taken for that of a later one.
struct TaskId {
  std::uint64_t value = 0;    // slot and generation
  std::uint32_t runtime = 0;  // the runtime's number, never given twice in a process; 0: not said
  friend constexpr auto operator<=>(TaskId, TaskId) = default;
};

// A registration of data, in messages and recordings.
struct HandleId {
  std::uint64_t value = 0;  // in the order of registration
  friend constexpr auto operator<=>(HandleId, HandleId) = default;
};

// A memory node: RAM (always 0), the disk, one accelerator's memory.
struct NodeId {
  std::uint32_t value = 0;  // the node's place in MachineDescription::nodes
  friend constexpr auto operator<=>(NodeId, NodeId) = default;
};

// A worker: a thread on a core, or an accelerator.
struct WorkerId {
  std::uint32_t value = 0;  // the worker's place in MachineDescription::workers
  friend constexpr auto operator<=>(WorkerId, WorkerId) = default;
};

// A rank: one of the processes that run a program together, each on memory of its own.
struct RankId {
  std::uint32_t value = 0;  // from 0 on
  friend constexpr auto operator<=>(RankId, RankId) = default;
};

// RAM.
inline constexpr NodeId kRam{0};
// "No worker": the task was released by a thread that runs no tasks.
inline constexpr WorkerId kNoWorker{0xffffffffU};

}  // namespace vicinal
