// What the tests of the disk driver share: a folder, data in memory whose surroundings are watched, and the driver
// in each of the ways that it works.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "drivers/disk/disk_driver.hpp"
#include "drivers/mapped_memory.hpp"
#include "support/planned_faults.hpp"
#include "unit/driver_fakes.hpp"

namespace vicinal::drivers {

inline constexpr NodeId kDisk{1};
inline constexpr int kScratch = -1;
inline constexpr std::uint64_t kPage = 4096;
using Content = std::vector<std::byte>;

inline Content random_bytes(std::size_t count, base::Random& random) {
  Content result(count);
  for (std::size_t i = 0; i < count; i += sizeof(std::uint64_t)) {
    const std::uint64_t value = random.next();
    std::memcpy(result.data() + i, &value, std::min(sizeof(value), count - i));
  }
  return result;
}

// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    std::string pattern = ::testing::TempDir() + "vicinal-disk-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string path(const std::string& name = {}) const {
    return name.empty() ? path_ : path_ + "/" + name;
  }
  std::string make_file(const std::string& name, const Content& content) const {
    std::ofstream stream(path(name), std::ios::binary);
    stream.write(reinterpret_cast<const char*>(content.data()),
                 static_cast<std::streamsize>(content.size()));
    return path(name);
  }
  Content read_file(const std::string& name) const {
    std::ifstream stream(path(name), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
    return {begin, begin + text.size()};
  }

 private:
  std::string path_;
};

// Memory as the runtime has it: 4 KiB aligned with all of its last page, or as users have it.
enum class MemoryKind { replica, aligned_user, unaligned_user };

struct Data {
  Data(std::uint64_t size, MemoryKind kind, std::uint64_t id)
      : bytes(size), canary(next_canary()), pages({round_up(size, kPage) + 2 * kPage}, "test") {
    begin = pages.address() + (kind == MemoryKind::unaligned_user ? 24 : 0);
    std::memset(pages.address(), static_cast<int>(canary), round_up(size, kPage) + 2 * kPage);
    handle.layout = packed_layout(size);
    handle.name = "tile " + std::to_string(id);
    if (kind != MemoryKind::replica) {
      handle.home.kind = graph::HomeKind::buffer;
      handle.home.address = begin;
    }
    replica = kind == MemoryKind::replica;
  }
  void fill(const Content& content) const { std::memcpy(begin, content.data(), bytes); }
  bool holds(const Content& content) const {
    return std::memcmp(begin, content.data(), bytes) == 0;
  }
  // What lies behind belongs to others: behind the last page, or behind the last byte.
  bool surroundings_intact() const {
    std::byte* const behind = begin + (replica ? round_up(bytes, kPage) : bytes);
    std::byte* const end = pages.address() + round_up(bytes, kPage) + 2 * kPage;
    const auto untouched = [this](std::byte byte) { return byte == canary; };
    return std::all_of(behind, end, untouched) && std::all_of(pages.address(), begin, untouched);
  }

  // Of its own, so that the padding of another one is seen.
  static std::byte next_canary() {
    static std::atomic<unsigned> last{0};
    return static_cast<std::byte>(++last % 251 + 1);
  }

  std::uint64_t bytes;
  std::byte canary;
  MappedMemory pages;
  std::byte* begin;
  bool replica;
  graph::Handle handle;
};

struct Way {
  bool io_uring;
  bool direct_io;
};
inline constexpr std::array kWays{Way{true, true}, Way{true, false}, Way{false, true},
                                  Way{false, false}};
inline std::string name_of_way(const ::testing::TestParamInfo<Way>& way) {
  return std::string(way.param.io_uring ? "Uring" : "Threads") +
         (way.param.direct_io ? "Direct" : "Cached");
}

// The driver in each of the ways that it works.
class DiskDriverTest : public ::testing::TestWithParam<Way> {
 protected:
  DiskDriverTest() { restart({}); }
  ~DiskDriverTest() override { driver_->stop(); }

  void restart(std::optional<Bytes> space) {
    driver_ = std::make_unique<DiskDriver>(DiskConfig{.folder = folder_.path(),
                                                      .space = space,
                                                      .direct_io = GetParam().direct_io,
                                                      .io_uring = GetParam().io_uring,
                                                      .node = kDisk,
                                                      .faults = &faults_});
    driver_->start(engine_);
  }
  memory::Copy copy_of(Data& data, int file, std::uint64_t offset) {
    memory::Copy copy;
    copy.id.slot = ++ids_;
    copy.handle = &data.handle;
    copy.from = {.node = kRam, .address = data.begin, .layout = data.handle.layout};
    copy.to = {
        .node = kDisk, .file = file, .offset = offset, .layout = data.handle.layout.packed()};
    return copy;
  }
  std::uint64_t write(Data& data, int file, std::uint64_t offset) {
    const memory::Copy copy = copy_of(data, file, offset);
    driver_->start_copy(copy);
    return copy.id.slot;
  }
  std::uint64_t read(Data& data, int file, std::uint64_t offset) {
    memory::Copy copy = copy_of(data, file, offset);
    std::swap(copy.from, copy.to);
    driver_->start_copy(copy);
    return copy.id.slot;
  }
  // Empty, or the message of the error.
  std::string written(Data& data, int file, std::uint64_t offset) {
    return engine_.copy_error(write(data, file, offset));
  }
  std::string was_read(Data& data, int file, std::uint64_t offset) {
    return engine_.copy_error(read(data, file, offset));
  }

  Folder folder_;
  FakeEngine engine_;
  vicinal::testing::PlannedFaults faults_;
  std::unique_ptr<DiskDriver> driver_;
  std::uint32_t ids_ = 0;
};

inline constexpr std::array kKinds{MemoryKind::replica, MemoryKind::aligned_user,
                                   MemoryKind::unaligned_user};

}  // namespace vicinal::drivers
