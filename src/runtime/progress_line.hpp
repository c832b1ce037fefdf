// The line behind vicinal::Progress: its text, and the thread that writes it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "vicinal/progress.hpp"
#include "vicinal/statistics.hpp"
#include "vicinal/units.hpp"

namespace vicinal::runtime {

// Tasks of one phase.
struct Advance {
  std::uint64_t done = 0;
  std::uint64_t all = 0;
  Time elapsed;
};
// Since `before`. `expected`: how many tasks of the application there will be; 0: all that were submitted.
Advance advance_since(const Statistics& before, const Statistics& now, std::uint64_t expected);
// "label: phase [###...]  50 %  2/4 tasks  3.2 s, 1.6/s, 1.25 s left", with a bar of so many marks (0: none).
std::string describe(std::string_view label, std::string_view phase, const Advance& advance,
                     std::size_t marks);

}  // namespace vicinal::runtime

class vicinal::internals::ProgressLine {
 public:
  ProgressLine(std::shared_ptr<RuntimeImpl> runtime, ProgressOptions options);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void phase(std::string_view name, std::uint64_t tasks);

 private:
  Statistics look() const;
  void watch();
  std::string text(std::size_t marks) const;  // under mutex_

  const std::shared_ptr<RuntimeImpl> runtime_;
  const ProgressOptions options_;
  const bool on_terminal_;
  const bool is_shown_;

  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;  // these under mutex_
  std::string phase_;
  std::uint64_t tasks_ = 0;
  Statistics before_;
  std::thread thread_;
};
