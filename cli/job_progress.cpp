#include "job_progress.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "reports/terminal.hpp"

namespace vicinal::cli {

JobProgress::JobProgress(std::string_view what, std::string_view jobs, std::size_t done,
                         std::size_t all)
    : what_(what), jobs_(jobs), done_(done), all_(all), on_terminal_(reports::can_show_line()) {
  say({});
}

JobProgress::~JobProgress() {
  if (on_terminal_) reports::clear_line();
}

void JobProgress::ended(const std::string& which) {
  ++done_;
  say(", " + which);
}

void JobProgress::say(const std::string& which) {
  const std::string line =
      fmt::format("{} {}  {} of {} {}{}", what_, reports::progress_bar(done_, all_, 20), done_,
                  all_, jobs_, which);
  if (on_terminal_) {
    reports::show_line(line);
  } else if (Clock::now() >= next_ || done_ == all_) {
    fmt::print(stderr, "{}\n", line);
    next_ = Clock::now() + std::chrono::seconds(5);
  }
}

}  // namespace vicinal::cli
