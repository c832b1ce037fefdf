#include "linalg/tile_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "base/regular_file.hpp"
#include "vicinal/error.hpp"

namespace vicinal::linalg {

namespace {

// A descriptor closed at the end of the scope.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

std::string cause() {
  return std::strerror(errno);
}

TileFileHeader header_of(const TileGrid& grid, TileContent content) {
  TileFileHeader header;
  header.size = grid.size;
  header.tile = grid.tile;
  header.element_bytes = element_bytes(grid.precision);
  header.content = static_cast<std::uint64_t>(content);
  return header;
}

std::unique_ptr<base::RegularFile> open_to_read(const std::string& path) {
  try {
    return std::make_unique<base::RegularFile>(path);
  } catch (const base::RegularFile::Refused& refused) {
    throw UsageError(
        fmt::format("cannot read {}: {}; {}", path, refused.why,
                    refused.remedy.empty() ? "give one of docs/tile-file.md" : refused.remedy));
  }
}

// The block that holds the header.
bool write_header(int fd, const TileFileHeader& header) {
  char block[kFileBlock] = {};
  std::memcpy(block, &header, sizeof(header));
  return ::pwrite(fd, block, sizeof(block), 0) == static_cast<ssize_t>(sizeof(block));
}

void check_header(const std::string& path, const TileFileHeader& header) {
  const TileFileHeader model;
  if (std::memcmp(header.magic, model.magic, sizeof(model.magic)) != 0) {
    throw UsageError(
        fmt::format("{} is not a tile file: it does not begin with VICTILE1; make one "
                    "with `vicinal generate cholesky`, or see docs/tile-file.md",
                    path));
  }
  if (header.complete != 1) {
    throw UsageError(
        fmt::format("{} is incomplete: the run that wrote it did not end well; write "
                    "it again",
                    path));
  }
  const TileGrid grid{.size = header.size, .tile = header.tile};  // of doubles, the larger
  const bool sane = grid.is_sound() && (header.element_bytes == 4 || header.element_bytes == 8) &&
                    (header.content == 1 || header.content == 2);
  if (!sane) {
    throw UsageError(
        fmt::format("{}: damaged header (size {}, tile {}, element {} bytes, content "
                    "{}); write the file again",
                    path, header.size, header.tile, header.element_bytes, header.content));
  }
}

}  // namespace

TileFile TileFile::create(const std::string& path, const TileGrid& grid, TileContent content,
                          std::uint64_t mark) {
  TileFile file(path, grid, content);
  const bool was_there = ::access(path.c_str(), F_OK) == 0;
  const Descriptor fd(path, O_RDWR | O_CREAT);
  if (!fd.is_open()) {
    throw UsageError(
        fmt::format("cannot write {}: {}; give a file in a folder that exists and is "
                    "writable",
                    path, cause()));
  }
  // The header first: whatever an earlier run left there is not valid from now on.
  TileFileHeader header = header_of(grid, content);
  header.mark = mark;
  if (!write_header(fd.get(), header) ||
      ::ftruncate(fd.get(), static_cast<off_t>(file.bytes())) != 0) {
    const std::string why = cause();
    if (!was_there) ::unlink(path.c_str());
    throw UsageError(
        fmt::format("cannot write the {} bytes of {}: {}; give it room, or another place",
                    file.bytes(), path, why));
  }
  return file;
}

TileFile TileFile::join(const std::string& path, const TileGrid& grid, TileContent content,
                        std::uint64_t mark) {
  TileFileHeader expected = header_of(grid, content);
  expected.mark = mark;
  TileFileHeader header;
  const Descriptor fd(path, O_RDWR);
  const bool is_same =
      fd.is_open() &&
      ::pread(fd.get(), &header, sizeof(header), 0) == static_cast<ssize_t>(sizeof(header)) &&
      std::memcmp(&header, &expected, sizeof(header)) == 0;
  if (is_same) return {path, grid, content};
  throw UsageError(fmt::format(
      "cannot write {}: {}; give a file that all ranks see, in a folder that their hosts share",
      path, fd.is_open() ? "it is not the file that rank 0 has created" : cause()));
}

TileFile TileFile::open(const std::string& path) {
  const std::unique_ptr<base::RegularFile> opened = open_to_read(path);
  TileFileHeader header{};
  if (::pread(opened->descriptor(), &header, sizeof(header), 0) !=
      static_cast<ssize_t>(sizeof(header))) {
    throw UsageError(fmt::format("{} is not a tile file: it is shorter than its header", path));
  }
  check_header(path, header);
  TileFile file(path,
                {.size = header.size,
                 .tile = header.tile,
                 .precision = header.element_bytes == 4 ? Precision::f32 : Precision::f64},
                static_cast<TileContent>(header.content));
  if (opened->bytes() < file.bytes()) {
    throw UsageError(fmt::format("{} is too short: {} bytes, where its header asks for {}", path,
                                 opened->bytes(), file.bytes()));
  }
  return file;
}

void TileFile::sync() {
  const Descriptor fd(path_, O_RDWR);
  if (!fd.is_open() || ::fsync(fd.get()) != 0) {
    throw DeviceError(fmt::format("cannot write {}: {}", path_, cause()));
  }
}

void TileFile::mark_complete() {
  const Descriptor fd(path_, O_RDWR);
  TileFileHeader header = header_of(grid_, content_);
  header.complete = 1;
  if (!fd.is_open() || ::fsync(fd.get()) != 0 || !write_header(fd.get(), header) ||
      ::fsync(fd.get()) != 0) {
    throw DeviceError(fmt::format("cannot complete {}: {}", path_, cause()));
  }
}

}  // namespace vicinal::linalg
