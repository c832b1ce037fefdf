// Partial results of ranks come together along the trees of broadcasts, and all ranks see the same tree.
#include "comm/reduction_trees.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "comm/ownership.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vicinal/error.hpp"

namespace vicinal::comm::reduction_trees {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Tree kBinomial{.shape = TreeShape::binomial};
const std::vector<Tree> kTrees{{.shape = TreeShape::flat},
                               {.shape = TreeShape::chain},
                               {.shape = TreeShape::binary},
                               {.shape = TreeShape::k_ary, .arity = 5},
                               kBinomial,
                               {.shape = TreeShape::delegated}};

TEST(ReductionTrees, OfSevenContributorsThreeReachTheRoot) {
  EXPECT_THAT(reduction_place(kBinomial, 7, std::nullopt).children, ElementsAre(0, 1, 3));
  EXPECT_THAT(reduction_place(kBinomial, 7, 3).children, ElementsAre(4, 5));
  EXPECT_EQ(reduction_place(kBinomial, 7, 3).parent, std::nullopt);
  EXPECT_EQ(reduction_place(kBinomial, 7, 6).parent, 5U);
  EXPECT_THAT(reduction_place(kBinomial, 7, 6).children, IsEmpty());
}

TEST(ReductionTrees, WhomOneCombinesGoesThere) {
  for (const Tree& tree : kTrees) {
    for (std::size_t count = 0; count <= 70; ++count) {
      std::vector<std::optional<std::size_t>> places{std::nullopt};
      for (std::size_t place = 0; place < count; ++place) places.emplace_back(place);
      std::size_t reached = 0;
      for (const auto place : places) {
        for (const std::size_t child : reduction_place(tree, count, place).children) {
          EXPECT_EQ(reduction_place(tree, count, child).parent, place) << count << ", " << child;
          EXPECT_TRUE(!place || child > *place);  // so no circle
          ++reached;
        }
      }
      EXPECT_EQ(reached, count);
    }
  }
}

TEST(ReductionTrees, ABinomialTreeHasLogarithmicallyManyMessagesAtTheRoot) {
  for (std::size_t contributors = 1; contributors <= 300; ++contributors) {
    EXPECT_LE(reduction_place(kBinomial, contributors, std::nullopt).children.size(),
              std::bit_width(contributors));  // ceil(log2(contributors + 1))
  }
}

TEST(ReductionTrees, AreNamedByAnOption) {
  EXPECT_EQ(reduction_tree_of_option("auto"), kBinomial);
  EXPECT_EQ(reduction_tree_of_option("off"), std::nullopt);
  EXPECT_EQ(reduction_tree_of_option("flat"), Tree{});
  for (const char* const name :
       {"off", "flat", "chain", "binary", "7-ary", "binomial", "delegated"}) {
    const auto tree = reduction_tree_of_option(name);
    EXPECT_EQ(name_of_reduction_tree(number_of_reduction_tree(tree)), name);
  }
  try {
    reduction_tree_of_option("oak");
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("option reduction_tree: \"oak\" is none of auto, off"));
  }
}

using Sent = std::array<std::uint32_t, 3>;  // from, to, version
Sent sent_by(const Transfer& transfer) {
  return {transfer.from.value, transfer.to.value, transfer.version};
}

// In sequences of which each sees what concerns it.
TEST(ReductionTrees, AllRanksSeeTheSameTree) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    base::Random random(seed);
    const auto ranks = static_cast<std::uint32_t>(1 + random.below(seed % 10 == 0 ? 150 : 12));
    const Tree tree = kTrees[random.below(kTrees.size())];
    std::vector<Ownership> each;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) each.emplace_back(RankId{rank}, ranks);
    constexpr std::uint32_t kData = 3;
    for (std::uint32_t d = 0; d < kData; ++d) {
      const RankId owner{static_cast<std::uint32_t>(random.below(ranks))};
      for (Ownership& one : each) one.add(owner, Bytes{8}, d % 2 == 0);
    }
    RankSet contributors[kData];
    for (int task = 0; task < 200; ++task) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", task " + std::to_string(task));
      const DatumId datum{static_cast<std::uint32_t>(random.below(kData))};
      const RankId on{static_cast<std::uint32_t>(random.below(ranks))};
      const bool reduces = random.below(8) > 0;
      const std::vector<Use> uses{{datum, reduces ? AccessMode::reduction : AccessMode::RW}};
      std::vector<Sent> sent;
      std::vector<Sent> received;
      for (Ownership& one : each) {
        if (!one.concerns(uses, on)) {
          EXPECT_FALSE(!reduces && one.is_reduced(datum));
          continue;
        }
        if (!reduces) {
          const Gathering gathering = one.gather(datum, tree);
          for (const Transfer& from : gathering.from) received.push_back(sent_by(from));
          if (gathering.to) sent.push_back(sent_by(*gathering.to));
        }
        one.run(uses, on);
      }
      std::ranges::sort(sent);
      std::ranges::sort(received);
      EXPECT_EQ(sent, received);
      std::size_t expected = 0;
      contributors[datum.value].for_each(
          [&](RankId rank) { expected += rank != each[0].owner(datum) ? 1U : 0U; });
      EXPECT_EQ(sent.size(), reduces ? 0 : expected);
      reduces ? contributors[datum.value].add(on) : contributors[datum.value].clear();
    }
  }
}

}  // namespace
}  // namespace vicinal::comm::reduction_trees
