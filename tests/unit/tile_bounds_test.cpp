#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "bounds/tiles.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace vicinal::bounds {
namespace {

using enum TileKernel;

constexpr std::uint64_t kNone = UINT64_MAX;
constexpr std::array<TileKernel, 5> kKernels{cholesky, lu, gemm, syrk, grid};

// --- Small instances, all of whose orders can be tried -------------------------------------------

// Tiles that each inner task uses, a bit per tile.
using Tasks = std::vector<std::uint64_t>;

// (rows x columns) tiles, numbered from `first`.
struct Tiles {
  std::uint64_t columns;
  std::uint64_t first = 0;
  std::uint64_t at(std::uint64_t i, std::uint64_t j) const {
    return std::uint64_t{1} << (first + i * columns + j);
  }
};

Tasks inner_tasks(TileKernel kernel, std::uint64_t n, std::uint64_t steps) {
  Tasks tasks;
  const Tiles a{.columns = kernel == gemm || kernel == syrk ? steps : n};
  const Tiles b{.columns = n, .first = n * steps};
  const Tiles c{.columns = n, .first = kernel == syrk ? n * steps : 2 * n * steps};
  for (std::uint64_t i = 0; i < n; ++i) {
    for (std::uint64_t j = 0; j < n; ++j) {
      if (kernel == grid) tasks.push_back(1ULL << i | 1ULL << (n + j));
      for (std::uint64_t k = 0; k < steps; ++k) {
        if (kernel == gemm) tasks.push_back(a.at(i, k) | b.at(k, j) | c.at(i, j));
        if (kernel == syrk && i > j) tasks.push_back(a.at(i, k) | a.at(j, k) | c.at(i, j));
        if (kernel == cholesky && i > j && j > k) {
          tasks.push_back(a.at(i, k) | a.at(j, k) | a.at(i, j));
        }
        if (kernel == lu && i != j && i > k && j > k) {
          tasks.push_back(a.at(i, k) | a.at(k, j) | a.at(i, j));
        }
      }
    }
  }
  return tasks;
}

// Bits of the tiles moved together, so that they can be counted through.
std::uint64_t pack(Tasks& tasks) {
  std::uint64_t used = 0;
  for (const std::uint64_t task : tasks) used |= task;
  for (std::uint64_t& task : tasks) {
    std::uint64_t packed = 0;
    for (std::uint64_t left = used, to = 1; left != 0; left &= left - 1, to <<= 1) {
      if ((task & left & (~left + 1)) != 0) packed |= to;
    }
    task = packed;
  }
  return static_cast<std::uint64_t>(std::popcount(used));
}

// Of tasks, those that must be done before each; empty: there are none.
using Before = std::vector<std::uint64_t>;

// With what can be done when `done` has been.
std::uint64_t served(const Tasks& tasks, const Before& before, std::uint64_t tiles,
                     std::uint64_t done) {
  for (std::uint64_t earlier = kNone; earlier != done;) {
    earlier = done;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      const bool may_run = before.empty() || (before[t] & ~done) == 0;
      if ((tasks[t] & ~tiles) == 0 && may_run) done |= 1ULL << t;
    }
  }
  return done;
}

// For each set of tasks the fewest tiles that a memory obtains for them, by trying all orders: from what it has
// done and what it holds, one more tile, in place of any other if it is full.
std::vector<std::uint64_t> fewest_by_search(const Tasks& tasks, std::uint64_t tiles,
                                            std::uint64_t room, const Before& before = {}) {
  const std::uint64_t held_sets = 1ULL << tiles;
  const std::uint64_t done_sets = 1ULL << tasks.size();
  std::vector<std::uint8_t> seen(held_sets * done_sets);
  std::vector<std::uint64_t> fewest(done_sets, kNone);
  std::vector<std::array<std::uint64_t, 2>> level{{0, 0}};
  fewest[0] = 0;
  for (std::uint64_t loads = 1; !level.empty(); ++loads) {
    std::vector<std::array<std::uint64_t, 2>> next;
    const auto reach = [&](std::uint64_t done, std::uint64_t held) {
      done = served(tasks, before, held, done);
      if (seen[done * held_sets + held]++ != 0) {
        seen[done * held_sets + held] = 1;
        return;
      }
      if (fewest[done] == kNone) fewest[done] = loads;
      next.push_back({done, held});
    };
    for (const auto& [done, held] : level) {
      for (std::uint64_t tile = 1; tile < held_sets; tile <<= 1) {
        if ((held & tile) != 0) continue;
        if (static_cast<std::uint64_t>(std::popcount(held)) < room) {
          reach(done, held | tile);
          continue;
        }
        for (std::uint64_t left = held; left != 0; left &= left - 1) {
          reach(done, (held & ~(left & (~left + 1))) | tile);
        }
      }
    }
    level = std::move(next);
  }
  // Who does more has done less, too.
  for (std::uint64_t bit = 1; bit < done_sets; bit <<= 1) {
    for (std::uint64_t done = 0; done < done_sets; ++done) {
      if ((done & bit) == 0) fewest[done] = std::min(fewest[done], fewest[done | bit]);
    }
  }
  return fewest;
}

struct Small {
  TileKernel kernel;
  std::uint64_t n;
  std::uint64_t steps;
};

constexpr std::array<Small, 6> kSmall{
    {{cholesky, 4, 4}, {cholesky, 5, 5}, {lu, 3, 3}, {gemm, 2, 2}, {syrk, 3, 3}, {grid, 3, 1}}};

// --- Tasks of distinct tiles ---------------------------------------------------------------------

TEST(InnerTasks, OfSoManyDistinctTilesWorkedOut) {
  // Cholesky: 6 tiles are all pairs of 4 rows and serve C(4, 3) = 4 tasks; 8 add 2 edges, a triangle more.
  EXPECT_EQ(most_inner_tasks(cholesky, 6), 4U);
  EXPECT_EQ(most_inner_tasks(cholesky, 8), 5U);
  EXPECT_EQ(most_inner_tasks(cholesky, 2), 0U);
  EXPECT_EQ(most_inner_tasks(lu, 16), 32U);    // 64 / 2
  EXPECT_EQ(most_inner_tasks(gemm, 12), 8U);   // 4 tiles of each matrix
  EXPECT_EQ(most_inner_tasks(gemm, 13), 9U);   // 9.02
  EXPECT_EQ(most_inner_tasks(syrk, 12), 11U);  // 8 sqrt(2) = 11.3
  EXPECT_EQ(most_inner_tasks(grid, 7), 12U);   // 3 rows, 4 columns
  EXPECT_EQ(most_inner_tasks(grid, 0), 0U);
}

TEST(InnerTasks, OfNoChoiceOfTilesAreMore) {
  constexpr std::array<Small, 7> kInstances{{{cholesky, 5, 5},
                                             {cholesky, 6, 6},
                                             {lu, 4, 4},
                                             {gemm, 2, 2},
                                             {gemm, 2, 3},
                                             {syrk, 4, 3},
                                             {grid, 5, 1}}};
  for (const auto& [kernel, n, steps] : kInstances) {
    Tasks tasks = inner_tasks(kernel, n, steps);
    const std::uint64_t tiles = pack(tasks);
    EXPECT_EQ(tasks.size(), tile_work(kernel, n, steps).tasks);
    std::vector<std::uint64_t> most(tiles + 1);
    for (std::uint64_t set = 0; set < 1ULL << tiles; ++set) {
      std::uint64_t count = 0;
      for (const std::uint64_t task : tasks) count += (task & ~set) == 0 ? 1 : 0;
      auto& of_size = most[static_cast<std::size_t>(std::popcount(set))];
      of_size = std::max(of_size, count);
    }
    for (std::uint64_t u = 0; u <= tiles; ++u) {
      EXPECT_LE(most[u], most_inner_tasks(kernel, u)) << source_of(kernel) << ", " << u << " tiles";
      // Kruskal and Katona's is the truth, and that of rows and columns.
      if (kernel == cholesky || (kernel == grid && u <= 2 * n - 1)) {
        EXPECT_EQ(most[u], most_inner_tasks(kernel, u)) << u;
      }
    }
  }
}

TEST(InnerTasks, NeedTheFewestTilesThatServeThem) {
  for (const TileKernel kernel : kKernels) {
    EXPECT_EQ(fewest_distinct_tiles(kernel, 0), 0U);
    for (const std::uint64_t tasks : {1ULL, 2ULL, 7ULL, 100ULL, 12345ULL, 1'000'000'007ULL}) {
      const std::uint64_t tiles = fewest_distinct_tiles(kernel, tasks);
      EXPECT_GE(most_inner_tasks(kernel, tiles), tasks);
      EXPECT_LT(most_inner_tasks(kernel, tiles - 1), tasks);
    }
  }
}

// --- One memory ----------------------------------------------------------------------------------

TEST(ObtainedTiles, OfOneMemoryWorkedOut) {
  // Rows and columns, room for 4, 100 tasks. X = 4: segments of 8 tiles, 16 tasks. 6 full ones, the first with
  // 8 loads: 4 + 6 * 4 = 28; 4 tasks are left, which 4 tiles serve. X = 2: 6 tiles, 9 tasks, 11 full: 4 + 22 = 26.
  // X = 5: 9 tiles, 20 tasks, 4 full: 20; the last 20 need 9 tiles, 5 more than there are: 4 + 20 + 5 = 29.
  EXPECT_GE(fewest_obtained_tiles(grid, 4, 100), 29U);
  // Everything fits: each tile once.
  EXPECT_EQ(fewest_obtained_tiles(grid, 20, 100), 20U);
  EXPECT_EQ(fewest_obtained_tiles(cholesky, 45, 120), 45U);  // C(10, 3) of C(10, 2) tiles
  EXPECT_EQ(fewest_obtained_tiles(gemm, 5, 0), 0U);
  EXPECT_EQ(fewest_obtained_tiles(cholesky, 2, 1), kNone);  // it needs three
}

TEST(ObtainedTiles, AreNotMoreThanAnyOrderNeeds) {
  for (const auto& [kernel, n, steps] : kSmall) {
    Tasks tasks = inner_tasks(kernel, n, steps);
    const std::uint64_t tiles = pack(tasks);
    for (std::uint64_t room = 3; room <= std::min<std::uint64_t>(tiles, 6); ++room) {
      const auto fewest = fewest_by_search(tasks, tiles, room);
      for (std::uint64_t set = 0; set < fewest.size(); ++set) {
        const auto count = static_cast<std::uint64_t>(std::popcount(set));
        ASSERT_LE(fewest_obtained_tiles(kernel, room, count), fewest[set])
            << source_of(kernel) << ", n " << n << ", room " << room << ", " << count << " tasks";
      }
    }
  }
}

// Of a factorisation: all updates of the two tiles that a task reads.
Before updates_before(const Tasks& tasks, TileKernel kernel, std::uint64_t n) {
  const Tiles a{.columns = n};
  Before before;
  std::vector<std::uint64_t> updated;  // by task
  for (std::uint64_t i = 0; i < n; ++i) {
    for (std::uint64_t j = 0; j < n; ++j) {
      const bool is_updated = kernel == cholesky ? i > j : i != j;
      for (std::uint64_t k = 0; is_updated && k < std::min(i, j); ++k) {
        updated.push_back(a.at(i, j));
      }
    }
  }
  EXPECT_EQ(updated.size(), tasks.size());
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    before.push_back(0);
    const std::uint64_t reads = tasks[t] & ~updated[t];
    for (std::size_t other = 0; other < tasks.size(); ++other) {
      if ((updated[other] & reads) != 0) before.back() |= 1ULL << other;
    }
  }
  return before;
}

// A tile is final before it is read: with that, changes are counted.
TEST(ObtainedTiles, OfAFactorisationAreNotMoreThanItsOrdersNeed) {
  for (const auto& [kernel, n] : {std::pair(cholesky, 5ULL), {lu, 3ULL}}) {
    const TileWork work = tile_work(kernel, n, n);
    Tasks tasks = inner_tasks(kernel, n, n);
    const Before before = updates_before(tasks, kernel, n);
    const std::uint64_t tiles = pack(tasks);
    for (std::uint64_t room = 3; room <= 6; ++room) {
      const std::uint64_t fewest = fewest_by_search(tasks, tiles, room, before).back();
      EXPECT_LE(fewest_obtained_tiles(kernel, room, work.tasks, work.changes), fewest)
          << source_of(kernel) << ", room " << room;
      EXPECT_LE(fewest_by_search(tasks, tiles, room).back(), fewest);
    }
  }
}

// 14,199 tiles have been worked out apart from this code, in segments of other lengths.
TEST(ObtainedTiles, CountWhatChangesFromUpdatedToRead) {
  const TileWork work = tile_work(cholesky, 100, 100);
  const std::uint64_t tiles = fewest_obtained_tiles(cholesky, 142, work.tasks, work.changes);
  EXPECT_NEAR(static_cast<double>(tiles), 14199, 0.02 * 14199);
  EXPECT_LT(fewest_obtained_tiles(cholesky, 142, work.tasks), 12200U);
}

TEST(ObtainedTiles, GrowWithTheTasksAndShrinkWithTheRoom) {
  for (const TileKernel kernel : kKernels) {
    for (std::uint64_t room = 8; room < 100; room += 13) {
      for (std::uint64_t tasks = 1; tasks < 20000; tasks = tasks * 3 / 2 + 1) {
        const std::uint64_t some = fewest_obtained_tiles(kernel, room, tasks);
        EXPECT_GE(fewest_obtained_tiles(kernel, room, tasks + 10), some);
        EXPECT_GE(some, fewest_distinct_tiles(kernel, tasks));
      }
    }
  }
}

// --- Several memories ----------------------------------------------------------------------------

TEST(SplitTilesOf, TwoMemoriesMayLeaveAllToOne) {
  // 10 x 10 tasks of rows and columns that fit: 20 data in one memory. Each half of the tasks needs
  // 15: 7 x 8 = 56 tasks of 15 data, 7 x 7 = 49 of 14.
  const SplitTiles split(tile_work(grid, 10, 1), 100, 2);
  EXPECT_EQ(split.fewest(), 20U);
  EXPECT_EQ(split.fewest(50), 30U);
  EXPECT_EQ(split.fewest(49), std::nullopt);  // 98 tasks of 100
  EXPECT_EQ(split.fewest(SplitTiles::kNoLimit, 14), std::nullopt);
  EXPECT_EQ(split.fewest(SplitTiles::kNoLimit, 15), 29U);  // 51 and 49 tasks: 15 and 14 data
}

TEST(SplitTilesOf, FourMemoriesAreSharedInPairs) {
  // At most 25 tasks each: four times 10 data, 5 x 5.
  EXPECT_EQ(SplitTiles(tile_work(grid, 10, 1), 100, 4).fewest(25), 40U);
  EXPECT_EQ(SplitTiles(tile_work(grid, 10, 1), 100, 3).fewest(25), std::nullopt);
  // At most 36: two with 36 tasks (12 data), one with 28 (11 data), none for the last.
  EXPECT_EQ(SplitTiles(tile_work(grid, 10, 1), 100, 4).fewest(36), 35U);
}

TEST(SplitTilesOf, NoSplitOfSmallInstancesNeedsFewer) {
  for (const auto& [kernel, n, steps] : kSmall) {
    Tasks tasks = inner_tasks(kernel, n, steps);
    const std::uint64_t tiles = pack(tasks);
    const std::uint64_t all = (1ULL << tasks.size()) - 1;
    for (std::uint64_t room = 3; room <= std::min<std::uint64_t>(tiles, 5); ++room) {
      const auto fewest = fewest_by_search(tasks, tiles, room);
      const SplitTiles split({.kernel = kernel, .tasks = tasks.size(), .others = 0}, room, 2);
      for (std::uint64_t most = (tasks.size() + 1) / 2; most <= tasks.size(); ++most) {
        std::uint64_t best = kNone;
        for (std::uint64_t set = 0; set <= all; ++set) {
          const auto one = static_cast<std::uint64_t>(std::popcount(set));
          if (one > most || tasks.size() - one > most) continue;
          best = std::min(best, fewest[set] + fewest[all & ~set]);
        }
        ASSERT_TRUE(split.fewest(most));
        EXPECT_LE(*split.fewest(most), best);
      }
    }
  }
}

TEST(SplitTilesOf, ManyTasksInCellsAreNotMoreThanAnEvenSplit) {
  for (const TileKernel kernel : kKernels) {
    const TileWork work = tile_work(kernel, 60, 60);
    for (const std::uint32_t memories : {2U, 3U, 8U}) {
      const SplitTiles split(work, 70, memories);
      const std::uint64_t each = (work.tasks + memories - 1) / memories;
      const std::uint64_t even = memories * fewest_obtained_tiles(kernel, 70, each, work.changes);
      ASSERT_TRUE(split.fewest(each));
      EXPECT_LE(*split.fewest(each), even);
      EXPECT_GE(*split.fewest(each), even * 95 / 100);  // cells cost little
      EXPECT_LE(*split.fewest(), fewest_obtained_tiles(kernel, 70, work.tasks, work.changes));
    }
  }
}

TEST(TileLoads, CountTheTilesThatNoInnerTaskUses) {
  // Cholesky of 10 x 10 tiles that fit: 45 below the diagonal and 10 on it.
  const Bytes tile{1000};
  const SplitTiles split(tile_work(cholesky, 10, 10), 60, 1);
  EXPECT_EQ(tile_loads(split, tile).value, tile * 55);
  EXPECT_EQ(tile_loads(SplitTiles(tile_work(lu, 3, 3), 60, 1), tile).value, tile * (3 + 3));
  EXPECT_EQ(tile_loads(SplitTiles(tile_work(cholesky, 1, 1), 60, 1), tile).value, tile);
}

// --- Time ----------------------------------------------------------------------------------------

TEST(SplitTime, IsWhenTheLoadsOfASplitFitIntoIt) {
  // 100 tasks of 1 s on two memories, a datum per second on the bridge. Even shares take 50 s and load 30 data:
  // the loads are no limit.
  const SplitTiles split(tile_work(grid, 10, 1), 100, 2);
  SplitRates rates{
      .task_seconds = 1, .tile = Bytes{1}, .each = {}, .together = {1}, .also = {}, .free = {}};
  EXPECT_EQ(split_time(split, rates), Time{0});
  // 40 more on the bridge. From 64 s on 64 and 36 tasks will do, 16 and 12 data: 68 s.
  rates.also = Bytes{40};
  EXPECT_NEAR(split_time(split, rates).seconds(), 68, 0.01);
  // 12 of the data are made in the memories. 56 and 44 tasks use 15 and 14 data: 40 + 29 - 12.
  rates.free = Bytes{12};
  EXPECT_NEAR(split_time(split, rates).seconds(), 57, 0.01);
}

TEST(SplitTime, CountsTheLinkOfEachMemory) {
  // Half a datum per second into one memory: 15 and 14 data, 51 and 49 tasks, take 30 and 28 s; tasks of 0.1 s.
  const SplitTiles split(tile_work(grid, 10, 1), 100, 2);
  const SplitRates rates{.task_seconds = 0.1,
                         .tile = Bytes{1},
                         .each = {0.5},
                         .together = {1e3},
                         .also = {},
                         .free = {}};
  EXPECT_NEAR(split_time(split, rates).seconds(), 30, 0.01);
  EXPECT_EQ(split_time(split, {}), Time{0});
}

}  // namespace
}  // namespace vicinal::bounds
