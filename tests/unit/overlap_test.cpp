#include "graph/overlap.hpp"

#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vicinal/error.hpp"

namespace vicinal::graph {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const void* at(std::uint64_t address) {
  return reinterpret_cast<const void*>(address);
}
constexpr Layout buffer(std::uint64_t bytes) {
  return {.column_bytes = bytes};
}
constexpr Layout strided(std::uint64_t width, std::uint64_t columns, std::uint64_t stride) {
  return {.column_bytes = width, .columns = columns, .stride_bytes = stride};
}

bool overlaps(const void* a, const Layout& la, const void* b, const Layout& lb) {
  RegionIndex index;
  index.add(a, la, "a");
  try {
    index.add(b, lb, "b");
  } catch (const UsageError&) {
    EXPECT_EQ(index.size(), 1U) << "a refused region was kept";
    return true;
  }
  return false;
}

std::string message_of(RegionIndex& index, const void* address, const Layout& layout) {
  try {
    index.add(address, layout, "new");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(RegionIndex, BuffersThatTouchDoNotOverlap) {
  EXPECT_FALSE(overlaps(at(100), buffer(50), at(150), buffer(10)));
  EXPECT_FALSE(overlaps(at(150), buffer(10), at(100), buffer(50)));
  EXPECT_TRUE(overlaps(at(100), buffer(50), at(149), buffer(10)));
  EXPECT_TRUE(overlaps(at(149), buffer(10), at(100), buffer(50)));
  EXPECT_TRUE(overlaps(at(100), buffer(50), at(120), buffer(1)));
  EXPECT_TRUE(overlaps(at(100), buffer(50), at(100), buffer(50)));
}

TEST(RegionIndex, NamesBothRegionsWhenTheyOverlap) {
  RegionIndex index;
  index.add(at(0x1000), buffer(0x100), "tile(3,1)");
  EXPECT_THAT(message_of(index, at(0x10f0), strided(8, 4, 32)),
              AllOf(HasSubstr("\"new\" (bytes 0x10f0 to 0x1157: 4 columns of 8, 32 apart)"),
                    HasSubstr("\"tile(3,1)\" (bytes 0x1000 to 0x10ff)")));
}

TEST(RegionIndex, EmptyRegionsOverlapNothingAndAreNotKept) {
  RegionIndex index;
  index.add(at(100), buffer(50), "a");
  index.add(at(100), buffer(0), "no bytes");
  index.add(at(120), strided(8, 0, 8), "no columns");
  index.add(nullptr, buffer(0), "null");
  EXPECT_EQ(index.size(), 1U);
  index.remove(at(100), buffer(0));
  EXPECT_EQ(index.size(), 1U);  // the buffer at the same address stays
  index.remove(at(100), buffer(50));
  EXPECT_EQ(index.size(), 0U);
}

TEST(RegionIndex, BytesAreFreeAgainAfterRemove) {
  RegionIndex index;
  index.add(at(100), strided(10, 3, 20), "a");
  index.remove(at(100), strided(10, 3, 20));
  index.add(at(90), buffer(100), "b");
  EXPECT_THROW(index.remove(at(100), strided(10, 3, 20)), std::logic_error);
}

TEST(RegionIndex, OffsetsOfAFileServeAsAddresses) {
  RegionIndex index;
  index.add(at(0), buffer(4096), "header");
  index.add(at(4096), buffer(1ULL << 40), "body");
  EXPECT_THAT(message_of(index, at(0), buffer(1)), HasSubstr("header"));
  EXPECT_THAT(message_of(index, at(1ULL << 40), buffer(1)), HasSubstr("body"));
}

TEST(RegionIndex, TilesOfOneMatrixInterleaveWithoutOverlapping) {
  // A 6 x 4 matrix of bytes, column-major: tile rows 0..2 and 3..5 of the same columns.
  EXPECT_FALSE(overlaps(at(1000), strided(3, 4, 6), at(1003), strided(3, 4, 6)));
  EXPECT_FALSE(overlaps(at(1003), strided(3, 4, 6), at(1000), strided(3, 4, 6)));
  // One row in common.
  EXPECT_TRUE(overlaps(at(1000), strided(4, 4, 6), at(1003), strided(3, 4, 6)));
  // Rows 3..8 run into the next column (6 is the whole of it): bytes of rows 0..2.
  EXPECT_TRUE(overlaps(at(1000), strided(3, 4, 6), at(1003), strided(6, 3, 6)));
  // The second starts in the last column of the first, below its rows: nothing comes after it.
  EXPECT_FALSE(overlaps(at(1000), strided(3, 4, 6), at(1021), strided(5, 3, 6)));
}

TEST(RegionIndex, ComparesDifferentStridesColumnByColumn) {
  // Bytes 0, 6, 12, 18 and 3, 8, 13: none in common; and 2, 7, 12: byte 12.
  EXPECT_FALSE(overlaps(at(1000), strided(1, 4, 6), at(1003), strided(1, 3, 5)));
  EXPECT_TRUE(overlaps(at(1000), strided(1, 4, 6), at(1002), strided(1, 3, 5)));
}

TEST(RegionIndex, RefusesALeadingDimensionSmallerThanTheRows) {
  RegionIndex index;
  const Layout tile = TileShape{.rows = 8, .columns = 3, .leading_dimension = 6}.layout();
  EXPECT_THAT(message_of(index, at(1000), tile),
              HasSubstr("leading dimension 6 of \"new\" is smaller than its rows (8)"));
  // With one column there is no next one to run into.
  index.add(at(1000), TileShape{.rows = 8, .columns = 1, .leading_dimension = 6}.layout(),
            "column");
  EXPECT_EQ(index.size(), 1U);
}

TEST(RegionIndex, RefusesARegionPastTheEndOfTheAddresses) {
  RegionIndex index;
  EXPECT_THAT(message_of(index, at(~0ULL - 10), buffer(100)), HasSubstr("past the end"));
  EXPECT_THAT(message_of(index, at(0), strided(8, 1ULL << 40, 1ULL << 40)),
              HasSubstr("past the end"));
  index.add(at(~0ULL - 10), buffer(10), "at the very end");
  EXPECT_THAT(message_of(index, at(~0ULL - 11), strided(1, 2, 3)), HasSubstr("at the very end"));
}

TEST(RegionIndex, AHundredByHundredTilesOfOneMatrixRegisterAndNoneFitsTwice) {
  // 9,600 x 9,600 doubles in tiles of 96, with five rows of padding per column.
  const std::uint64_t ld = 9605;
  const auto tile_at = [&](std::uint64_t i, std::uint64_t j) {
    return at((1ULL << 32) + (j * 96 * ld + i * 96) * 8);
  };
  const Layout tile = TileShape{.rows = 96, .columns = 96, .leading_dimension = ld}.layout();
  RegionIndex index;
  for (std::uint64_t j = 0; j < 100; ++j) {
    for (std::uint64_t i = 0; i < 100; ++i) index.add(tile_at(i, j), tile, "tile");
  }
  EXPECT_EQ(index.size(), 10000U);
  EXPECT_THROW(index.add(tile_at(57, 31), buffer(8), "again"), UsageError);
  // The padding below the last row belongs to nobody.
  index.add(at((1ULL << 32) + (31 * 96 * ld + 9600) * 8), buffer(40), "padding");
}

std::set<std::uint64_t> bytes_of(std::uint64_t address, const Layout& layout) {
  std::set<std::uint64_t> bytes;
  for (std::uint64_t c = 0; c < layout.columns; ++c) {
    for (std::uint64_t b = 0; b < layout.column_bytes; ++b) {
      bytes.insert(address + c * layout.stride_bytes + b);
    }
  }
  return bytes;
}

TEST(RegionIndexProperty, FindsExactlyTheRegionsThatHoldACommonByte) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    struct Live {
      std::uint64_t address;
      Layout layout;
    };
    std::vector<Live> live;
    std::set<std::uint64_t> registered;
    RegionIndex index;
    const std::uint64_t common_stride = 4 + random.below(12);
    for (int step = 0; step < 300; ++step) {
      if (!live.empty() && random.below(3) == 0) {
        std::swap(live[random.below(live.size())], live.back());
        for (const auto byte : bytes_of(live.back().address, live.back().layout))
          registered.erase(byte);
        index.remove(at(live.back().address), live.back().layout);
        live.pop_back();
        continue;
      }
      const std::uint64_t stride = random.below(3) != 0 ? common_stride : 1 + random.below(20);
      const Layout layout = strided(random.below(stride + 1), random.below(7), stride);
      const std::uint64_t address = 1 + random.below(300);
      const auto bytes = bytes_of(address, layout);
      bool expected = false;
      for (const auto byte : bytes) expected = expected || registered.count(byte) > 0;
      bool refused = false;
      try {
        index.add(at(address), layout, "new");
      } catch (const UsageError&) {
        refused = true;
      }
      ASSERT_EQ(refused, expected)
          << "step " << step << ": " << layout.columns << " columns of " << layout.column_bytes
          << " at " << address << ", stride " << stride;
      if (refused) continue;
      registered.insert(bytes.begin(), bytes.end());
      live.push_back({address, layout});
    }
  }
}

// The same with sizes of several orders.
TEST(RegionIndex, SaysOfRegionsOfAllSizesWhetherTheyOverlap) {
  constexpr std::uint64_t kBytes = 30'000;
  base::Random random(7);
  for (int round = 0; round < 40; ++round) {
    std::vector<bool> used(kBytes + 1, false);
    std::vector<std::pair<std::uint64_t, Layout>> live;
    RegionIndex index;
    const std::uint64_t common = 20 + random.below(200);
    for (int step = 0; step < 250; ++step) {
      const auto mark = [&](const auto& region, bool to) {
        for (const auto byte : bytes_of(region.first, region.second)) used[byte] = to;
      };
      if (!live.empty() && random.below(4) == 0) {
        std::swap(live[random.below(live.size())], live.back());
        mark(live.back(), false);
        index.remove(at(live.back().first), live.back().second);
        live.pop_back();
        continue;
      }
      const std::uint64_t stride = random.below(5) != 0 ? common : 1 + random.below(300);
      const std::uint64_t width = 1 + random.below(1 + random.below(stride));
      const std::uint64_t columns = 1 + random.below(1 + random.below(50));
      const Layout layout = strided(width, columns, stride);
      const std::uint64_t address = 1 + random.below(kBytes - columns * stride);
      const std::pair added(address, layout);
      const auto bytes = bytes_of(address, layout);
      const bool expected =
          std::ranges::any_of(bytes, [&](std::uint64_t byte) { return used[byte]; });
      bool refused = false;
      try {
        index.add(at(address), layout, "new");
      } catch (const UsageError&) {
        refused = true;
      }
      ASSERT_EQ(refused, expected) << "round " << round << ", step " << step;
      if (refused) continue;
      mark(added, true);
      live.push_back(added);
    }
    EXPECT_EQ(index.size(), live.size());
  }
}

// A comparison with each of a panel, or of a row of them, would not end: 250,000 tiles, and as many rows.
TEST(RegionIndex, TakesManyTilesOfOneMatrix) {
  constexpr std::uint64_t kTiles = 500;
  constexpr std::uint64_t kRows = 16;  // of a tile, in bytes
  constexpr std::uint64_t kStride = kTiles * kRows;
  RegionIndex index;
  for (std::uint64_t column = 0; column < kTiles; ++column) {
    for (std::uint64_t row = 0; row < kTiles; ++row) {
      index.add(at(4096 + column * 4 * kStride + row * kRows), strided(kRows, 4, kStride), "tile");
    }
  }
  RegionIndex rows;
  for (std::uint64_t row = 0; row < 250'000; ++row) {
    rows.add(at(1'000'000 + row), strided(1, 4, 250'000), "row");
  }
  EXPECT_EQ(index.size(), kTiles * kTiles);
  EXPECT_THROW(index.add(at(4096 + 7 * kRows + 1), strided(1, 2, kStride), "inside"), UsageError);
  EXPECT_THROW(index.add(at(4096 + 7 * kRows + 1), strided(1, 2, kStride + 1), "inside"),
               UsageError);
}

}  // namespace
}  // namespace vicinal::graph
