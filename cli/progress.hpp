// One line on a terminal that says how far a run has come, cut to its width. Nothing where stderr is no terminal,
// or one that cannot clear a line (TERM is dumb, or not set).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "vicinal/runtime.hpp"

namespace vicinal::cli {

class Progress {
 public:
  // The runtime outlives this object. `label` comes first on the line.
  Progress(const Runtime& runtime, std::string label);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A part of the run begins, of so many tasks (0: not known).
  void phase(std::string_view name, std::uint64_t tasks);

 private:
  void watch();
  void draw();  // under mutex_

  const Runtime& runtime_;
  std::string label_;
  bool shown_;

  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;  // these under mutex_
  std::string name_;
  std::uint64_t tasks_ = 0;
  std::uint64_t done_before_ = 0;
  Time began_;
  std::thread thread_;
};

// On the standard error.
bool can_show_progress();
// Writes the line over the one that may be there; only where it can be shown.
void show_progress(std::string line);
// Of the terminal, if a line may be on it.
void clear_progress();

// What of a line fits: it must not wrap, as only its last row would be cleared.
std::string fitting(std::string line, std::size_t columns);

// "[#####.....]  50 %": of `width` marks.
std::string progress_bar(std::uint64_t done, std::uint64_t all, std::size_t width);

}  // namespace vicinal::cli
