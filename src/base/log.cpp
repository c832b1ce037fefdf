#include "base/log.hpp"

#include <cstdio>
#include <utility>

#include "base/legible.hpp"

namespace vicinal::base {

namespace {

constexpr std::string_view kAnnounce = "vicinal: ";
constexpr std::string_view kWarn = "vicinal: warning: ";

void write_to_stderr(std::string_view line) {
  std::string with_end(line);
  with_end += '\n';
  // One call, so that the lines of two logs do not mix; nothing can be done if it fails.
  std::fwrite(with_end.data(), 1, with_end.size(), stderr);
}

}  // namespace

Log::Log() : Log(write_to_stderr) {}

Log::Log(Sink sink) : sink_(std::move(sink)) {}

void Log::announce(std::string_view text) {
  const std::lock_guard lock(mutex_);
  write(kAnnounce, text);
}

void Log::warn(std::string_view text) {
  const std::lock_guard lock(mutex_);
  write(kWarn, text);
}

bool Log::announce_once(std::string_view key, std::string_view text) {
  return write_once(key, kAnnounce, text);
}

bool Log::warn_once(std::string_view key, std::string_view text) {
  return write_once(key, kWarn, text);
}

bool Log::write_once(std::string_view key, std::string_view prefix, std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (!said_.emplace(key).second) return false;
  write(prefix, text);
  return true;
}

void Log::write(std::string_view prefix, std::string_view text) {
  std::string line(prefix);
  line += legible(text);
  sink_(line);
}

Log& process_log() {
  static Log* const log = new Log;
  return *log;
}

}  // namespace vicinal::base
