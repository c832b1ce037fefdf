// What Ownership knows of data that tasks of several ranks reduce into: who has a partial result, and how these come together.
#include <algorithm>

#include "comm/ownership.hpp"
#include "comm/reduction_trees.hpp"

namespace vicinal::comm {

bool Ownership::contributes(DatumId id, RankId rank) const {
  if (!is_reduced(id)) return false;
  return contributors_.find(id.value)->second.has(rank);
}

// A copy that the rank has, or that another has, is of the version before.
void Ownership::reduce(DatumId id, RankId on) {
  Datum& datum = data_[id.value];
  contributors_[id.value].add(on);
  datum.is_reduced = 1;
  datum.is_written = 1;
  outdate(id);
}

Gathering Ownership::gather(DatumId id, const Tree& tree) {
  clear();
  if (!is_reduced(id)) return {};
  const RankId owner = this->owner(id);
  std::vector<RankId> others;
  contributors_.find(id.value)->second.for_each([&](RankId rank) {
    if (rank != owner) others.push_back(rank);
  });
  contributors_.erase(id.value);
  data_[id.value].is_reduced = 0;
  const auto own = std::ranges::find(others, here_);
  if (owner != here_ && own == others.end()) return {};
  const std::optional<std::size_t> place =
      owner == here_ ? std::nullopt : std::optional(static_cast<std::size_t>(own - others.begin()));
  const ReductionPlace found = reduction_place(tree, others.size(), place);
  for (const std::size_t child : found.children) {
    before_.push_back(numbered(id, others[child], here_));
  }
  if (owner == here_) return {before_, std::nullopt};
  const RankId parent = found.parent ? others[*found.parent] : owner;
  Transfer up = numbered(id, here_, parent);
  up.is_first = true;
  return {before_, up};
}

}  // namespace vicinal::comm
