#include "comm/concerned_ranks.hpp"

namespace vicinal::comm {

DatumId ConcernedRanks::add(RankId owner, Bytes bytes) {
  copies_.emplace_back();
  contributors_.emplace_back();
  return owners_.add(owner, bytes, true);
}

void ConcernedRanks::note(RankId rank) {
  if (is_in_[rank.value]) return;
  is_in_[rank.value] = true;
  ranks_.push_back(rank);
}

void ConcernedRanks::note_all() {
  for (std::uint32_t rank = 0; rank < is_in_.size(); ++rank) note({rank});
}

std::span<const RankId> ConcernedRanks::run(std::span<const Use> uses, RankId on) {
  for (const RankId rank : ranks_) is_in_[rank.value] = false;
  ranks_.clear();
  note(on);
  for (const Use& use : uses) {
    RankSet& contributors = contributors_[use.datum.value];
    if (use.mode != AccessMode::reduction) {
      if (contributors.empty()) continue;
      note_all();
      contributors.clear();
    } else if (!contributors.has(on)) {
      note_all();
      contributors.add(on);
      copies_[use.datum.value].clear();
    }
  }
  for (const Use& use : uses) {
    RankSet& copies = copies_[use.datum.value];
    const RankId owner = owners_.owner(use.datum);
    if (!reads(use.mode) || owner == on || copies.has(on)) continue;
    note(owner);
    copies.add(on);
  }
  for (const Use& use : uses) {
    if (!writes(use.mode)) continue;
    RankSet& copies = copies_[use.datum.value];
    const RankId owner = owners_.owner(use.datum);
    note(owner);
    copies.for_each([this](RankId rank) { note(rank); });
    copies.clear();
    if (owner != on) copies.add(on);
  }
  return ranks_;
}

void ConcernedRanks::drop_copies() {
  for (RankSet& copies : copies_) copies.clear();
}

}  // namespace vicinal::comm
