#include "file_in_memory.hpp"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::cli {

FileInMemory::FileInMemory(std::string_view what)
    : what_(what), descriptor_(::memfd_create("vicinal", MFD_CLOEXEC)) {
  if (descriptor_ < 0) {
    throw DeviceError(fmt::format("{}: the system gives no file in memory ({}); close some files",
                                  what_, std::strerror(errno)));
  }
}

FileInMemory::~FileInMemory() {
  ::close(descriptor_);
}

void FileInMemory::write(std::string_view piece) {
  while (!piece.empty()) {
    const ssize_t written = ::write(descriptor_, piece.data(), piece.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      throw DeviceError(
          fmt::format("{}: the file in memory takes no more ({})", what_, std::strerror(errno)));
    }
    piece.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string FileInMemory::path() const {
  return fmt::format("/proc/self/fd/{}", descriptor_);
}

}  // namespace vicinal::cli
