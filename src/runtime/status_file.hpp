// A file that is written anew once a second, for others to look at: whoever opens it finds a whole one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace vicinal::runtime {

class StatusFile {
 public:
  using Content = std::function<std::string()>;
  // Writes it, and starts the thread that goes on. `content` is called by any thread, one at a time, and gives what begins
  // with `begins`. `number`: no other file of this process has it. Throws UsageError if there is something else of that
  // name, which would be lost. What cannot be written later is told once, as a warning.
  StatusFile(std::string path, std::string_view begins, std::uint32_t number, Content content);
  ~StatusFile() { end(); }
  StatusFile(const StatusFile&) = delete;
  StatusFile& operator=(const StatusFile&) = delete;

  // Once more, now. Any thread.
  void write() noexcept;
  // For the last time, if it was not called before.
  void end() noexcept;

 private:
  void watch();
  std::string put(std::string_view text) const;

  const std::string path_;
  const std::string fresh_;  // what takes its name when it is whole
  const Content content_;
  std::mutex writing_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ended_ = false;  // under mutex_
  std::thread thread_;
};

}  // namespace vicinal::runtime
