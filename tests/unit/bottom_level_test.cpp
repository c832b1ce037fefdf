#include "graph/bottom_level.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "gtest/gtest.h"

namespace vicinal::graph {
namespace {

// A list of tasks that owns its accesses.
class Graph {
 public:
  void add(std::int64_t duration, std::vector<PlannedAccess> accesses) {
    for (const auto& access : accesses) data_count_ = std::max(data_count_, access.data + 1);
    durations_.push_back(duration);
    accesses_.push_back(std::move(accesses));
  }
  std::vector<std::int64_t> levels() const {
    std::vector<PlannedTask> tasks;
    for (std::size_t t = 0; t < durations_.size(); ++t) {
      tasks.push_back({.duration = {durations_[t]}, .accesses = accesses_[t]});
    }
    std::vector<std::int64_t> result;
    for (const Time level : bottom_levels(tasks, data_count_)) result.push_back(level.ns);
    return result;
  }
  // By definition: every pair of tasks that share a datum, one of them writing, runs in order.
  std::vector<std::int64_t> levels_by_all_pairs() const {
    std::vector<std::int64_t> result(durations_);
    for (std::size_t t = durations_.size(); t-- > 0;) {
      std::int64_t after = 0;
      for (std::size_t u = t + 1; u < durations_.size(); ++u) {
        if (conflict(t, u)) after = std::max(after, result[u]);
      }
      result[t] += after;
    }
    return result;
  }

 private:
  bool conflict(std::size_t t, std::size_t u) const {
    for (const auto& a : accesses_[t]) {
      for (const auto& b : accesses_[u]) {
        if (a.data == b.data && (writes(a.mode) || writes(b.mode))) return true;
      }
    }
    return false;
  }

  std::vector<std::int64_t> durations_;
  std::vector<std::vector<PlannedAccess>> accesses_;
  std::size_t data_count_ = 0;
};

using Levels = std::vector<std::int64_t>;
constexpr AccessMode kR = AccessMode::R;
constexpr AccessMode kW = AccessMode::W;
constexpr AccessMode kRW = AccessMode::RW;

TEST(BottomLevels, OfNoTasksAreNone) {
  EXPECT_EQ(Graph().levels(), Levels{});
}

TEST(BottomLevels, OfIndependentTasksAreTheirDurations) {
  Graph graph;
  graph.add(5, {{0, kW}});
  graph.add(7, {{1, kRW}});
  graph.add(0, {});
  EXPECT_EQ(graph.levels(), (Levels{5, 7, 0}));
}

TEST(BottomLevels, OfReadersBetweenTwoWritersAreConcurrent) {
  Graph graph;
  graph.add(1, {{0, kW}});   // 1 + max(10, 20) + 4
  graph.add(10, {{0, kR}});  // 10 + 4
  graph.add(20, {{0, kR}});  // 20 + 4
  graph.add(4, {{0, kW}});
  EXPECT_EQ(graph.levels(), (Levels{25, 14, 24, 4}));
}

TEST(BottomLevels, AWriteFollowsAWriteWithoutAReaderBetween) {
  Graph graph;
  graph.add(1, {{0, kW}});
  graph.add(2, {{0, kW}});
  EXPECT_EQ(graph.levels(), (Levels{3, 2}));
}

TEST(BottomLevels, ATaskThatNamesADatumTwiceDoesNotFollowItself) {
  Graph graph;
  graph.add(1, {{0, kR}});
  graph.add(2, {{0, kR}, {0, kW}, {0, kR}});
  graph.add(4, {{0, kR}});
  EXPECT_EQ(graph.levels(), (Levels{7, 6, 4}));
}

TEST(BottomLevels, OfCholeskyStartAtItsCriticalPath) {
  // N x N tiles, lower: the path is N potrf and N - 1 times (trsm, syrk), unless gemm is longer.
  constexpr std::size_t kN = 6;
  constexpr std::int64_t kPotrf = 3;
  constexpr std::int64_t kTrsm = 5;
  constexpr std::int64_t kSyrk = 7;
  constexpr std::int64_t kGemm = 7;
  const auto tile = [](std::size_t i, std::size_t j) { return i * kN + j; };
  Graph graph;
  for (std::size_t k = 0; k < kN; ++k) {
    graph.add(kPotrf, {{tile(k, k), kRW}});
    for (std::size_t i = k + 1; i < kN; ++i)
      graph.add(kTrsm, {{tile(k, k), kR}, {tile(i, k), kRW}});
    for (std::size_t i = k + 1; i < kN; ++i) {
      graph.add(kSyrk, {{tile(i, k), kR}, {tile(i, i), kRW}});
      for (std::size_t j = k + 1; j < i; ++j) {
        graph.add(kGemm, {{tile(i, k), kR}, {tile(j, k), kR}, {tile(i, j), kRW}});
      }
    }
  }
  EXPECT_EQ(graph.levels().front(), 6 * 3 + 5 * (5 + 7));
  EXPECT_EQ(graph.levels().back(), kPotrf);
  EXPECT_EQ(graph.levels(), graph.levels_by_all_pairs());
}

class BottomLevelsProperty : public testing::TestWithParam<std::uint64_t> {};

TEST_P(BottomLevelsProperty, AreTheLongestPathsOverAllOrderedPairs) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  base::Random random(GetParam());
  const std::uint64_t data = 1 + random.below(12);
  const std::uint64_t tasks = random.below(80);
  const std::uint64_t writers_in_ten = random.below(11);
  Graph graph;
  for (std::uint64_t t = 0; t < tasks; ++t) {
    std::vector<PlannedAccess> accesses(random.below(5));
    for (auto& access : accesses) {
      const bool write = random.below(10) < writers_in_ten;
      access = {.data = random.below(data), .mode = !write ? kR : random.below(2) == 0 ? kW : kRW};
    }
    graph.add(static_cast<std::int64_t>(random.below(100)), std::move(accesses));
  }
  EXPECT_EQ(graph.levels(), graph.levels_by_all_pairs());
}

INSTANTIATE_TEST_SUITE_P(Seeds, BottomLevelsProperty, testing::Range<std::uint64_t>(1, 201));

}  // namespace
}  // namespace vicinal::graph
