// Which ranks a task concerns, for whoever makes the calls of all ranks: the sequence is unrolled once, and each rank is given
// what Ownership::concerns would say it needs. Data have content from the start and are in no parts. All ranks need to know
// who contributes to a reduction, and when it ends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/ownership.hpp"
#include "comm/rank_set.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::comm {

class ConcernedRanks {
 public:
  explicit ConcernedRanks(std::uint32_t ranks) : owners_(RankId{ranks}, ranks), is_in_(ranks) {}

  // The next datum.
  DatumId add(RankId owner, Bytes bytes);
  // As Ownership::place.
  RankId place(std::span<const Use> uses) const { return owners_.place(uses); }
  // The task takes its place in the sequence, and runs there. Valid until the next call; the ranks come in any order, each
  // once.
  std::span<const RankId> run(std::span<const Use> uses, RankId on);
  // Ownership::drop_copies on all ranks.
  void drop_copies();

 private:
  void note(RankId rank);
  void note_all();

  Ownership owners_;
  std::vector<RankSet> copies_;        // by datum: ranks beside the owner that have the version
  std::vector<RankSet> contributors_;  // by datum, since the last access of another kind
  std::vector<bool> is_in_;            // the result, by rank
  std::vector<RankId> ranks_;          // the result
};

}  // namespace vicinal::comm
