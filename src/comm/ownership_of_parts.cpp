// What Ownership knows of data in parts. The states are those of engine/kinds/partition.cpp, which does on the owner what
// is only noted here, for all ranks.
#include <algorithm>

#include "comm/ownership.hpp"

namespace vicinal::comm {

const Ownership::Family* Ownership::family(DatumId id) const {
  const auto found = families_.find(id.value);
  return found != families_.end() ? &found->second : nullptr;
}
Ownership::Family* Ownership::family(DatumId id) {
  const auto found = families_.find(id.value);
  return found != families_.end() ? &found->second : nullptr;
}

bool Ownership::is_part(DatumId id) const {
  const Family* const its = family(id);
  return its != nullptr && its->of != nullptr;
}

bool Ownership::is_read_only(DatumId id) const {
  for (const Family* its = family(id); its != nullptr && its->of != nullptr;
       its = family(its->of->whole)) {
    if (!its->of->writable) return true;
  }
  return false;
}

bool Ownership::is_within(DatumId part, DatumId whole) const {
  for (const Family* its = family(part); its != nullptr && its->of != nullptr;
       its = family(its->of->whole)) {
    if (its->of->whole == whole) return true;
  }
  return false;
}

// --- made and taken back

DatumId Ownership::divide(DatumId whole, std::span<const Bytes> parts, bool writable) {
  const DatumId first{static_cast<std::uint32_t>(data_.size())};
  auto division = std::make_unique<Division>();
  *division = {whole, first, static_cast<std::uint32_t>(parts.size()), writable, Holds::whole};
  for (const Bytes bytes : parts) {
    const DatumId part = add(owner(whole), bytes, false);
    data_[part.value].has_family = 1;
    families_[part.value].of = division.get();
  }
  data_[whole.value].has_family = 1;
  families_[whole.value].divided.push_back(std::move(division));
  return first;
}

void Ownership::mark_gone(DatumId id) {
  Datum& datum = data_[id.value];
  datum.is_gone = 1;
  datum.is_written = 0;
  datum.has_family = 0;
  datum.there.clear();
  families_.erase(id.value);
}

void Ownership::remove_parts(const Division& division) {
  for (std::uint32_t i = 0; i < division.count; ++i) {
    const DatumId part{division.first.value + i};
    for (const auto& inner : family(part)->divided) remove_parts(*inner);
    mark_gone(part);
    gone_.push_back(part);
  }
}

std::span<const DatumId> Ownership::join(DatumId part) {
  clear();
  const Division& division = *family(part)->of;
  const DatumId whole = division.whole;
  close(*family(part)->of, AccessMode::RW);
  remove_parts(division);
  std::erase_if(family(whole)->divided, [&](const auto& one) { return one.get() == &division; });
  return gone_;
}

std::span<const DatumId> Ownership::remove(DatumId id) {
  clear();
  if (const Family* const its = family(id)) {
    for (const auto& division : its->divided) remove_parts(*division);
  }
  mark_gone(id);
  return gone_;
}

// --- where the content is

bool Ownership::is_written_above(DatumId id) const {
  const Family* its = family(id);
  while (its != nullptr && its->of != nullptr && its->of->holds == Holds::whole) {
    id = its->of->whole;
    its = family(id);
  }
  return data_[id.value].is_written != 0;
}

std::optional<DatumId> Ownership::unwritten_below(DatumId id) const {
  bool in_parts = false;
  if (const Family* const its = family(id)) {
    for (const auto& division : its->divided) {
      if (division->holds != Holds::parts) continue;
      in_parts = true;
      for (std::uint32_t i = 0; i < division->count; ++i) {
        if (const auto part = unwritten_below({division->first.value + i})) return part;
      }
    }
  }
  return in_parts || data_[id.value].is_written != 0 ? std::nullopt : std::optional(id);
}

std::optional<DatumId> Ownership::unwritten_in_family(DatumId id) const {
  const Family* const its = family(id);
  if (its == nullptr || its->of == nullptr || its->of->holds != Holds::whole)
    return unwritten_below(id);
  return is_written_above(id) ? std::nullopt : std::optional(id);
}

// It is to be accessed.
void Ownership::settle(DatumId id, AccessMode mode) {
  Family* const its = family(id);
  if (its == nullptr) return;
  if (its->of != nullptr) open(*its->of, writes(mode));
  close_all(id, mode);
}

// A part of it is to be accessed.
void Ownership::open(Division& division, bool writes) {
  Family* const above = family(division.whole);
  if (above->of != nullptr) open(*above->of, writes);
  if (division.holds == Holds::whole) {
    for (std::uint32_t i = 0; i < division.count; ++i) {
      data_[division.first.value + i].is_written = data_[division.whole.value].is_written;
    }
    division.holds = Holds::both;
  }
  if (writes) division.holds = Holds::parts;
}

void Ownership::close_all(DatumId id, AccessMode mode) {
  Family* const its = family(id);
  if (its == nullptr) return;
  for (const auto& division : its->divided) close(*division, mode);
}

// The whole is to be accessed.
void Ownership::close(Division& division, AccessMode mode) {
  if (division.holds == Holds::whole || (division.holds == Holds::both && !writes(mode))) return;
  bool all_written = true;
  for (std::uint32_t i = 0; i < division.count; ++i) {
    const DatumId part{division.first.value + i};
    close_all(part, mode);
    all_written &= data_[part.value].is_written != 0;
  }
  if (division.holds == Holds::parts && reads(mode)) {
    data_[division.whole.value].is_written = all_written ? 1U : 0U;
  }
  division.holds = writes(mode) ? Holds::whole : Holds::both;
}

// --- copies that end

void Ownership::outdate(DatumId id) {
  Datum& datum = data_[id.value];
  if (datum.owner != here_.value && !datum.there.empty()) stale_.push_back(id);
  datum.there.clear();
  datum.has_left = 0;
  datum.is_from_there = 0;
}

void Ownership::outdate_below(DatumId id) {
  const Family* const its = family(id);
  if (its == nullptr) return;
  for (const auto& division : its->divided) {
    for (std::uint32_t i = 0; i < division->count; ++i) {
      outdate({division->first.value + i});
      outdate_below({division->first.value + i});
    }
  }
}

void Ownership::outdate_relatives(DatumId id) {
  outdate_below(id);
  for (const Family* its = family(id); its != nullptr && its->of != nullptr;
       its = family(its->of->whole)) {
    outdate(its->of->whole);
  }
}

}  // namespace vicinal::comm
