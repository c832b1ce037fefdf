#include "memory/arena.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "gtest/gtest.h"

// What base::sure_allocate asks of the system, which is what an arena asks.
static thread_local std::size_t asked_for = 0;
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  ++asked_for;
  try {
    return ::operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

namespace vicinal::memory {
namespace {

constexpr Bytes pages(std::uint64_t n) {
  return Arena::kGranularity * n;
}
constexpr std::uint64_t page(std::uint64_t n) {
  return pages(n).value;
}

// Named by its offset, a block is told from others by what the rules say of it.
class OffsetArena {
 public:
  explicit OffsetArena(Bytes capacity) : arena_(capacity) {}
  std::optional<std::uint64_t> allocate(Bytes size) {
    const auto place = arena_.allocate(size);
    if (!place) return std::nullopt;
    blocks_[place->offset] = place->block;
    return place->offset;
  }
  void free(std::uint64_t offset, Bytes size) { arena_.free(blocks_.at(offset), size); }
  const Arena* operator->() const { return &arena_; }
  Arena* operator->() { return &arena_; }

 private:
  Arena arena_;
  std::map<std::uint64_t, std::uint32_t> blocks_;  // by offset
};

TEST(Arena, PadsToWholePagesAndLetsEmptyDataTakeNothing) {
  EXPECT_EQ(Arena::padded(Bytes{0}), Bytes{0});
  EXPECT_EQ(Arena::padded(Bytes{1}), pages(1));
  EXPECT_EQ(Arena::padded(pages(1)), pages(1));
  EXPECT_EQ(Arena::padded(Bytes{4097}), pages(2));
  // A size that cannot be rounded up must not become nothing.
  EXPECT_GT(Arena::padded(Bytes{~0ULL}), Bytes{1ULL << 63});
}

TEST(Arena, RoundsACapacityThatIsNoMultipleOfAPageDown) {
  OffsetArena arena(Bytes{3 * 4096 + 4095});
  EXPECT_EQ(arena->capacity(), pages(3));
  EXPECT_EQ(arena.allocate(pages(3)), 0U);
  EXPECT_EQ(arena.allocate(pages(1)), std::nullopt);
}

TEST(Arena, WithoutCapacityHoldsEmptyDataOnly) {
  OffsetArena arena(Bytes{100});
  EXPECT_EQ(arena->capacity(), Bytes{0});
  EXPECT_EQ(arena.allocate(pages(1)), std::nullopt);
  EXPECT_EQ(arena.allocate(Bytes{0}), 0U);
  arena.free(0, Bytes{0});
  EXPECT_EQ(arena->used(), Bytes{0});
}

TEST(Arena, TakesTheSmallestHoleThatIsLargeEnough) {
  OffsetArena arena(pages(10));
  ASSERT_EQ(arena.allocate(pages(3)), page(0));
  ASSERT_EQ(arena.allocate(pages(1)), page(3));
  ASSERT_EQ(arena.allocate(pages(2)), page(4));
  ASSERT_EQ(arena.allocate(pages(1)), page(6));
  // Holes: 3 pages at 0, 2 at 4, 3 at 7.
  arena.free(page(0), pages(3));
  arena.free(page(4), pages(2));
  EXPECT_EQ(arena.allocate(pages(2)), page(4));
}

TEST(Arena, TakesTheLowestOffsetAmongHolesOfOneSize) {
  OffsetArena arena(pages(9));
  for (std::uint64_t i = 0; i < 9; ++i) ASSERT_EQ(arena.allocate(pages(1)), page(i));
  arena.free(page(6), pages(1));
  arena.free(page(2), pages(1));
  arena.free(page(4), pages(1));
  EXPECT_EQ(arena.allocate(pages(1)), page(2));
  EXPECT_EQ(arena.allocate(pages(1)), page(4));
  EXPECT_EQ(arena.allocate(pages(1)), page(6));
}

TEST(Arena, JoinsAFreedBlockWithTheHolesOnBothSides) {
  OffsetArena arena(pages(5));
  ASSERT_EQ(arena.allocate(pages(1)), page(0));
  ASSERT_EQ(arena.allocate(pages(2)), page(1));
  ASSERT_EQ(arena.allocate(pages(2)), page(3));
  arena.free(page(0), pages(1));
  arena.free(page(3), pages(2));
  EXPECT_EQ(arena.allocate(pages(3)), std::nullopt);
  arena.free(page(1), pages(2));
  EXPECT_EQ(arena->used(), Bytes{0});
  EXPECT_EQ(arena.allocate(pages(5)), page(0));
}

TEST(Arena, CountsTheMostBytesUsedAtOnce) {
  OffsetArena arena(pages(8));
  ASSERT_EQ(arena.allocate(pages(5)), page(0));
  ASSERT_EQ(arena.allocate(pages(1)), page(5));
  arena.free(page(0), pages(5));
  EXPECT_EQ(arena->peak(), pages(6));
  ASSERT_EQ(arena.allocate(pages(2)), page(6));  // 2 pages at 6 fit better than 5 at 0
  EXPECT_EQ(arena->peak(), pages(6));
  ASSERT_EQ(arena.allocate(pages(4)), page(0));
  EXPECT_EQ(arena->peak(), pages(7));
}

TEST(Arena, RefusesToFreeWhatItDidNotGiveAndNamesTheValues) {
  Arena arena(pages(8));
  const ArenaSlot place = arena.allocate(pages(2)).value();
  ASSERT_EQ(place.offset, 0U);
  const auto hole = place.block + 1;
  EXPECT_THROW(arena.free(place.block, pages(1)), std::logic_error);  // wrong size
  EXPECT_THROW(arena.free(hole, pages(6)), std::logic_error);         // a hole
  EXPECT_THROW(arena.free(0, pages(2)), std::logic_error);            // of empty data
  EXPECT_THROW(arena.free(100, pages(1)), std::logic_error);
  EXPECT_THROW(arena.allocate(Bytes{100}), std::logic_error);  // not padded
  arena.free(place.block, pages(2));
  try {
    arena.free(place.block, pages(2));
    FAIL() << "a block was freed twice";
  } catch (const std::logic_error& error) {
    EXPECT_EQ(std::string(error.what()),
              "memory::Arena: free(block 1, 8192 bytes): it is a hole and has 32768 bytes");
  }
  EXPECT_THROW(arena.free(hole, pages(6)), std::logic_error);  // a part of the other hole by now
  EXPECT_EQ(arena.used(), Bytes{0});
  EXPECT_EQ(arena.allocate(pages(8))->offset, 0U);
}

TEST(Arena, AsksTheSystemForNothingOnceItHasSeenAsManyBlocks) {
  OffsetArena arena(pages(1000));
  const auto fill_and_empty = [&] {
    for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(arena.allocate(pages(1)), page(i));
    for (std::uint64_t i = 0; i < 1000; i += 2) arena.free(page(i), pages(1));
    for (std::uint64_t i = 1; i < 1000; i += 2) arena.free(page(i), pages(1));
  };
  const std::size_t before = asked_for;
  fill_and_empty();
  const std::size_t first_round = asked_for;
  EXPECT_GT(first_round, before);
  fill_and_empty();
  EXPECT_EQ(asked_for, first_round);
}

// The same rules, written over an array of pages.
class NaiveArena {
 public:
  explicit NaiveArena(std::size_t pages) : used_(pages, false) {}

  std::optional<std::uint64_t> allocate(std::size_t size) {
    std::optional<std::size_t> best;
    std::size_t best_size = 0;
    for (const auto& [at, hole] : holes()) {
      if (hole >= size && (!best || hole < best_size)) {
        best = at;
        best_size = hole;
      }
    }
    if (!best) return std::nullopt;
    std::fill_n(used_.begin() + static_cast<std::ptrdiff_t>(*best), size, true);
    return page(*best);
  }
  void free(std::size_t at, std::size_t size) {
    std::fill_n(used_.begin() + static_cast<std::ptrdiff_t>(at), size, false);
  }
  std::map<std::size_t, std::size_t> holes() const {
    std::map<std::size_t, std::size_t> found;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (used_[i]) continue;
      const std::size_t at = i;
      while (i < used_.size() && !used_[i]) ++i;
      found[at] = i - at;
    }
    return found;
  }

 private:
  std::vector<bool> used_;
};

TEST(ArenaProperty, DoesWhatTheSameRulesDoOnAnArrayOfPages) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    const std::size_t size = 1 + random.below(60);
    OffsetArena arena(pages(size));
    NaiveArena naive(size);
    struct Live {
      std::uint64_t offset;
      Bytes size;
    };
    std::vector<Live> live;
    std::uint64_t used = 0;
    for (int step = 0; step < 400; ++step) {
      if (live.empty() || random.below(100) < 55) {
        const std::uint64_t wanted = 1 + random.below(1 + size / 3);
        const auto offset = arena.allocate(pages(wanted));
        ASSERT_EQ(offset, naive.allocate(wanted)) << "step " << step << ", " << wanted << " pages";
        if (offset) {
          live.push_back({*offset, pages(wanted)});
          used += wanted;
        }
      } else {
        std::swap(live[random.below(live.size())], live.back());
        arena.free(live.back().offset, live.back().size);
        naive.free(live.back().offset / 4096, live.back().size.value / 4096);
        used -= live.back().size.value / 4096;
        live.pop_back();
      }
      ASSERT_EQ(arena->used(), pages(used));
    }
  }
}

}  // namespace
}  // namespace vicinal::memory
