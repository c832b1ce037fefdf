#include "drivers/disk/disk_driver.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "drivers/disk/disk_bandwidth.hpp"
#include "drivers/mapped_memory.hpp"
#include "drivers/strided_copy.hpp"
#include "support/planned_faults.hpp"
#include "unit/driver_fakes.hpp"
#include "vicinal/error.hpp"

namespace vicinal::drivers {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr NodeId kDisk{1};
constexpr int kScratch = -1;
constexpr std::uint64_t kPage = 4096;
using Content = std::vector<std::byte>;

Content random_bytes(std::size_t count, base::Random& random) {
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

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

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
    copy.id = ++ids_;
    copy.handle = &data.handle;
    copy.from = {.node = kRam, .address = data.begin, .layout = data.handle.layout};
    copy.to = {
        .node = kDisk, .file = file, .offset = offset, .layout = data.handle.layout.packed()};
    return copy;
  }
  std::uint64_t write(Data& data, int file, std::uint64_t offset) {
    const memory::Copy copy = copy_of(data, file, offset);
    driver_->start_copy(copy);
    return copy.id;
  }
  std::uint64_t read(Data& data, int file, std::uint64_t offset) {
    memory::Copy copy = copy_of(data, file, offset);
    std::swap(copy.from, copy.to);
    driver_->start_copy(copy);
    return copy.id;
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
  std::uint64_t ids_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Ways, DiskDriverTest,
                         ::testing::Values(Way{true, true}, Way{true, false}, Way{false, true},
                                           Way{false, false}),
                         [](const auto& way) {
                           return std::string(way.param.io_uring ? "Uring" : "Threads") +
                                  (way.param.direct_io ? "Direct" : "Cached");
                         });

constexpr std::array kKinds{MemoryKind::replica, MemoryKind::aligned_user,
                            MemoryKind::unaligned_user};

std::uint64_t random_size(base::Random& random) {
  constexpr std::array<std::uint64_t, 8> kEdges{1, 7, 4095, 4096, 4097, 8192, 12288, 1 << 20};
  return random.below(3) == 0 ? kEdges[random.below(kEdges.size())] : 1 + random.below(300'000);
}

TEST_P(DiskDriverTest, ScratchGivesBackWhatWasWrittenWhateverTheSizeAndTheMemory) {
  base::Random random(1);
  struct Slot {
    Content content;
    std::uint64_t offset;
    std::uint64_t write;
  };
  std::vector<Slot> slots;
  std::vector<std::unique_ptr<Data>> sources;
  std::uint64_t offset = 0;
  for (std::uint64_t i = 0; i < 30; ++i) {  // all in flight at once
    const std::uint64_t size = random_size(random);
    sources.push_back(std::make_unique<Data>(size, kKinds[random.below(3)], i));
    slots.push_back({random_bytes(size, random), offset, 0});
    sources.back()->fill(slots.back().content);
    slots.back().write = write(*sources.back(), kScratch, offset);
    offset += round_up(size, kPage);
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    EXPECT_EQ(engine_.copy_error(slots[i].write), "");
    EXPECT_TRUE(sources[i]->surroundings_intact());
  }
  std::vector<std::unique_ptr<Data>> targets;
  std::vector<std::uint64_t> reads;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    targets.push_back(std::make_unique<Data>(slots[i].content.size(), kKinds[random.below(3)], i));
    reads.push_back(read(*targets.back(), kScratch, slots[i].offset));
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    EXPECT_EQ(engine_.copy_error(reads[i]), "");
    EXPECT_TRUE(targets[i]->holds(slots[i].content)) << i;
    EXPECT_TRUE(targets[i]->surroundings_intact()) << i;
  }
}

TEST_P(DiskDriverTest, ARegionOfTheUsersFileIsWrittenAndReadAndItsNeighboursStay) {
  base::Random random(2);
  Content model = random_bytes(700'001, random);
  const int file = driver_->open_file(folder_.make_file("matrix", model), true);
  const bool direct = driver_->uses_direct_io(file);
  for (std::uint64_t i = 0; i < 60; ++i) {
    const std::uint64_t size = std::min<std::uint64_t>(random_size(random), model.size());
    const std::uint64_t offset = random.below(model.size() - size + 1);
    Data data(size, kKinds[random.below(3)], i);
    if (random.below(2) == 0) {
      const Content content = random_bytes(size, random);
      data.fill(content);
      ASSERT_EQ(written(data, file, offset), "");
      std::copy(content.begin(), content.end(),
                model.begin() + static_cast<std::ptrdiff_t>(offset));
      EXPECT_EQ(folder_.read_file("matrix") == model, true) << i;
    } else {
      ASSERT_EQ(was_read(data, file, offset), "");
      EXPECT_EQ(std::memcmp(data.begin, model.data() + offset, size), 0) << i;
    }
    EXPECT_TRUE(data.surroundings_intact()) << i;
  }
  EXPECT_TRUE(folder_.read_file("matrix") == model);
  EXPECT_EQ(driver_->uses_direct_io(file), direct) << "a request was not aligned";
  driver_->close_file(file);
}

// Neighbours share blocks and pages, and all are in flight at once, reads beside writes.
TEST_P(DiskDriverTest, AdjoiningRegionsInFlightAtOnceDoNotDisturbEachOther) {
  base::Random random(3);
  constexpr std::uint64_t kFile = 400'000;
  Content model = random_bytes(kFile, random);
  const int file = driver_->open_file(folder_.make_file("matrix", model), true);
  const bool direct = driver_->uses_direct_io(file);
  for (int round = 0; round < 6; ++round) {
    std::vector<std::uint64_t> cuts{0, kFile};
    for (int i = 0; i < 40; ++i) cuts.push_back(random.below(kFile));
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<std::unique_ptr<Data>> regions;
    std::vector<std::uint64_t> copies;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const std::uint64_t size = cuts[i + 1] - cuts[i];
      regions.push_back(std::make_unique<Data>(size, kKinds[random.below(3)], i));
      if (i % 3 == 0) {
        copies.push_back(read(*regions.back(), file, cuts[i]));
        continue;
      }
      const Content content = random_bytes(size, random);
      regions.back()->fill(content);
      std::copy(content.begin(), content.end(),
                model.begin() + static_cast<std::ptrdiff_t>(cuts[i]));
      copies.push_back(write(*regions.back(), file, cuts[i]));
    }
    for (const std::uint64_t copy : copies) ASSERT_EQ(engine_.copy_error(copy), "");
    for (std::size_t i = 0; i < regions.size(); i += 3) {
      EXPECT_EQ(std::memcmp(regions[i]->begin, model.data() + cuts[i], regions[i]->bytes), 0) << i;
    }
    ASSERT_TRUE(folder_.read_file("matrix") == model) << "round " << round;
    // And as the driver sees it, past the page cache.
    Data whole(kFile, MemoryKind::replica, 0);
    ASSERT_EQ(was_read(whole, file, 0), "");
    EXPECT_TRUE(whole.holds(model)) << "round " << round;
  }
  EXPECT_EQ(driver_->uses_direct_io(file), direct) << "a request was not aligned";
  driver_->close_file(file);
}

TEST_P(DiskDriverTest, AStridedTileIsPackedIntoTheFileAndUnpackedWithoutTouchingItsGaps) {
  base::Random random(4);
  for (int round = 0; round < 12; ++round) {
    const std::uint64_t column = 8 * (1 + random.below(700));
    const Layout layout{column, 1 + random.below(400), column + 8 * random.below(100), 8};
    const std::uint64_t extent = layout.columns * layout.stride_bytes;
    Data data(extent, MemoryKind::unaligned_user, 0);
    data.handle.layout = layout;
    const Content content = random_bytes(extent, random);
    data.fill(content);
    const bool scratch = random.below(2) == 0;
    const std::uint64_t offset = scratch ? kPage * random.below(10) : random.below(10'000);
    const std::uint64_t bytes = layout.bytes().value;
    const std::string path = folder_.make_file("matrix", Content(offset + bytes));
    const int file = scratch ? kScratch : driver_->open_file(path, true);
    ASSERT_EQ(written(data, file, offset), "");

    Data packed(bytes, MemoryKind::replica, 1);
    ASSERT_EQ(was_read(packed, file, offset), "");
    Content expected(bytes);
    strided_copy(expected.data(), layout.packed(), content.data(), layout);
    EXPECT_TRUE(packed.holds(expected));

    for (std::uint64_t i = 0; i < layout.columns; ++i) {
      std::memset(data.begin + i * layout.stride_bytes, 0, layout.column_bytes);
    }
    ASSERT_EQ(was_read(data, file, offset), "");
    EXPECT_TRUE(data.holds(content));
    EXPECT_TRUE(data.surroundings_intact());
    if (!scratch) driver_->close_file(file);
  }
}

TEST_P(DiskDriverTest, NoBytesEndAtOnce) {
  Data data(0, MemoryKind::replica, 0);
  data.begin = nullptr;
  const std::uint64_t id = write(data, kScratch, 0);
  EXPECT_EQ(engine_.copies_ended(), 1U);
  EXPECT_EQ(engine_.copy_error(id), "");
}

// 70 MiB and a bit takes three requests.
TEST_P(DiskDriverTest, ALargeCopyIsSplit) {
  base::Random random(5);
  Data data((70 << 20) + 5000, MemoryKind::replica, 0);
  const Content content = random_bytes(data.bytes, random);
  data.fill(content);
  ASSERT_EQ(written(data, kScratch, 8 * kPage), "");
  std::memset(data.begin, 0, data.bytes);
  ASSERT_EQ(was_read(data, kScratch, 8 * kPage), "");
  EXPECT_TRUE(data.holds(content));
}

TEST_P(DiskDriverTest, AnEndedCopyMayStartTheNextOne) {
  Data data(kPage, MemoryKind::replica, 0);
  std::atomic<int> left{50};
  engine_.on_copy_done = [&](std::uint64_t id) {
    if (--left <= 0) return;
    memory::Copy next = copy_of(data, kScratch, 0);
    next.id = id + 1;
    driver_->start_copy(next);
  };
  write(data, kScratch, 0);
  EXPECT_EQ(engine_.copy_error(50), "");
}

TEST_P(DiskDriverTest, StopWaitsForAllCopies) {
  constexpr std::uint64_t kCount = 40;
  std::vector<std::unique_ptr<Data>> all;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    all.push_back(std::make_unique<Data>(100'000, kKinds[i % 3], i));
    write(*all.back(), kScratch, i * 25 * kPage);
  }
  driver_->stop();
  EXPECT_EQ(engine_.copies_ended(), kCount);
  EXPECT_EQ(engine_.first_error(), "");
  EXPECT_THROW(write(*all[0], kScratch, 0), std::logic_error);
}

// --- faults

TEST_P(DiskDriverTest, AFailedCopySaysWhichDataWhereAndWhy) {
  Data data(3 * kPage, MemoryKind::replica, 7);
  faults_.fail(IoKind::write, 2, EIO);
  EXPECT_EQ(written(data, kScratch, 0), "");
  EXPECT_THAT(
      written(data, kScratch, 8192),
      AllOf(HasSubstr("writing data 'tile 7'"), HasSubstr(folder_.path()), HasSubstr("offset 8192"),
            HasSubstr("0 of 12288 bytes"), HasSubstr("Input/output error")));
  faults_.fail(IoKind::read, 1, EIO);
  EXPECT_THAT(was_read(data, kScratch, 0), HasSubstr("reading data 'tile 7'"));
  EXPECT_EQ(was_read(data, kScratch, 0), "");
  data.handle.name.clear();
  data.handle.id = HandleId{41};
  faults_.fail(IoKind::read, 1, EIO);
  EXPECT_THAT(was_read(data, kScratch, 0), HasSubstr("data number 41"));
}

TEST_P(DiskDriverTest, ShortAndInterruptedReadsAndWritesAreContinued) {
  base::Random random(6);
  const int file = driver_->open_file(folder_.make_file("matrix", Content(200'000)), true);
  for (const MemoryKind kind : kKinds) {
    for (const int where : {kScratch, file}) {
      Data data(100'000, kind, 0);
      const Content content = random_bytes(data.bytes, random);
      data.fill(content);
      const std::uint64_t offset = where == kScratch ? 0 : 1234;
      for (const IoKind io : {IoKind::write, IoKind::read}) {
        faults_.shorten(io, 1, 1);
        faults_.shorten(io, 2, 5000);
        faults_.fail(io, 3, EINTR);
        faults_.fail(io, 4, EAGAIN);
        faults_.shorten(io, 5, 8192);
      }
      ASSERT_EQ(written(data, where, offset), "");
      std::memset(data.begin, 0, data.bytes);
      ASSERT_EQ(was_read(data, where, offset), "");
      EXPECT_TRUE(data.holds(content));
      EXPECT_TRUE(data.surroundings_intact());
    }
  }
}

TEST_P(DiskDriverTest, AFullDiskIsNamedWithTheOptionsThatHelp) {
  Data data(10 * kPage, MemoryKind::replica, 3);
  faults_.disk_full_after(Bytes{4 * kPage});
  EXPECT_THAT(
      written(data, kScratch, 0),
      AllOf(HasSubstr("disk full"), HasSubstr(folder_.path()), HasSubstr("'tile 3'"),
            HasSubstr("16384 of 40960 bytes"), HasSubstr("option disk "), HasSubstr("disk_space")));
}

TEST_P(DiskDriverTest, AFileThatBecameShorterIsAnError) {
  base::Random random(7);
  const Content content = random_bytes(20'000, random);
  const int file = driver_->open_file(folder_.make_file("matrix", content), false);
  std::filesystem::resize_file(folder_.path("matrix"), 10'000);
  for (const MemoryKind kind : kKinds) {
    Data data(15'000, kind, 0);
    EXPECT_THAT(was_read(data, file, 100),
                AllOf(HasSubstr(folder_.path("matrix")), HasSubstr("offset 10000"),
                      HasSubstr("9900 of 15000 bytes"), HasSubstr("the file ends here")));
  }
}

TEST_P(DiskDriverTest, WhereDirectIoIsRefusedOnUseThePageCacheServes) {
  base::Random random(8);
  for (const MemoryKind kind : kKinds) {
    restart({});
    Data data(50'000, kind, 0);
    const Content content = random_bytes(data.bytes, random);
    data.fill(content);
    if (GetParam().direct_io) faults_.fail(IoKind::write, 1, EINVAL);
    ASSERT_EQ(written(data, kScratch, 0), "");
    EXPECT_FALSE(driver_->uses_direct_io());
    std::memset(data.begin, 0, data.bytes);
    ASSERT_EQ(was_read(data, kScratch, 0), "");
    EXPECT_TRUE(data.holds(content));
    EXPECT_TRUE(data.surroundings_intact());
  }
}

// Seccomp as containers use it, for one thread of the test.
bool forbid_io_uring() {
  std::array<sock_filter, 4> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_P(DiskDriverTest, WhereIoUringIsRefusedThreadsServe) {
  bool forbidden = false;
  std::thread([&] {
    forbidden = forbid_io_uring();
    if (forbidden) restart({});
  }).join();
  if (!forbidden) GTEST_SKIP() << "seccomp is not permitted here";
  EXPECT_FALSE(driver_->uses_io_uring());
  base::Random random(9);
  Data data(50'000, MemoryKind::replica, 0);
  const Content content = random_bytes(data.bytes, random);
  data.fill(content);
  ASSERT_EQ(written(data, kScratch, 0), "");
  std::memset(data.begin, 0, data.bytes);
  ASSERT_EQ(was_read(data, kScratch, 0), "");
  EXPECT_TRUE(data.holds(content));
}

TEST_P(DiskDriverTest, CopiesStayOutOfThePageCache) {
  struct statfs status {};
  ASSERT_EQ(statfs(folder_.path().c_str(), &status), 0);
  if (status.f_type == TMPFS_MAGIC) GTEST_SKIP() << "a file system in RAM";
  const Content zeros(1 << 20);
  const std::string path = folder_.make_file("matrix", zeros);
  const int file = driver_->open_file(path, true);
  Data data(zeros.size() - 300, MemoryKind::replica, 0);
  ASSERT_EQ(written(data, file, 100), "");
  ASSERT_EQ(was_read(data, file, 100), "");
  const int descriptor = ::open(path.c_str(), O_RDONLY);
  void* const mapped = mmap(nullptr, zeros.size(), PROT_READ, MAP_SHARED, descriptor, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  std::vector<unsigned char> resident(zeros.size() / kPage);
  mincore(mapped, zeros.size(), resident.data());
  munmap(mapped, zeros.size());
  ::close(descriptor);
  const auto pages = std::count_if(resident.begin(), resident.end(),
                                   [](unsigned char page) { return (page & 1) != 0; });
  EXPECT_LE(pages, 32);  // some linger in the kernel's per-processor batches
}

// --- folders and files

std::string refusal(const DiskConfig& config) {
  try {
    const DiskDriver driver(config);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(DiskDriver, AFolderThatCannotServeIsNamedWithTheRemedy) {
  const Folder folder;
  const std::string file = folder.make_file("file", Content(1));
  for (const std::string& path : {folder.path("missing"), file, std::string("/proc")}) {
    EXPECT_THAT(refusal({.folder = path}),
                AllOf(HasSubstr("'" + path + "'"), HasSubstr("set the option disk to a folder")));
  }
}

TEST(DiskDriver, SpaceIsWhatWasAskedForOrWhatIsFree) {
  const Folder folder;
  EXPECT_EQ(DiskDriver({.folder = folder.path(), .space = 1_MiB}).space(), 1_MiB);
  const Bytes free = DiskDriver({.folder = folder.path()}).space();
  EXPECT_EQ(free > 1_MiB, true);
  EXPECT_THAT(refusal({.folder = folder.path(), .space = Bytes{1ULL << 62}}),
              AllOf(HasSubstr("disk_space"), HasSubstr(folder.path()), HasSubstr("free")));
}

TEST(DiskDriver, ItsScratchFileHasNoNameAndNoDescriptorLeaks) {
  const Folder folder;
  const std::string path = folder.make_file("matrix", Content(10));
  const std::size_t before = open_descriptors();
  for (const bool io_uring : {true, false}) {
    FakeEngine engine;
    DiskDriver driver({.folder = folder.path(), .io_uring = io_uring, .node = kDisk});
    driver.start(engine);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
    const int closed = driver.open_file(path, false);
    driver.close_file(closed);
    const std::size_t closed_all = open_descriptors();
    driver.open_file(path, false);
    driver.open_file(path, true);
    EXPECT_GT(open_descriptors(), closed_all);
    EXPECT_ANY_THROW(driver.open_file(folder.path("missing"), false));
    EXPECT_ANY_THROW(driver.open_file(folder.path(), false));
  }
  EXPECT_ANY_THROW(DiskDriver({.folder = "/proc"}));
  EXPECT_EQ(open_descriptors(), before);
}

class UsersFiles : public ::testing::Test {
 protected:
  std::string open_refusal(const std::string& path, bool writable) {
    try {
      driver_.open_file(path, writable);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  }
  Folder folder_;
  DiskDriver driver_{{.folder = folder_.path(), .node = kDisk}};
};

TEST_F(UsersFiles, OneFileHasOneNumberByWhateverPath) {
  const std::string path = folder_.make_file("matrix", Content(10));
  std::filesystem::create_symlink(path, folder_.path("link"));
  const int file = driver_.open_file(path, false);
  EXPECT_EQ(driver_.open_file(folder_.path("link"), false), file);
  const int other = driver_.open_file(folder_.make_file("other", Content(20)), false);
  EXPECT_NE(other, file);
  EXPECT_EQ(driver_.file_size(file).value, 10U);
  EXPECT_EQ(driver_.file_size(other).value, 20U);
  driver_.close_file(file);
  EXPECT_EQ(driver_.file_size(file).value, 10U);
  driver_.close_file(file);
  EXPECT_THROW(driver_.file_size(file), std::logic_error);
}

TEST_F(UsersFiles, AWritableFileIsCreatedAndExtended) {
  const int file = driver_.open_file(folder_.path("new"), true);
  EXPECT_EQ(driver_.file_size(file).value, 0U);
  driver_.extend_file(file, Bytes{5000});
  EXPECT_EQ(driver_.file_size(file).value, 5000U);
  driver_.extend_file(file, Bytes{100});
  EXPECT_EQ(driver_.file_size(file).value, 5000U);
}

TEST_F(UsersFiles, AReadOnlyFileIsNotExtendedUntilItIsOpenedForWriting) {
  const std::string path = folder_.make_file("matrix", Content(10));
  const int file = driver_.open_file(path, false);
  EXPECT_THROW(driver_.extend_file(file, Bytes{11}), UsageError);
  EXPECT_EQ(driver_.open_file(path, true), file);
  driver_.extend_file(file, Bytes{9000});
  EXPECT_EQ(driver_.file_size(file).value, 9000U);

  FakeEngine engine;
  driver_.start(engine);
  Data data(9000, MemoryKind::replica, 0);
  memory::Copy copy;
  copy.id = 1;
  copy.handle = &data.handle;
  copy.from = {.node = kRam, .address = data.begin, .layout = data.handle.layout};
  copy.to = {.node = kDisk, .file = file, .layout = data.handle.layout};
  driver_.start_copy(copy);
  EXPECT_EQ(engine.copy_error(1), "");
  driver_.stop();
  EXPECT_EQ(folder_.read_file("matrix").back(), data.canary);
}

TEST_F(UsersFiles, WhatIsNoReadableRegularFileIsRefusedByName) {
  EXPECT_THAT(open_refusal(folder_.path("missing"), false),
              AllOf(HasSubstr(folder_.path("missing")), HasSubstr("No such file")));
  EXPECT_THAT(open_refusal(folder_.path("missing/matrix"), true), HasSubstr("create the folder"));
  EXPECT_THAT(open_refusal(folder_.path(), false), HasSubstr("regular file"));
  mkfifo(folder_.path("fifo").c_str(), 0600);
  EXPECT_THAT(open_refusal(folder_.path("fifo"), false), HasSubstr("regular file"));
}

TEST(DiskBandwidth, MeasuresBothDirections) {
  const Folder folder;
  const DiskBandwidth result =
      measure_bandwidth(folder.path(), {.bytes = 8_MiB, .tile = 1_MiB, .copies = 3});
  EXPECT_GT(result.write.value, 0);
  EXPECT_GT(result.read.value, 0);
}

}  // namespace
}  // namespace vicinal::drivers
