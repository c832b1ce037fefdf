// Copies to and from the disk: every size, place and kind of memory, many in flight at once.
#include "drivers/disk/disk_driver.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "engine/strided_copy.hpp"
#include "unit/disk_driver_fixture.hpp"

namespace vicinal::drivers {
namespace {

class DiskCopies : public DiskDriverTest {};

INSTANTIATE_TEST_SUITE_P(Ways, DiskCopies, ::testing::ValuesIn(kWays), name_of_way);

std::uint64_t random_size(base::Random& random) {
  constexpr std::array<std::uint64_t, 8> kEdges{1, 7, 4095, 4096, 4097, 8192, 12288, 1 << 20};
  return random.below(3) == 0 ? kEdges[random.below(kEdges.size())] : 1 + random.below(300'000);
}

TEST_P(DiskCopies, ScratchGivesBackWhatWasWrittenWhateverTheSizeAndTheMemory) {
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

TEST_P(DiskCopies, ARegionOfTheUsersFileIsWrittenAndReadAndItsNeighboursStay) {
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
TEST_P(DiskCopies, AdjoiningRegionsInFlightAtOnceDoNotDisturbEachOther) {
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

TEST_P(DiskCopies, AStridedTileIsPackedIntoTheFileAndUnpackedWithoutTouchingItsGaps) {
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
    engine::strided_copy(expected.data(), layout.packed(), content.data(), layout);
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

TEST_P(DiskCopies, NoBytesEndAtOnce) {
  Data data(0, MemoryKind::replica, 0);
  data.begin = nullptr;
  const std::uint64_t id = write(data, kScratch, 0);
  EXPECT_EQ(engine_.copies_ended(), 1U);
  EXPECT_EQ(engine_.copy_error(id), "");
}

// 70 MiB and a bit takes three requests.
TEST_P(DiskCopies, ALargeCopyIsSplit) {
  base::Random random(5);
  Data data((70 << 20) + 5000, MemoryKind::replica, 0);
  const Content content = random_bytes(data.bytes, random);
  data.fill(content);
  ASSERT_EQ(written(data, kScratch, 8 * kPage), "");
  std::memset(data.begin, 0, data.bytes);
  ASSERT_EQ(was_read(data, kScratch, 8 * kPage), "");
  EXPECT_TRUE(data.holds(content));
}

TEST_P(DiskCopies, AnEndedCopyMayStartTheNextOne) {
  Data data(kPage, MemoryKind::replica, 0);
  std::atomic<int> left{50};
  engine_.on_copy_done = [&](std::uint64_t id) {
    if (--left <= 0) return;
    memory::Copy next = copy_of(data, kScratch, 0);
    next.id.slot = static_cast<std::uint32_t>(id) + 1;
    driver_->start_copy(next);
  };
  write(data, kScratch, 0);
  EXPECT_EQ(engine_.copy_error(50), "");
}

TEST_P(DiskCopies, StopWaitsForAllCopies) {
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

TEST_P(DiskCopies, CopiesStayOutOfThePageCache) {
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

}  // namespace
}  // namespace vicinal::drivers
