// Trees of broadcasts: the spec's examples by hand, and what holds of every tree.
#include "comm/broadcast_trees.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vicinal/error.hpp"

namespace vicinal::comm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Tree kFlat{.shape = TreeShape::flat};
constexpr Tree kChain{.shape = TreeShape::chain};
constexpr Tree kBinary{.shape = TreeShape::binary};
constexpr Tree kBinomial{.shape = TreeShape::binomial};
constexpr Tree kDelegated{.shape = TreeShape::delegated};

struct Sent {
  std::size_t from;  // participants: 0 is the root, recipient i of the list is i + 1
  std::size_t to;
  friend bool operator==(const Sent&, const Sent&) = default;
};

// In the order of each sender, senders in the order in which they are reached.
void collect(const Tree& tree, std::size_t from, std::size_t first, std::size_t count,
             std::vector<Sent>& all) {
  const std::vector<Branch> served = branches(tree, count);
  for (const Branch& branch : served) all.push_back({from, first + branch.head});
  for (const Branch& branch : served) {
    collect(below(tree), first + branch.head, first + branch.head + 1, branch.count, all);
  }
}
std::vector<Sent> sends(const Tree& tree, std::size_t recipients) {
  std::vector<Sent> all;
  collect(tree, 0, 1, recipients, all);
  return all;
}

std::size_t most_steps(const Tree& tree, std::size_t recipients) {
  return std::ranges::max(reception_steps(tree, recipients));
}

std::size_t levels(const Tree& tree, std::size_t recipients) {
  std::vector<std::size_t> level(recipients + 1);
  for (const Sent& sent : sends(tree, recipients)) level[sent.to] = level[sent.from] + 1;
  return std::ranges::max(level);
}

TEST(BroadcastTrees, ASixfoldBinomialTreeIsTheThesisExample) {
  EXPECT_THAT(sends(kBinomial, 6),
              ElementsAre(Sent{0, 4}, Sent{0, 2}, Sent{0, 1}, Sent{4, 6}, Sent{4, 5}, Sent{2, 3}));
  EXPECT_THAT(branches(kBinomial, 6), ElementsAre(Branch{3, 2}, Branch{1, 1}, Branch{0, 0}));
  EXPECT_EQ(most_steps(kBinomial, 6), 3U);
}

TEST(BroadcastTrees, ASixfoldBinaryTreeIsTheThesisExample) {
  EXPECT_THAT(branches(kBinary, 6), ElementsAre(Branch{0, 2}, Branch{3, 2}));
  EXPECT_THAT(sends(kBinary, 6),
              ElementsAre(Sent{0, 1}, Sent{0, 4}, Sent{1, 2}, Sent{1, 3}, Sent{4, 5}, Sent{4, 6}));
  EXPECT_EQ(most_steps(kBinary, 6), 4U);
}

TEST(BroadcastTrees, StepsAndLevelsOf195RecipientsAreTheSpecs) {
  EXPECT_EQ(most_steps(kBinomial, 195), 8U);
  EXPECT_EQ(levels(kBinary, 195), 7U);
  EXPECT_EQ(most_steps(kBinary, 195), 13U);
  EXPECT_EQ(most_steps(kFlat, 195), 195U);
  EXPECT_EQ(levels(kChain, 195), 195U);
}

TEST(BroadcastTrees, EachRecipientIsServedOnceByWhoWasServedBefore) {
  base::Random random(36);
  for (int round = 0; round < 2000; ++round) {
    const Tree trees[] = {
        kFlat,
        kChain,
        kBinary,
        kBinomial,
        kDelegated,
        {.shape = TreeShape::k_ary, .arity = static_cast<std::uint16_t>(1 + random.below(9))}};
    const Tree& tree = trees[random.below(6)];
    const std::size_t recipients = 1 + random.below(300);
    std::vector<bool> has(recipients + 1);
    has[0] = true;
    for (const Sent& sent : sends(tree, recipients)) {
      ASSERT_TRUE(has[sent.from]) << "round " << round;
      ASSERT_FALSE(has[sent.to]) << "round " << round;
      has[sent.to] = true;
    }
    EXPECT_TRUE(std::ranges::all_of(has, std::identity{})) << "round " << round;
  }
}

TEST(BroadcastTrees, BinomialTreesTakeTheFewestSteps) {
  for (std::size_t recipients = 1; recipients <= 300; ++recipients) {
    EXPECT_EQ(most_steps(kBinomial, recipients),
              static_cast<std::size_t>(std::bit_width(recipients)));
    EXPECT_GE(most_steps(kBinary, recipients), most_steps(kBinomial, recipients));
  }
}

TEST(BroadcastTrees, TheOptionNamesTrees) {
  EXPECT_EQ(tree_of_option("auto"), std::nullopt);
  EXPECT_EQ(tree_of_option("off"), kFlat);
  EXPECT_EQ(tree_of_option("binomial"), kBinomial);
  EXPECT_EQ(tree_of_option("5-ary"), (Tree{.shape = TreeShape::k_ary, .arity = 5}));
  for (const char* const wrong : {"", "binominal", "0-ary", "-ary", "5-aryx", "99999-ary"}) {
    try {
      tree_of_option(wrong);
      ADD_FAILURE() << wrong;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("is none of auto, off, flat, chain"));
    }
  }
}

// --- which one is taken

constexpr LinkCost kGigabit{Time{2'000}, Time{20'000}, 125e6};

// Whole contents: they come by the steps of the thesis.
std::vector<Time> by_steps(const Tree& tree, std::size_t recipients) {
  constexpr Bytes kSize = 1_MiB;
  return arrivals({tree, kSize.value}, recipients, kSize, {Time{0}, Time{0}, 125e6});
}

TEST(BroadcastRoutes, WholeContentsComeStepByStep) {
  const double one = static_cast<double>(by_steps(kFlat, 1)[0].ns);
  for (const Tree& tree : {kFlat, kChain, kBinary, kBinomial, kDelegated}) {
    for (const std::size_t recipients : {1U, 6U, 8U, 31U}) {
      const std::vector<std::size_t> steps = reception_steps(tree, recipients);
      const std::vector<Time> times = by_steps(tree, recipients);
      for (std::size_t i = 0; i < recipients; ++i) {
        EXPECT_NEAR(static_cast<double>(times[i].ns) / one, static_cast<double>(steps[i]), 1e-3);
      }
    }
  }
}

TEST(BroadcastRoutes, LargerPrioritiesTakeTheEarlierPlaces) {
  // Of eight in a binomial tree: participant 8 is served at the first step, 1, 3, 5 and 7 at the last.
  const std::vector<std::size_t> steps = reception_steps(kBinomial, 8);
  EXPECT_THAT(steps, ElementsAre(4, 3, 4, 2, 4, 3, 4, 1));
  const std::vector<int> priorities{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::size_t> at = places_by_priority(by_steps(kBinomial, 8), priorities);
  EXPECT_EQ(at[7], 7U);  // the largest priority has the earliest place
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t b = 0; b < 8; ++b) {
      if (steps[a] >= steps[b]) continue;
      EXPECT_GT(priorities[at[a]], priorities[at[b]]);
    }
  }
  // Equal ones keep their order.
  EXPECT_THAT(places_by_priority(by_steps(kChain, 4), std::vector<int>{0, 5, 0, 5}),
              ElementsAre(1, 3, 0, 2));
}

TEST(BroadcastRoutes, AChainOfALargeVersionCostsLittleMoreThanOneTransfer) {
  constexpr Bytes kSize = 8_MiB;
  const Time one = time_to_last(route_along(kFlat, 1, kSize, kGigabit), 1, kSize, kGigabit);
  const Time chain = time_to_last(route_along(kChain, 7, kSize, kGigabit), 7, kSize, kGigabit);
  const Time flat = time_to_last(route_along(kFlat, 7, kSize, kGigabit), 7, kSize, kGigabit);
  EXPECT_LT(chain.ns, one.ns * 13 / 10);
  EXPECT_GT(flat.ns, one.ns * 6);
  EXPECT_EQ(choose_route(7, kSize, kGigabit).tree, kChain);
}

// The second that the owner serves is last, whatever the segments are; the first one's child is not to wait for half of the content.
TEST(BroadcastRoutes, ATreeOfThreeHasManySegments) {
  for (const Tree& tree : {kBinary, kBinomial}) {
    EXPECT_LE(route_along(tree, 3, 8_MiB, kGigabit).segment, (8_MiB).value / 16);
  }
}

TEST(BroadcastRoutes, OneRecipientAndFewBytesNeedNoTree) {
  EXPECT_EQ(choose_route(1, 8_MiB, kGigabit).tree, kFlat);
  EXPECT_EQ(choose_route(1, 8_MiB, kGigabit).segment, (8_MiB).value);
  EXPECT_EQ(choose_route(2, Bytes{8}, kGigabit).tree, kFlat);
  EXPECT_NE(choose_route(200, 1_MiB, kGigabit).tree, kFlat);
}

TEST(BroadcastRoutes, SegmentsAreFewAndNotSmall) {
  base::Random random(7);
  for (int round = 0; round < 500; ++round) {
    const Bytes bytes{1 + random.below(1ULL << 32)};
    const Route route = choose_route(1 + random.below(200), bytes, kGigabit);
    ASSERT_GT(route.segment, 0U);
    EXPECT_LE((bytes.value + route.segment - 1) / route.segment, kMostSegments);
    EXPECT_TRUE(route.segment >= kLeastSegment || route.segment >= bytes.value);
  }
}

TEST(BroadcastRoutes, TimeGrowsWithTheLogarithmOfTheRecipients) {
  for (const Tree& tree : {kBinary, kBinomial}) {
    const auto at = [&](std::size_t recipients) {
      constexpr Bytes kSize = 4_MiB;
      return static_cast<double>(time_to_last({tree, kSize.value}, recipients, kSize, kGigabit).ns);
    };
    const double one = at(1);
    for (std::size_t recipients = 3; recipients < 200; recipients = 2 * recipients + 1) {
      EXPECT_LE(at(2 * recipients + 1) - at(recipients), 2.1 * one) << recipients;
    }
  }
}

}  // namespace
}  // namespace vicinal::comm
