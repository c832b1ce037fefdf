#include "recording_in_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

namespace vicinal::cli {

RecordingInMemory::RecordingInMemory() : descriptor_(::memfd_create("recording", MFD_CLOEXEC)) {}

RecordingInMemory::~RecordingInMemory() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string RecordingInMemory::path() const {
  return descriptor_ < 0 ? std::string() : fmt::format("/proc/self/fd/{}", descriptor_);
}

}  // namespace vicinal::cli
