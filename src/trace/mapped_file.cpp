#include "trace/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <string_view>
#include <sys/mman.h>

#include <fmt/format.h>

#include "base/regular_file.hpp"
#include "vicinal/error.hpp"

namespace vicinal::trace {

namespace {

constexpr std::string_view kRemedy = "give the file that --trace has written";

[[noreturn]] void refuse(const std::string& path, std::string_view why, std::string_view remedy) {
  throw UsageError(fmt::format("cannot read the recording \"{}\": {}; {}", path, why, remedy));
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  try {
    const base::RegularFile file(path);
    if (file.bytes() == 0) return;
    void* const address = mmap(nullptr, file.bytes(), PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    if (address == MAP_FAILED) {
      refuse(path, std::strerror(errno), kRemedy);
    }
    madvise(address, file.bytes(), MADV_WILLNEED);  // only makes it faster
    bytes_ = {static_cast<const std::byte*>(address), file.bytes()};
  } catch (const base::RegularFile::Refused& refused) {
    refuse(path, refused.why, refused.remedy.empty() ? kRemedy : refused.remedy);
  }
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace vicinal::trace
