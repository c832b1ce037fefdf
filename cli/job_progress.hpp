// How far many jobs have come: one line on a terminal, written over; else a line every few seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace vicinal::cli {

class JobProgress {
 public:
  // `what` the line is about, "points" that the jobs are; `done` of `all` have ended before.
  JobProgress(std::string_view what, std::string_view jobs, std::size_t done, std::size_t all);
  ~JobProgress();  // clears the line
  JobProgress(const JobProgress&) = delete;
  JobProgress& operator=(const JobProgress&) = delete;

  void ended(const std::string& which);
  std::size_t done() const { return done_; }

 private:
  using Clock = std::chrono::steady_clock;
  void say(const std::string& which);

  std::string what_;
  std::string jobs_;
  std::size_t done_;
  std::size_t all_;
  bool on_terminal_;
  Clock::time_point next_ = Clock::now();
};

}  // namespace vicinal::cli
