// Copies into memory that is no replica, which were given to drivers and have not ended. Any thread.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "graph/task.hpp"
#include "memory/copy.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::engine {

class DirectReads {
 public:
  DirectReads() = default;
  DirectReads(const DirectReads&) = delete;
  DirectReads& operator=(const DirectReads&) = delete;

  struct Read {
    graph::Task* task = nullptr;
    NodeId from;  // the operand is pinned there
    std::function<void(const std::exception_ptr&)> done;
  };
  memory::CopyId begin(Read read) {
    const std::lock_guard lock(mutex_);
    const std::uint32_t number = next_++;
    reads_.emplace(number, std::move(read));
    return {number, 1, this};
  }
  bool has(memory::CopyId id) const { return id.table == this; }
  // The id names nothing from now on. Without a task: it named nothing.
  Read end(memory::CopyId id) {
    const std::lock_guard lock(mutex_);
    auto entry = reads_.extract(id.slot);
    return entry ? std::move(entry.mapped()) : Read{};
  }

 private:
  std::mutex mutex_;
  std::uint32_t next_ = 0;
  std::unordered_map<std::uint32_t, Read> reads_;
};

}  // namespace vicinal::engine
