#include "trace/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::trace {

namespace {

[[noreturn]] void refuse(const std::string& path, std::string_view why, std::string_view remedy) {
  throw UsageError(fmt::format("cannot read the recording \"{}\": {}; {}", path, why, remedy));
}

[[noreturn]] void refuse_by_system(const std::string& path, int error) {
  constexpr std::string_view kRemedy = "give the file that --trace has written";
  constexpr std::string_view kRights = "give yourself the right to read it";
  refuse(path, std::strerror(error), error == EACCES || error == EPERM ? kRights : kRemedy);
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  // NONBLOCK: a FIFO is not waited for.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.number() < 0) refuse_by_system(path, errno);
  struct stat status {};
  if (fstat(file.number(), &status) != 0) refuse_by_system(path, errno);
  if (S_ISDIR(status.st_mode)) refuse(path, "it is a folder", "give a file that lies in it");
  if (!S_ISREG(status.st_mode)) {
    refuse(path, "it is a device or a pipe", "write what comes from there to a file first");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (address == MAP_FAILED) refuse_by_system(path, errno);
  madvise(address, size, MADV_WILLNEED);  // only makes it faster
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace vicinal::trace
