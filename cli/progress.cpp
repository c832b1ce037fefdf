#include "progress.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "reports/catalogue.hpp"

namespace vicinal::cli {

namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr std::string_view kClearLine = "\r\x1b[K";

// Asked each time: a window may change.
std::size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

bool can_show_progress() {
  const char* const terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && terminal != nullptr && *terminal != '\0' &&
         std::string_view(terminal) != "dumb";
}

void clear_progress() {
  if (can_show_progress()) fmt::print(stderr, "{}", kClearLine);
}

void show_progress(std::string line) {
  fmt::print(stderr, "{}{}", kClearLine,
             reports::legible_name(fitting(std::move(line), terminal_columns())));
  std::fflush(stderr);
}

std::string fitting(std::string line, std::size_t columns) {
  // The last column is left free: some terminals wrap when it is written.
  if (line.size() >= columns) line.resize(columns > 0 ? columns - 1 : 0);
  return line;
}

std::string progress_bar(std::uint64_t done, std::uint64_t all, std::size_t width) {
  done = std::min(done, all);
  const std::size_t marks = all == 0 ? 0 : done * width / all;
  return fmt::format("[{:#<{}}{:.<{}}] {:3} %", "", marks, "", width - marks,
                     all == 0 ? 0 : done * 100 / all);
}

Progress::Progress(const Runtime& runtime, std::string label)
    : runtime_(runtime), label_(std::move(label)), shown_(can_show_progress()) {
  if (shown_) thread_ = std::thread([this] { watch(); });
}

Progress::~Progress() {
  if (!shown_) return;
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  thread_.join();
  clear_progress();
}

void Progress::phase(std::string_view name, std::uint64_t tasks) {
  if (!shown_) return;
  const Statistics statistics = runtime_.statistics();
  const std::lock_guard lock(mutex_);
  name_ = name;
  tasks_ = tasks;
  done_before_ = statistics.application_tasks_done();
  began_ = statistics.now;
}

void Progress::watch() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kInterval, [&] { return end_; })) draw();
}

void Progress::draw() {
  if (name_.empty()) return;
  const Statistics statistics = runtime_.statistics();
  const std::uint64_t done = statistics.application_tasks_done() - done_before_;
  const double seconds = (statistics.now - began_).seconds();
  const std::size_t columns = terminal_columns();
  std::string line = fmt::format("{}: {} ", label_, name_);
  if (tasks_ > 0) {
    line += fmt::format("{}  {}/{} tasks  ", progress_bar(done, tasks_, columns < 80 ? 10 : 30),
                        done, tasks_);
  }
  line += reports::format_duration(seconds);
  show_progress(std::move(line));
}

}  // namespace vicinal::cli
