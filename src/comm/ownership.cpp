#include "comm/ownership.hpp"

namespace vicinal::comm {

DatumId Ownership::add(RankId owner, bool written) {
  const DatumId id{static_cast<std::uint32_t>(data_.size())};
  data_.push_back({.owner = owner.value & 0x7fffffffU, .version = written ? 1U : 0U, .there = {}});
  return id;
}

bool Ownership::has(DatumId datum) const {
  return is_here(data_[datum.value]);
}

RankId Ownership::place(std::span<const Use> uses) const {
  bool any_writes = false;
  RankId first{};
  bool is_unanimous = true;
  const auto is_candidate = [&](const Use& use) { return writes(use.mode) == any_writes; };
  for (const Use& use : uses) any_writes |= writes(use.mode);
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
    std::uint64_t bytes = 0;
    for (const Use& use : uses) {
      if (reads(use.mode) && owner(use.datum) != rank) bytes += bytes_of_(use.datum).value;
    }
    if (bytes < least || (bytes == least && rank < best)) {
      least = bytes;
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

// The owner knows all ranks with a copy, another rank knows of itself: `there` answers both in the same way.
void Ownership::read(DatumId id, RankId on) {
  Datum& datum = data_[id.value];
  const bool owns = datum.owner == here_.value;
  if (on.value == datum.owner || (!owns && on != here_) || datum.there.has(on)) return;
  note_copy(id, datum, on);
  before_.push_back({id, datum.version, {datum.owner}, on});
}

void Ownership::write(DatumId id, RankId on) {
  Datum& datum = data_[id.value];
  ++datum.version;
  const bool owns = datum.owner == here_.value;
  const bool was_here = !owns && !datum.there.empty();
  datum.there.clear();
  if (was_here && on != here_) stale_.push_back(id);
  if (on.value == datum.owner || (!owns && on != here_)) return;
  note_copy(id, datum, on);
  after_.push_back({id, datum.version, on, {datum.owner}});
}

void Ownership::clear() {
  before_.clear();
  after_.clear();
  stale_.clear();
}

Ownership::Effects Ownership::run(std::span<const Use> uses, RankId on) {
  clear();
  for (const Use& use : uses) {
    if (reads(use.mode)) read(use.datum, on);
  }
  for (const Use& use : uses) {
    if (writes(use.mode)) write(use.datum, on);
  }
  return {before_, after_, stale_};
}

Ownership::Effects Ownership::run_everywhere(DatumId id, AccessMode mode) {
  clear();
  Datum& datum = data_[id.value];
  const bool owns = datum.owner == here_.value;
  const auto each_reader = [&](const auto& visit) {
    for (std::uint32_t rank = owns ? 0 : here_.value; rank < (owns ? ranks_ : here_.value + 1); ++rank) {
      if (rank != datum.owner) visit(RankId{rank});
    }
  };
  if (reads(mode)) each_reader([&](RankId rank) { read(id, rank); });
  if (writes(mode)) {
    ++datum.version;
    each_reader([&](RankId rank) {
      if (!datum.there.has(rank)) note_copy(id, datum, rank);
    });
  }
  return {before_, after_, stale_};
}

void Ownership::forget(DatumId id) {
  Datum& datum = data_[id.value];
  datum.version = 0;
  datum.there.clear();
}

std::span<const DatumId> Ownership::drop_copies() {
  clear();
  for (const DatumId id : copied_) {
    Datum& datum = data_[id.value];
    datum.is_listed = 0;
    if (datum.there.empty()) continue;
    datum.there.clear();
    if (datum.owner != here_.value) stale_.push_back(id);
  }
  copied_.clear();
  return stale_;
}

}  // namespace vicinal::comm
