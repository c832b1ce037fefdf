#include "runtime/progress_line.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "base/start_thread.hpp"
#include "base/terminal_line.hpp"
#include "base/text.hpp"
#include "drivers/clock.hpp"
#include "runtime/runtime_impl.hpp"

namespace vicinal::runtime {

namespace {
constexpr auto kOnTerminal = std::chrono::milliseconds(100);
constexpr auto kElsewhere = std::chrono::seconds(10);

std::uint64_t all_ended(const Statistics& s) {
  return s.tasks_done + s.tasks_failed + s.tasks_cancelled;
}
}  // namespace

// The runtime's own tasks are none of those that the application expects.
Advance advance_since(const Statistics& before, const Statistics& now, std::uint64_t expected) {
  Advance advance;
  advance.done = all_ended(now) - all_ended(before);
  advance.all = now.tasks_submitted - all_ended(before);
  if (expected > 0) {
    const std::uint64_t own = now.own_tasks_done - before.own_tasks_done;
    advance.done = std::min(advance.done - std::min(own, advance.done), expected);
    advance.all = expected;
  }
  advance.elapsed = now.now - before.now;
  return advance;
}

std::string describe(std::string_view label, std::string_view phase, const Advance& advance,
                     std::size_t marks) {
  std::string line(label);
  if (!line.empty()) line += ": ";
  if (!phase.empty()) line += fmt::format("{} ", phase);
  if (marks > 0 && advance.all > 0) {
    line += base::progress_bar(advance.done, advance.all, marks) + "  ";
  }
  line += fmt::format("{}/{} tasks  {}", advance.done, advance.all,
                      base::format_duration(advance.elapsed));
  if (advance.done == 0 || advance.elapsed.ns <= 0) return line;
  const double rate = static_cast<double>(advance.done) / advance.elapsed.seconds();
  line += rate < 999.5 ? fmt::format(", {:.3g}/s", rate) : fmt::format(", {:.0f}/s", rate);
  if (advance.done >= advance.all) return line;
  const double left = static_cast<double>(advance.all - advance.done) / rate;
  return line + fmt::format(", {} left", base::format_duration(Time::from_seconds(
                                             std::min(left, kLongestDuration.seconds()))));
}

}  // namespace vicinal::runtime

namespace vicinal::internals {

ProgressLine::ProgressLine(std::shared_ptr<RuntimeImpl> runtime, ProgressOptions options)
    : runtime_(std::move(runtime)),
      options_(std::move(options)),
      on_terminal_(base::can_show_line()),
      is_shown_(on_terminal_ || options_.always),
      tasks_(options_.tasks) {
  if (!is_shown_) return;
  before_ = look();
  thread_ = base::start_thread("that shows progress", [this] { watch(); });
}

ProgressLine::~ProgressLine() {
  if (!is_shown_) return;
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

// The time is that of the system, also in a simulation: the line is for people who wait.
Statistics ProgressLine::look() const {
  Statistics statistics = runtime_->statistics();
  statistics.now = drivers::monotonic_now();
  return statistics;
}

void ProgressLine::phase(std::string_view name, std::uint64_t tasks) {
  if (!is_shown_) return;
  Statistics now = look();
  const std::lock_guard lock(mutex_);
  phase_ = name;
  tasks_ = tasks;
  before_ = std::move(now);
}

std::string ProgressLine::text(std::size_t marks) const {
  return runtime::describe(options_.label, phase_, runtime::advance_since(before_, look(), tasks_),
                           marks);
}

void ProgressLine::watch() {
  const auto print = [this] {
    try {
      if (!on_terminal_) {
        fmt::print(stderr, "{}\n", base::legible_name(text(0)));
      } else {
        base::show_line(text(base::terminal_columns() < 110 ? 10 : 30));
      }
    } catch (const std::bad_alloc&) {  // the next one is shown
    }
  };
  std::unique_lock lock(mutex_);
  const auto interval = on_terminal_ ? std::chrono::nanoseconds(runtime::kOnTerminal)
                                     : std::chrono::nanoseconds(runtime::kElsewhere);
  while (!ended_.wait_for(lock, interval, [this] { return end_; })) print();
  if (on_terminal_) {
    base::clear_line();
  } else {
    print();
  }
}

}  // namespace vicinal::internals

namespace vicinal {

Progress::Progress(std::unique_ptr<internals::ProgressLine> line) : line_(std::move(line)) {}
Progress::Progress(Progress&&) noexcept = default;
Progress& Progress::operator=(Progress&&) noexcept = default;
Progress::~Progress() = default;

void Progress::phase(std::string_view name, std::uint64_t tasks) {
  if (line_ != nullptr) line_->phase(name, tasks);
}

Progress Runtime::progress(const ProgressOptions& options) const {
  return Progress(std::make_unique<internals::ProgressLine>(impl_, options));
}

}  // namespace vicinal
