// The look-ahead of one memory node: tasks pulled from the policy and not started. Their operands
// are copied early while others run; the first that can start does.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "graph/task.hpp"
#include "memory/request.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::engine {

struct Pulled {
  graph::Task* task = nullptr;
  memory::Request request;       // firm once a worker has nothing else to do
  WorkerId firm_for = kNoWorker;
};

struct Window {
  std::mutex mutex;  // taken before the policy's lock and the residency's
  std::deque<std::unique_ptr<Pulled>> pulled;      // in the policy's order
  std::vector<std::unique_ptr<Pulled>> unused;     // entries to use again
  std::size_t depth = 0;                           // most entries
  std::atomic<std::size_t> size{0};                // of `pulled`, to be read without the lock
  std::vector<WorkerId> workers;
};

}  // namespace vicinal::engine
