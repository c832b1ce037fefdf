#include "comm/ownership.hpp"

#include <algorithm>

namespace vicinal::comm {

DatumId Ownership::add(RankId owner, Bytes bytes, bool written) {
  const DatumId id{static_cast<std::uint32_t>(data_.size())};
  const auto [size, is_new] =
      size_numbers_.try_emplace(bytes.value, static_cast<std::uint32_t>(sizes_.size()));
  if (is_new) sizes_.push_back(bytes);
  data_.push_back({.owner = owner.value & 0x1ffffffU,
                   .is_written = written ? 1U : 0U,
                   .size = size->second,
                   .there = {}});
  return id;
}

bool Ownership::has(DatumId datum) const {
  return is_here(data_[datum.value]);
}

RankId Ownership::place(std::span<const Use> uses) const {
  bool any_writes = false;
  bool any_reads = false;
  RankId first{};
  bool is_unanimous = true;
  const auto is_candidate = [&](const Use& use) {
    return any_writes ? writes(use.mode) : reads(use.mode) == any_reads;
  };
  for (const Use& use : uses) {
    any_writes |= writes(use.mode);
    any_reads |= reads(use.mode);
  }
  bool any = false;
  for (const Use& use : uses) {
    if (!is_candidate(use)) continue;
    is_unanimous &= !any || owner(use.datum) == first;
    if (!any) first = owner(use.datum);
    any = true;
  }
  if (is_unanimous) return first;
  // Few tasks come here, with few candidates.
  RankId best{};
  std::uint64_t least = ~std::uint64_t{0};
  for (const Use& candidate : uses) {
    if (!is_candidate(candidate)) continue;
    const RankId rank = owner(candidate.datum);
    std::uint64_t sum = 0;
    for (const Use& use : uses) {
      if (reads(use.mode) && owner(use.datum) != rank) sum += bytes(use.datum).value;
    }
    if (sum < least || (sum == least && rank < best)) {
      least = sum;
      best = rank;
    }
  }
  return best;
}

void Ownership::note_copy(DatumId id, Datum& datum, RankId rank) {
  if (datum.is_listed == 0) copied_.push_back(id);
  datum.is_listed = 1;
  datum.there.add(rank);
}

// Of those from here, and to here, each rank counts the same: all of them concern both ranks.
Transfer Ownership::numbered(DatumId id, RankId from, RankId to) {
  std::uint32_t& count = from == here_ ? sent_[to.value] : received_[from.value];
  return {id, ++count, from, to, false};
}

// The owner knows all ranks with a copy, another rank knows of itself: `there` answers both in the same way.
void Ownership::read(DatumId id, RankId on) {
  Datum& datum = data_[id.value];
  const bool owns = datum.owner == here_.value;
  if (on.value == datum.owner || (!owns && on != here_) || datum.there.has(on)) return;
  note_copy(id, datum, on);
  before_.push_back(numbered(id, {datum.owner}, on));
  before_.back().is_first = datum.has_left == 0;
  if (owns) before_.back().reader = datum.there.size() - datum.is_from_there;
  datum.has_left = 1;
}

void Ownership::write(DatumId id, RankId on) {
  Datum& datum = data_[id.value];
  datum.is_written = 1;
  datum.has_left = 0;
  datum.is_from_there = on.value == datum.owner ? 0U : 1U;
  const bool owns = datum.owner == here_.value;
  const bool was_here = !owns && !datum.there.empty();
  datum.there.clear();
  if (was_here && on != here_) stale_.push_back(id);
  if (datum.has_family != 0) outdate_relatives(id);
  if (on.value == datum.owner || (!owns && on != here_)) return;
  note_copy(id, datum, on);
  after_.push_back(numbered(id, on, {datum.owner}));
  after_.back().is_first = true;
}

void Ownership::clear() {
  before_.clear();
  after_.clear();
  stale_.clear();
  gone_.clear();
}

Ownership::Effects Ownership::run(std::span<const Use> uses, RankId on) {
  clear();
  for (const Use& use : uses) {
    if (data_[use.datum.value].has_family != 0) settle(use.datum, use.mode);
  }
  for (const Use& use : uses) {
    if (reads(use.mode)) read(use.datum, on);
  }
  for (const Use& use : uses) {
    if (writes(use.mode)) write(use.datum, on);
    if (use.mode == AccessMode::reduction) [[unlikely]]
      reduce(use.datum, on);
  }
  return {before_, after_, stale_};
}

Ownership::Effects Ownership::run_everywhere(DatumId id, AccessMode mode) {
  clear();
  Datum& datum = data_[id.value];
  const bool owns = datum.owner == here_.value;
  if (datum.has_family != 0) settle(id, mode);
  const auto each_reader = [&](const auto& visit) {
    for (std::uint32_t rank = owns ? 0 : here_.value; rank < (owns ? ranks_ : here_.value + 1);
         ++rank) {
      if (rank != datum.owner) visit(RankId{rank});
    }
  };
  if (reads(mode)) each_reader([&](RankId rank) { read(id, rank); });
  if (writes(mode)) {
    datum.is_written = 1;
    datum.has_left = 0;
    datum.is_from_there = 0;
    if (datum.has_family != 0) outdate_relatives(id);
    each_reader([&](RankId rank) {
      if (!datum.there.has(rank)) note_copy(id, datum, rank);
    });
  }
  return {before_, after_, stale_};
}

bool Ownership::concerns(std::span<const Use> uses, RankId on) const {
  if (on == here_) return true;
  return std::ranges::any_of(uses, [this, on](const Use& use) {
    const Datum& datum = data_[use.datum.value];
    const bool owns = datum.owner == here_.value;
    if (use.mode == AccessMode::reduction) return !contributes(use.datum, on);
    if (datum.is_reduced != 0) return true;
    if (reads(use.mode) && owns && !datum.there.has(on)) return true;
    return writes(use.mode) &&
           (owns || !datum.there.empty() || datum.is_written == 0 || datum.has_family != 0);
  });
}

std::span<const DatumId> Ownership::forget(DatumId id) {
  clear();
  Datum& datum = data_[id.value];
  if (datum.has_family != 0) {
    settle(id, AccessMode::W);
    outdate_relatives(id);
  }
  datum.is_written = 0;
  datum.has_left = 0;
  datum.is_from_there = 0;
  datum.there.clear();
  return stale_;
}

std::span<const DatumId> Ownership::drop_copies() {
  clear();
  for (const DatumId id : copied_) {
    Datum& datum = data_[id.value];
    datum.is_listed = 0;
    if (datum.there.empty()) continue;
    datum.there.clear();
    datum.is_from_there = 0;
    if (datum.owner != here_.value) stale_.push_back(id);
  }
  copied_.clear();
  return stale_;
}

}  // namespace vicinal::comm
