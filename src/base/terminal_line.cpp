#include "base/terminal_line.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/legible.hpp"

namespace vicinal::base {

namespace {
constexpr std::string_view kClearLine = "\r\x1b[K";
}  // namespace

std::size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

bool can_show_line() {
  const char* const terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && terminal != nullptr && *terminal != '\0' &&
         std::string_view(terminal) != "dumb";
}

void clear_line() {
  if (can_show_line()) fmt::print(stderr, "{}", kClearLine);
}

void show_line(std::string line) {
  fmt::print(stderr, "{}{}", kClearLine,
             legible_name(fitting(std::move(line), terminal_columns())));
  std::fflush(stderr);
}

std::string fitting(std::string line, std::size_t columns) {
  // The last column is left free: some terminals wrap when it is written.
  if (line.size() >= columns) line.resize(columns > 0 ? columns - 1 : 0);
  return line;
}

std::string progress_bar(std::uint64_t done, std::uint64_t all, std::size_t width) {
  done = std::min(done, all);
  // By parts: the product of large numbers would not fit.
  const double part = all == 0 ? 0 : static_cast<double>(done) / static_cast<double>(all);
  const auto marks = static_cast<std::size_t>(part * static_cast<double>(width));
  return fmt::format("[{:#<{}}{:.<{}}] {:3} %", "", marks, "", width - marks,
                     static_cast<int>(part * 100));
}

}  // namespace vicinal::base
