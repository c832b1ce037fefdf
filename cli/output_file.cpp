#include "output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

// Everything but a file can only be written to: a pipe, a terminal, /dev/null.
bool is_other_than_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

// To a file that is not there yet.
bool is_dangling_link(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode) &&
         ::stat(path.c_str(), &status) != 0;
}

// The file that a symbolic link leads to is replaced, not the link.
std::string target_of(const std::string& path) {
  char* const real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string target = real;
  std::free(real);
  return target;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Closes it in any case.
bool write_and_close(int file, std::string_view text) {
  const bool written = write_all(file, text);
  const int cause = errno;
  const bool closed = ::close(file) == 0;
  if (!written) errno = cause;
  return written && closed;
}

[[noreturn]] void refuse(const std::string& path) {
  throw DeviceError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

}  // namespace

void require_writable(std::string_view option, const std::string& path) {
  if (path.empty() || path == "-") return;
  const bool is_there = ::access(path.c_str(), F_OK) == 0;
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | (is_there ? 0 : O_CREAT), 0666);
  if (file >= 0) {
    ::close(file);
    if (!is_there) ::unlink(target_of(path).c_str());
    return;
  }
  if (is_there && errno == ENXIO) return;  // a pipe that nobody reads yet
  throw UsageError(
      fmt::format("{}: cannot write {}: {}; give a file in a folder that exists and is "
                  "writable",
                  option, path, std::strerror(errno)));
}

void write_text(const std::string& path, std::string_view text) {
  if (path == "-") {
    fmt::print("{}", text);
    return;
  }
  if (is_other_than_file(path) || is_dangling_link(path)) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || !write_and_close(file, text)) refuse(path);
    return;
  }
  const std::string target = target_of(path);
  const std::string beside = fmt::format("{}.{}.tmp", target, ::getpid());
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  const bool may_be_written = errno == EACCES || errno == EROFS || errno == ENAMETOOLONG ||
                              errno == EEXIST;  // left by a process of that number
  if (file < 0 && !may_be_written) refuse(path);
  if (file < 0) {  // the file may be written to, its folder not
    const int itself = ::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (itself < 0 || !write_and_close(itself, text)) refuse(path);
    return;
  }
  struct stat old {};
  if (::stat(target.c_str(), &old) == 0) static_cast<void>(::fchmod(file, old.st_mode & 07777));
  if (!write_and_close(file, text) || ::rename(beside.c_str(), target.c_str()) != 0) {
    const int cause = errno;
    ::unlink(beside.c_str());
    errno = cause;
    refuse(path);
  }
}

void require_printed() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return;
  throw DeviceError(
      fmt::format("cannot write to the standard output{}{}; give it room, or another place",
                  errno == 0 ? "" : ": ", errno == 0 ? "" : std::strerror(errno)));
}

}  // namespace vicinal::cli
