// What the list schedulers note about each ready task and each piece of data.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/sure_memory.hpp"
#include "graph/handle.hpp"
#include "graph/task.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::sched::dm {

struct Bucket;
class Queue;

// Bytes that a task lacks on a node, compared in this order by the ready rule: of sizes as RoundedSizes has them.
struct Missing {
  std::uint64_t invalid = 0;      // of what it reads: not valid there
  std::uint64_t unrequested = 0;  // of what it reads: not even requested
  std::uint64_t unplaced = 0;     // of all operands: no room there, and none asked for
  friend auto operator<=>(const Missing&, const Missing&) = default;
};

// A datum is an operand of a task that is queued, or was: then it is dropped when it is met.
struct Use {
  std::uint64_t number;  // of the task's push
  std::uint32_t task;    // index of its record
  std::uint8_t node;     // of its queue
  bool reads;
};

inline constexpr std::size_t kFewUses = 16;

struct DataRecord {
  graph::Handle* handle = nullptr;
  std::uint64_t size = 0;  // rounded
  // Bit n: on memory node n. `valid` as the context said last; `requested`: valid, on its way, or wished
  // for by a task that waits to run there.
  std::uint64_t valid = 0;
  std::uint64_t requested = 0;
  // For whichever node: most data are operands of few queued tasks, and to look for a list by node is a
  // line from memory.
  base::SureVector<Use> queued;
  std::size_t most = kFewUses;  // then those of tasks that have left the queue are dropped
};

struct TaskRecord {
  graph::Task* task = nullptr;
  std::uint64_t number = 0;            // of its push, from 1
  std::optional<std::uint32_t> index;  // of the record, never changes; see Ledger
  WorkerId worker;                     // whose queue holds it, or who was given it
  // Predicted on that worker: its own time, and how long the worker will have to wait for its data.
  std::int64_t duration_ns = 0;
  std::int64_t delay_ns = 0;
  Missing missing;  // on the worker's node, while queued
  Queue* queue = nullptr;
  Bucket* bucket = nullptr;  // nullptr: not queued
  bool lacks_more = false;   // than its bucket says
};

// The prediction for a task on a worker that can run it.
struct Prediction {
  std::uint32_t worker;
  std::int64_t duration_ns;
  std::int64_t transfer_ns = 0;
  std::int64_t free_ns = 0;    // S + L
  std::int64_t finish_ns = 0;  // C
  std::size_t tasks = 0;       // queued for the worker, or given to it
};

}  // namespace vicinal::sched::dm
