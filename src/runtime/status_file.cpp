#include "runtime/status_file.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/file_size_signal.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "vicinal/error.hpp"

namespace vicinal::runtime {

namespace {

constexpr auto kEach = std::chrono::seconds(1);

[[noreturn]] void refuse_status(const std::string& path, const char* why) {
  throw UsageError(fmt::format(
      "option status: {} is {}, which would be lost; name a file that is not there, or one that "
      "this option has written",
      path, why));
}

// What is no file of ours is not replaced: not a device, which a rename would remove, nor data.
void require_replaceable(const std::string& path, std::string_view begins) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;  // whether it can be made is seen when it is
  if (!S_ISREG(status.st_mode)) refuse_status(path, "no file");
  if (status.st_size == 0) return;
  std::string found(begins.size(), '\0');
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) refuse_status(path, "a file that cannot be read");
  const ssize_t bytes = ::read(file, found.data(), found.size());
  ::close(file);
  if (bytes != static_cast<ssize_t>(begins.size()) || found != begins) {
    refuse_status(path, "a file of another kind");
  }
}

}  // namespace

StatusFile::StatusFile(std::string path, std::string_view begins, std::uint32_t number,
                       Content content)
    : path_(std::move(path)),
      fresh_(fmt::format("{}.{}.{}", path_, ::getpid(), number)),
      content_(std::move(content)) {
  require_replaceable(path_, begins);
  write();
  thread_ = base::start_thread("that writes the status", [this] { watch(); });
}

void StatusFile::watch() {
  base::block_file_size_signal();
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, kEach, [this] { return ended_; })) {
    lock.unlock();
    write();
    lock.lock();
  }
}

// Empty, or why not.
std::string StatusFile::put(std::string_view text) const {
  const auto why = [] { return std::string(std::strerror(errno)); };
  const int file =
      ::open(fresh_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file < 0) return why();
  std::string trouble;
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      trouble = written < 0 ? why() : "nothing could be written";
      break;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::close(file) != 0 && trouble.empty()) trouble = why();
  if (trouble.empty() && std::rename(fresh_.c_str(), path_.c_str()) != 0) trouble = why();
  if (!trouble.empty()) ::unlink(fresh_.c_str());
  return trouble;
}

void StatusFile::write() noexcept {
  const base::NoFileSizeSignal none;
  try {
    const std::lock_guard lock(writing_);
    const std::string trouble = put(content_());
    if (trouble.empty()) return;
    base::process_log().warn_once(
        "status " + path_,
        fmt::format("the status cannot be written to {}: {}; give a file in a folder that is there "
                    "and has room (option status)",
                    path_, trouble));
  } catch (const std::exception&) {  // out of memory: it is written the next time
  }
}

void StatusFile::end() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return;
  }
  ends_.notify_one();
  if (thread_.joinable()) thread_.join();
  write();
}

}  // namespace vicinal::runtime
