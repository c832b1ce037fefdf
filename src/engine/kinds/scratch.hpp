// Room for operands without a handle (vicinal::Scratch): handles of the runtime's own, without a home, which no two
// tasks have at once. Memory gives them room where the task runs and takes it back when the task has ended, for what
// tasks write there is never content.
#pragma once

#include <mutex>

#include "base/sure_memory.hpp"
#include "graph/task.hpp"
#include "vicinal/data.hpp"

namespace vicinal::engine {

class Handles;

class ScratchPool {
 public:
  explicit ScratchPool(Handles& handles) : handles_(handles) {}
  // Throws as registration does: of more than kLargestData, say.
  Handle take(Bytes bytes);
  // Those of a task that has released them, or was never submitted.
  void give_back(const graph::Task& task);

 private:
  Handles& handles_;
  std::mutex mutex_;
  base::SureUnorderedMap<std::uint64_t, base::SureVector<Handle>> free_;  // by their bytes
};

}  // namespace vicinal::engine
