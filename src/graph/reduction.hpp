// Data that tasks reduce into: the private copies, and who uses which of them.
//
// A task that reduces holds no access but a shared one to the handle, which keeps others from it. What it works on is
// a private copy, lent to it alone from when it is pulled for a worker until it ends: then the access names the copy,
// before and after that the handle. The copies are combined when all such tasks have ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "graph/handle.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::graph {

struct PrivateCopy {
  Handle* handle = nullptr;
  std::uint32_t life = 0;  // of the handle
  NodeId node;             // where a task used it last
  bool is_lent = false;
  bool is_fresh = true;   // no task has used it since the last combination
  bool has_room = false;  // it counts among the data without a home, see runtime/submission.cpp
};

struct Reduction {
  Handle* of = nullptr;
  vicinal::Reduction codelets;
  // The room that a copy counts for; false: there is none. Called under the mutex.
  std::function<bool(PrivateCopy&)> take_room;
  std::function<void(PrivateCopy&)> give_back_room;

  std::mutex mutex;  // guards the copies, but for `handle` and `life`
  std::vector<PrivateCopy>
      copies;  // as many as tasks can run at once; the first always has its room

  // Where partial results of other ranks come to, registered when they are needed; `handle` and `life` alone count. Of the
  // thread that submits.
  std::vector<PrivateCopy> partials;

  // Tasks reduce since the last combination was submitted. Under the lock of Partitions.
  bool is_open = false;
};

// A reduction among the accesses of a task.
struct ReducedOperand {
  std::size_t access = 0;  // its number
  Reduction* reduction = nullptr;
  PrivateCopy* copy = nullptr;  // that it was lent
  NodeId was_at;                // before it was lent
  bool is_fresh = false;        // the task begins with the neutral element
};

}  // namespace vicinal::graph
