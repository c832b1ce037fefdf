// What the list schedulers note about each ready task and each piece of data.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "graph/handle.hpp"
#include "graph/task.hpp"
#include "sched/records.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::sched::dm {

struct Bucket;
struct DataRecord;
struct TaskRecord;
class Queue;

// Bytes that a task lacks on a node, compared in this order by the ready rule.
struct Missing {
  std::uint64_t invalid = 0;      // of what it reads: not valid there
  std::uint64_t unrequested = 0;  // of what it reads: not even requested
  std::uint64_t unplaced = 0;     // of all operands: no room there, and none asked for
  friend auto operator<=>(const Missing&, const Missing&) = default;
};

// One operand of one task; in the list of its datum and node while the task is queued there.
struct Use {
  DataRecord* data = nullptr;
  TaskRecord* task = nullptr;
  Use* previous = nullptr;
  Use* next = nullptr;
  bool reads = false;
};

struct DataOnNode {
  bool valid = false;      // as the context said last
  bool requested = false;  // valid, on its way, or wished for by a task that waits to run there
  Chain<Use> queued;
};

struct DataRecord {
  graph::Handle* handle = nullptr;
  std::vector<DataOnNode> nodes;  // by NodeIndex
};

struct TaskRecord {
  graph::Task* task = nullptr;
  std::uint64_t number = 0;  // of its push
  WorkerId worker;           // whose queue holds it, or who was given it
  // Predicted on that worker: its own time, and how long the worker will have to wait for its data.
  std::int64_t duration_ns = 0;
  std::int64_t delay_ns = 0;
  Missing missing;  // on the worker's node, while queued
  Queue* queue = nullptr;
  Bucket* bucket = nullptr;  // nullptr: not queued
  std::vector<Use> uses;     // all operands
};

}  // namespace vicinal::sched::dm
