// The ranks that a task concerns, against what each rank would say itself.
#include "comm/concerned_ranks.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace vicinal::comm {
namespace {

TEST(ConcernedRanks, AreThoseThatWouldSaySoThemselves) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    base::Random random(seed);
    const auto ranks = static_cast<std::uint32_t>(1 + random.below(seed % 10 == 0 ? 150 : 12));
    ConcernedRanks all(ranks);
    std::vector<Ownership> each;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) each.emplace_back(RankId{rank}, ranks);
    const std::size_t data = 1 + random.below(20);
    for (std::size_t d = 0; d < data; ++d) {
      const RankId owner{static_cast<std::uint32_t>(random.below(ranks))};
      const Bytes bytes{8 * random.below(100)};
      all.add(owner, bytes);
      for (Ownership& one : each) one.add(owner, bytes, true);
    }
    for (int task = 0; task < 200; ++task) {
      std::vector<Use> uses;
      for (std::uint32_t d = 0; d < data; ++d) {
        if (random.below(data) >= 3) continue;
        const AccessMode modes[] = {AccessMode::R, AccessMode::R, AccessMode::RW, AccessMode::W,
                                    AccessMode::reduction};
        uses.push_back({{d}, modes[random.below(5)]});
      }
      const RankId on = random.below(4) == 0
                            ? RankId{static_cast<std::uint32_t>(random.below(ranks))}
                            : all.place(uses);
      std::vector<RankId> expected;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        if (!each[rank].concerns(uses, on)) continue;
        expected.push_back({rank});
        for (const Use& use : uses) {
          if (use.mode != AccessMode::reduction) each[rank].gather(use.datum, {});
        }
        each[rank].run(uses, on);
      }
      const auto told = all.run(uses, on);
      std::vector<RankId> concerned(told.begin(), told.end());
      std::sort(concerned.begin(), concerned.end());
      ASSERT_EQ(concerned, expected) << "seed " << seed << ", task " << task;
      if (random.below(50) != 0) continue;
      all.drop_copies();
      for (Ownership& one : each) one.drop_copies();
    }
  }
}

}  // namespace
}  // namespace vicinal::comm
