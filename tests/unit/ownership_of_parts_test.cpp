// Which copies end when a whole or a part is written, and what a rank may leave out.
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "comm/ownership.hpp"

namespace vicinal::comm {
namespace {

struct WholeAndParts : ::testing::Test {
  // Data of rank 0, seen by rank 1, which has read all of them.
  WholeAndParts() {
    whole = here.add(RankId{0}, Bytes{100}, true);
    const std::vector<Bytes> sizes{Bytes{50}, Bytes{50}};
    const DatumId first = here.divide(whole, sizes, true);
    left = first;
    right = {first.value + 1};
    inner = here.divide(left, sizes, true);
    for (const DatumId id : {whole, left, right, inner}) run(id, AccessMode::R, 1);
  }
  Ownership::Effects run(DatumId id, AccessMode mode, std::uint32_t on) {
    const Use use{id, mode};
    return here.run({&use, 1}, RankId{on});
  }
  bool has(DatumId id) const { return here.has(id); }

  Ownership here{RankId{1}, 2};
  DatumId whole, left, right, inner;
};

TEST_F(WholeAndParts, AWrittenWholeEndsCopiesOfAllParts) {
  EXPECT_EQ(run(whole, AccessMode::RW, 0).stale.size(), 4U);
  for (const DatumId id : {whole, left, right, inner}) EXPECT_FALSE(has(id));
}

TEST_F(WholeAndParts, AWrittenPartEndsCopiesOfWhatItIsIn) {
  EXPECT_EQ(run(left, AccessMode::RW, 0).stale.size(), 3U);
  EXPECT_FALSE(has(whole) || has(left) || has(inner));
  EXPECT_TRUE(has(right));
  // Here, too: the whole is stale, and the part that was written is not.
  run(whole, AccessMode::R, 1);
  EXPECT_EQ(run(right, AccessMode::RW, 1).stale.size(), 1U);
  EXPECT_TRUE(has(right));
  EXPECT_FALSE(has(whole));
}

TEST_F(WholeAndParts, PartsThatAreTakenBackEndNoCopyOfTheWhole) {
  EXPECT_EQ(here.join(right).size(), 4U);
  EXPECT_TRUE(has(whole));
  EXPECT_TRUE(here.is_gone(inner) && here.is_gone(left));
  EXPECT_FALSE(here.unwritten(whole));
}

TEST_F(WholeAndParts, AWholeIsWrittenIfItsPartsAre) {
  here.forget(whole);
  EXPECT_EQ(here.unwritten(right), right);
  run(left, AccessMode::W, 0);
  EXPECT_EQ(here.unwritten(whole), right);
  EXPECT_FALSE(here.unwritten(inner));
  run(right, AccessMode::W, 0);
  EXPECT_FALSE(here.unwritten(whole));
  here.forget(inner);
  EXPECT_EQ(here.unwritten(whole), inner);
  here.join(right);
  EXPECT_EQ(here.unwritten(whole), whole);
}

// Ranks that leave out what does not concern them send what others expect of them.
TEST(Ownership, WhatDoesNotConcernARankMayBeLeftOut) {
  constexpr std::uint32_t kRanks = 4;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    base::Random random(seed);
    std::vector<Ownership> all;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) all.emplace_back(RankId{rank}, kRanks);
    const auto add = [&](RankId owner, bool written) {
      for (Ownership& one : all) one.add(owner, Bytes{8}, written);
    };
    for (std::uint32_t i = 0; i < 4; ++i)
      add(RankId{static_cast<std::uint32_t>(random.below(kRanks))}, i > 0);
    const std::vector<Bytes> sizes(2, Bytes{4});
    for (Ownership& one : all) one.divide(DatumId{1}, sizes, true);
    using Key = std::pair<std::uint32_t, std::uint32_t>;
    std::map<Key, std::vector<std::pair<DatumId, std::uint32_t>>> sent;
    std::map<Key, std::vector<std::pair<DatumId, std::uint32_t>>> received;
    for (int task = 0; task < 60; ++task) {
      const DatumId written{static_cast<std::uint32_t>(random.below(6))};
      DatumId other{static_cast<std::uint32_t>(random.below(6))};
      std::vector<Use> uses{{written, AccessMode::W}};
      const bool apart = other != written && !all[0].is_within(other, written) &&
                         !all[0].is_within(written, other);
      // Rank 3 leaves nothing out, and so knows what is written.
      if (apart && !all[3].unwritten(other)) uses.push_back({other, AccessMode::R});
      const RankId on{static_cast<std::uint32_t>(random.below(kRanks))};
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        if (rank != 3 && !all[rank].concerns(uses, on)) continue;
        const Ownership::Effects effects = all[rank].run(uses, on);
        for (const auto list : {effects.before, effects.after}) {
          for (const Transfer& one : list) {
            auto& its = (one.from.value == rank ? sent : received)[{one.from.value, one.to.value}];
            its.emplace_back(one.datum, one.version);
          }
        }
      }
    }
    EXPECT_EQ(sent, received);
  }
}

}  // namespace
}  // namespace vicinal::comm
