#include "reports/row_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/regular_file.hpp"
#include "vicinal/error.hpp"

namespace vicinal::reports {

namespace {

std::string difference_of(const std::string& text, const std::string& head) {
  std::istringstream found(text);
  std::istringstream wanted(head);
  std::string line;
  std::string ours;
  while (std::getline(wanted, ours)) {
    if (std::getline(found, line) && line == ours) continue;
    if (wanted.peek() == std::char_traits<char>::eof()) break;
    return fmt::format("it says \"{}\", and this is \"{}\"", line, ours);
  }
  return "its columns are others";
}

}  // namespace

RowFile::RowFile(std::string path, Format format)
    : path_(std::move(path)), format_(std::move(format)) {
  for (const std::string& key : format_.keys) rests_.emplace(key + ",", std::nullopt);
  if (path_.empty()) return;
  // What a link leads to is written, not the link.
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(path_, failed);
  if (!failed) path_ = real.string();
  read();
}

RowFile::~RowFile() {
  if (file_ >= 0) ::close(file_);
}

void RowFile::read() {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  if (::access(path_.c_str(), F_OK) != 0) return;
  std::string text;
  try {
    text = base::RegularFile(path_).text(kMost);
  } catch (const base::RegularFile::Refused& refused) {
    throw UsageError(fmt::format("{}: {}; name another file", path_, refused.why));
  }
  if (!text.starts_with(format_.head)) {
    if (text.empty()) return;
    found_ = Found::other;
    difference_ = difference_of(text, format_.head);
    return;
  }
  std::string_view left = std::string_view(text).substr(format_.head.size());
  std::size_t number = 1;
  for (std::size_t end = left.find('\n'); end != std::string_view::npos; end = left.find('\n')) {
    read_row(left.substr(0, end), number++);
    left.remove_prefix(end + 1);
  }
}

// No key with its comma begins another: of those that do not come behind the line the last one is the line's, or none is.
void RowFile::read_row(std::string_view line, std::size_t number) {
  auto at = rests_.upper_bound(line);
  if (at != rests_.begin() && line.starts_with((--at)->first)) {
    const std::string_view rest = line.substr(at->first.size());
    if (!format_.is_whole(rest)) return;
    at->second = rest;
    found_ = Found::rows;
  } else if (!stranger_) {
    stranger_ = Stranger{number, std::string(line)};
  }
}

void RowFile::refuse(const std::string& path) const {
  throw DeviceError(fmt::format("cannot write {}: {}; give it room, or another place", path,
                                std::strerror(errno)));
}

// Beside it first: a process that ends meanwhile leaves the old rows or the new ones.
void RowFile::write() {
  if (path_.empty()) return;
  const std::lock_guard lock(mutex_);
  std::string text = format_.head;
  for (const std::string& key : format_.keys) {
    const auto& rest = rests_.find(key + ",")->second;
    if (rest) text += key + "," + *rest + "\n";
  }
  const std::string beside = path_ + ".new";
  const int file =
      ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) refuse(beside);
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!written || ::rename(beside.c_str(), path_.c_str()) != 0) {
    const int cause = errno;
    ::close(file);
    ::unlink(beside.c_str());
    errno = cause;
    refuse(path_);
  }
  if (file_ >= 0) ::close(file_);
  file_ = file;
}

bool RowFile::has(const std::string& key) const {
  return rest(key).has_value();
}

std::optional<std::string> RowFile::rest(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto at = rests_.find(key + ",");
  return at == rests_.end() ? std::nullopt : at->second;
}

void RowFile::append(const std::string& key, std::string rest) {
  const std::string line = key + "," + rest + "\n";
  const std::lock_guard lock(mutex_);
  // One write: a line is there or is cut off, and never two of them are mixed.
  const bool is_kept =
      file_ < 0 || ::write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (!is_kept) refuse(path_);
  rests_[key + ","] = std::move(rest);
}

}  // namespace vicinal::reports
