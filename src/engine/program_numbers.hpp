// Counts what the application registers and submits outside of tasks: see graph/numbers.hpp. Two runtimes that are to
// agree are told by one thread each.
#pragma once

#include <atomic>
#include <cstdint>

#include "graph/numbers.hpp"

namespace vicinal::engine {

// Any thread.
class ProgramNumbers {
 public:
  graph::DataNumber next_data() { return {data_.fetch_add(1, std::memory_order_relaxed) + 1}; }
  // How many have been registered.
  graph::DataNumber last_data() const { return {data_.load(std::memory_order_relaxed)}; }

  // Submissions are counted from now on. Before the first: otherwise runtimes do not agree.
  void count_submissions() { counts_.store(true, std::memory_order_relaxed); }
  // 0 if they are not counted.
  graph::SubmissionNumber next_submission() {
    if (!counts_.load(std::memory_order_relaxed)) return {};
    return {submissions_.fetch_add(1, std::memory_order_relaxed) + 1};
  }
  graph::SubmissionNumber last_submission() const {
    return {submissions_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<std::uint64_t> data_{0};
  std::atomic<std::uint64_t> submissions_{0};
  std::atomic<bool> counts_{false};
};

}  // namespace vicinal::engine
