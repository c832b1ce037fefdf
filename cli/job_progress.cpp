#include "job_progress.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "progress.hpp"

namespace vicinal::cli {

JobProgress::JobProgress(std::string_view what, std::string_view jobs, std::size_t done,
                         std::size_t all)
    : what_(what), jobs_(jobs), done_(done), all_(all), on_terminal_(can_show_progress()) {
  say({});
}

JobProgress::~JobProgress() {
  if (on_terminal_) clear_progress();
}

void JobProgress::ended(const std::string& which) {
  ++done_;
  say(", " + which);
}

void JobProgress::say(const std::string& which) {
  const std::string line = fmt::format("{} {}  {} of {} {}{}", what_, progress_bar(done_, all_, 20),
                                       done_, all_, jobs_, which);
  if (on_terminal_) {
    show_progress(line);
  } else if (Clock::now() >= next_ || done_ == all_) {
    fmt::print(stderr, "{}\n", line);
    next_ = Clock::now() + std::chrono::seconds(5);
  }
}

}  // namespace vicinal::cli
