// The few lines that a library says unasked: warnings, and announcements made once. Each is one
// line on stderr, "vicinal: ..."; lines of several threads do not mix.
//
//   base::process_log().warn_once("io_uring", "io_uring is not permitted here: using threads");
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace vicinal::base {

// Any thread may call any method.
class Log {
 public:
  // Given one line without its end. Called under the log's lock: it must not log.
  using Sink = std::function<void(std::string_view line)>;

  Log();  // to stderr
  explicit Log(Sink sink);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void announce(std::string_view text);
  void warn(std::string_view text);
  // Say it if nothing was said yet under this key; tell whether it was said now.
  bool announce_once(std::string_view key, std::string_view text);
  bool warn_once(std::string_view key, std::string_view text);

 private:
  void write(std::string_view prefix, std::string_view text);
  bool write_once(std::string_view key, std::string_view prefix, std::string_view text);

  std::mutex mutex_;
  Sink sink_;                                // under mutex_
  std::set<std::string, std::less<>> said_;  // keys, under mutex_
};

// The one mutable global. What it speaks of is the process's, not a runtime's (the kernel refuses
// io_uring, a library is missing): two runtimes must not say it twice, and much of it comes up
// before there is a runtime to ask. No behaviour depends on it. Never destroyed, so that threads
// that outlive main may still warn.
Log& process_log();

}  // namespace vicinal::base
