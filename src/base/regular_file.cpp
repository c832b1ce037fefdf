#include "base/regular_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.hpp"

namespace vicinal::base {

namespace {

[[noreturn]] void refuse_by_system(int error) {
  const bool lacks_rights = error == EACCES || error == EPERM;
  throw RegularFile::Refused{std::strerror(error),
                             lacks_rights ? "give yourself the right to read it" : ""};
}

}  // namespace

RegularFile::RegularFile(const std::string& path) {
  // NONBLOCK: a FIFO is not waited for.
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) refuse_by_system(errno);
  struct stat status {};
  const int error = fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (error == 0 && S_ISREG(status.st_mode)) {
    bytes_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  close(descriptor_);
  if (error != 0) refuse_by_system(error);
  if (S_ISDIR(status.st_mode)) throw Refused{"it is a folder", "give a file that lies in it"};
  throw Refused{"it is a device or a pipe", "write what comes from there to a file first"};
}

RegularFile::~RegularFile() {
  close(descriptor_);
}

// It may grow meanwhile, and what /proc shows has no size.
std::string RegularFile::text(std::uint64_t most_bytes) const {
  constexpr std::uint64_t kPart = std::uint64_t{64} << 10;
  const auto require_few = [&](std::uint64_t bytes) {
    if (bytes <= most_bytes) return;
    throw Refused{"it is larger than " + format_bytes({most_bytes}), ""};
  };
  require_few(bytes_);
  std::string text;
  text.reserve(bytes_ + kPart);
  for (;;) {
    const std::size_t length = text.size();
    require_few(length);
    text.resize(length + kPart);
    const ssize_t got = ::read(descriptor_, text.data() + length, kPart);
    const int error = errno;
    text.resize(length + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return text;
    if (got < 0 && error != EINTR) refuse_by_system(error);
  }
}

}  // namespace vicinal::base
