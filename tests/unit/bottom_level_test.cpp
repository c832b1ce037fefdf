#include "graph/bottom_level.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "gtest/gtest.h"
#include "support/access_modes.hpp"

namespace vicinal::graph {
namespace {

// A graph whose tasks bring their durations.
class TimedGraph {
 public:
  using Numbers = std::vector<Graph::Number>;

  void add(std::int64_t duration, const std::vector<Graph::Access>& accesses,
           const Numbers& predecessors = {}) {
    for (const auto& access : accesses) {
      while (graph_.data().size() <= access.datum) graph_.add_datum({});
    }
    graph_.add_task(0, accesses, 0, {}, predecessors);
    durations_.push_back({duration});
  }
  std::vector<std::int64_t> levels() const {
    std::vector<std::int64_t> result;
    for (const Time level : bottom_levels(graph_, durations_)) result.push_back(level.ns);
    return result;
  }
  // By definition: a task runs before those that name it, and before those with which it shares a datum that one
  // of them writes.
  std::vector<std::int64_t> levels_by_all_pairs() const {
    std::vector<std::int64_t> result(durations_.size());
    for (std::size_t t = durations_.size(); t-- > 0;) {
      std::int64_t after = 0;
      for (std::size_t u = t + 1; u < durations_.size(); ++u) {
        if (conflict(t, u) || names(u, t)) after = std::max(after, result[u]);
      }
      result[t] = durations_[t].ns + after;
    }
    return result;
  }

 private:
  bool conflict(std::size_t t, std::size_t u) const {
    for (const auto& a : graph_.accesses_of(graph_.tasks()[t])) {
      for (const auto& b : graph_.accesses_of(graph_.tasks()[u])) {
        if (a.datum == b.datum && (writes(a.mode) || writes(b.mode))) return true;
      }
    }
    return false;
  }
  bool names(std::size_t task, std::size_t before) const {
    const auto all = graph_.predecessors_of(task);
    return std::find(all.begin(), all.end(), before) != all.end();
  }

  Graph graph_;
  std::vector<Time> durations_;
};

using Levels = std::vector<std::int64_t>;
using testing::kR;
using testing::kRW;
using testing::kW;

TEST(BottomLevels, OfNoTasksAreNone) {
  EXPECT_EQ(TimedGraph().levels(), Levels{});
}

TEST(BottomLevels, OfIndependentTasksAreTheirDurations) {
  TimedGraph graph;
  graph.add(5, {{0, kW}});
  graph.add(7, {{1, kRW}});
  graph.add(0, {});
  EXPECT_EQ(graph.levels(), (Levels{5, 7, 0}));
}

TEST(BottomLevels, OfReadersBetweenTwoWritersAreConcurrent) {
  TimedGraph graph;
  graph.add(1, {{0, kW}});   // 1 + max(10, 20) + 4
  graph.add(10, {{0, kR}});  // 10 + 4
  graph.add(20, {{0, kR}});  // 20 + 4
  graph.add(4, {{0, kW}});
  EXPECT_EQ(graph.levels(), (Levels{25, 14, 24, 4}));
}

TEST(BottomLevels, OfThoseThatCommuteNoneFollowsAnotherButAllPrecedeWhatComesBehind) {
  constexpr AccessMode kCommute = AccessMode::commute;
  TimedGraph graph;
  graph.add(1, {{0, kW}});         // 1 + (10 + 20) + 4 + 3
  graph.add(10, {{0, kCommute}});  // 10 + 4 + 3
  graph.add(20, {{0, kCommute}});  // 20 + 4 + 3
  graph.add(4, {{0, kR}});         // 4 + 3
  graph.add(3, {{0, kCommute}});
  EXPECT_EQ(graph.levels(), (Levels{38, 17, 27, 7, 3}));
}

TEST(BottomLevels, ScratchOrdersNothing) {
  TimedGraph graph;
  graph.add(1, {{0, AccessMode::scratch}});
  graph.add(2, {{0, AccessMode::scratch}});
  EXPECT_EQ(graph.levels(), (Levels{1, 2}));
}

TEST(BottomLevels, AWriteFollowsAWriteWithoutAReaderBetween) {
  TimedGraph graph;
  graph.add(1, {{0, kW}});
  graph.add(2, {{0, kW}});
  EXPECT_EQ(graph.levels(), (Levels{3, 2}));
}

TEST(BottomLevels, ATaskThatNamesADatumTwiceDoesNotFollowItself) {
  TimedGraph graph;
  graph.add(1, {{0, kR}});
  graph.add(2, {{0, kR}, {0, kW}, {0, kR}});
  graph.add(4, {{0, kR}});
  EXPECT_EQ(graph.levels(), (Levels{7, 6, 4}));
}

TEST(BottomLevels, ATaskComesBeforeThoseThatNameItAsAPredecessor) {
  TimedGraph graph;
  graph.add(1, {{0, kW}});          // 1 + max(8, 2)
  graph.add(2, {{0, kR}});          // 2
  graph.add(4, {}, {0});            // 4 + 4
  graph.add(4, {{1, kW}}, {0, 2});  // 4
  EXPECT_EQ(graph.levels(), (Levels{9, 2, 8, 4}));
}

TEST(BottomLevels, OfCholeskyStartAtItsCriticalPath) {
  // N x N tiles, lower: the path is N potrf and N - 1 times (trsm, syrk), unless gemm is longer.
  constexpr Graph::Number kN = 6;
  constexpr std::int64_t kPotrf = 3;
  constexpr std::int64_t kTrsm = 5;
  constexpr std::int64_t kSyrk = 7;
  constexpr std::int64_t kGemm = 7;
  const auto tile = [](Graph::Number i, Graph::Number j) { return i * kN + j; };
  TimedGraph graph;
  for (Graph::Number k = 0; k < kN; ++k) {
    graph.add(kPotrf, {{tile(k, k), kRW}});
    for (Graph::Number i = k + 1; i < kN; ++i)
      graph.add(kTrsm, {{tile(k, k), kR}, {tile(i, k), kRW}});
    for (Graph::Number i = k + 1; i < kN; ++i) {
      graph.add(kSyrk, {{tile(i, k), kR}, {tile(i, i), kRW}});
      for (Graph::Number j = k + 1; j < i; ++j) {
        graph.add(kGemm, {{tile(i, k), kR}, {tile(j, k), kR}, {tile(i, j), kRW}});
      }
    }
  }
  EXPECT_EQ(graph.levels().front(), 6 * 3 + 5 * (5 + 7));
  EXPECT_EQ(graph.levels().back(), kPotrf);
  EXPECT_EQ(graph.levels(), graph.levels_by_all_pairs());
}

TEST(BottomLevelsProperty, AreTheLongestPathsOverAllOrderedPairs) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    const std::uint64_t data = 1 + random.below(12);
    const std::uint64_t tasks = random.below(80);
    const std::uint64_t writers_in_ten = random.below(11);
    const bool names_others = random.below(2) == 0;
    TimedGraph graph;
    for (std::uint64_t t = 0; t < tasks; ++t) {
      std::vector<Graph::Access> accesses(random.below(5));
      for (auto& access : accesses) {
        const bool write = random.below(10) < writers_in_ten;
        access = {.datum = static_cast<Graph::Number>(random.below(data)),
                  .mode = !write                 ? kR
                          : random.below(2) == 0 ? kW
                                                 : kRW};
      }
      TimedGraph::Numbers predecessors(t == 0 || !names_others ? 0 : random.below(3));
      for (auto& before : predecessors) before = static_cast<Graph::Number>(random.below(t));
      graph.add(static_cast<std::int64_t>(random.below(100)), accesses, predecessors);
    }
    EXPECT_EQ(graph.levels(), graph.levels_by_all_pairs());
  }
}

}  // namespace
}  // namespace vicinal::graph
