#include "output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

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

[[noreturn]] void refuse_printing() {
  throw DeviceError(
      fmt::format("cannot write to the standard output{}{}; give it room, or another place",
                  errno == 0 ? "" : ": ", errno == 0 ? "" : std::strerror(errno)));
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

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_ == "-") return;
  if (is_other_than_file(path_) || is_dangling_link(path_)) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  } else {
    open();
  }
  if (file_ < 0) refuse();
}

OutputFile::~OutputFile() {
  if (file_ < 0) return;
  ::close(file_);
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

void OutputFile::refuse() const {
  throw DeviceError(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

void OutputFile::open() {
  target_ = target_of(path_);
  beside_ = fmt::format("{}.{}.tmp", target_, ::getpid());
  file_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ >= 0) {
    struct stat old {};
    if (::stat(target_.c_str(), &old) == 0) {
      static_cast<void>(::fchmod(file_, old.st_mode & 07777));
    }
    return;
  }
  beside_.clear();
  const bool may_be_written = errno == EACCES || errno == EROFS || errno == ENAMETOOLONG ||
                              errno == EEXIST;  // left by a process of that number
  if (!may_be_written) return;
  // The file may be written to, its folder not.
  file_ = ::open(target_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

void OutputFile::write(std::string_view piece) {
  if (path_ == "-") {
    errno = 0;
    if (std::fwrite(piece.data(), 1, piece.size(), stdout) != piece.size()) refuse_printing();
  } else if (!write_all(file_, piece)) {
    refuse();
  }
}

void OutputFile::finish() {
  if (path_ == "-") return;
  const int file = std::exchange(file_, -1);
  const bool is_there =
      ::close(file) == 0 && (beside_.empty() || ::rename(beside_.c_str(), target_.c_str()) == 0);
  if (is_there) return;
  const int cause = errno;
  if (!beside_.empty()) ::unlink(beside_.c_str());
  errno = cause;
  refuse();
}

void write_text(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.finish();
}

void require_printed() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return;
  refuse_printing();
}

}  // namespace vicinal::cli
