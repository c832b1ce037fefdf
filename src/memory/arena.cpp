#include "memory/arena.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace vicinal::memory {

namespace {

std::logic_error broken(const std::string& what) {
  return std::logic_error("memory::Arena: " + what);
}

}  // namespace

Bytes Arena::padded(Bytes size) {
  const std::uint64_t mask = kGranularity.value - 1;
  if (size.value > ~mask) return {~mask};  // would wrap to nothing; fits no arena either way
  return {(size.value + mask) & ~mask};
}

Arena::Arena(Bytes capacity) : capacity_{capacity.value & ~(kGranularity.value - 1)} {
  if (capacity_ == Bytes{0}) return;
  add_hole(0, capacity_, nullptr, nullptr);
}

void Arena::add_hole(std::uint64_t offset, Bytes size, Block* before, Block* after) {
  Block& hole = blocks_[offset];
  hole = {.offset = offset, .size = size, .before = before, .after = after};
  if (before != nullptr) before->after = &hole;
  if (after != nullptr) after->before = &hole;
  holes_.emplace(size, offset);
}

// `after` becomes a part of the block before it.
void Arena::join(Block& block, Block& after) {
  block.size += after.size;
  block.after = after.after;
  if (block.after != nullptr) block.after->before = &block;
  blocks_.erase(after.offset);
}

void Arena::check_padded(Bytes size) const {
  if (size.value % kGranularity.value != 0) {
    throw broken(std::to_string(size.value) + " bytes are no multiple of " +
                 std::to_string(kGranularity.value));
  }
}

std::optional<std::uint64_t> Arena::allocate(Bytes padded) {
  check_padded(padded);
  if (padded == Bytes{0}) return 0;
  const auto best = holes_.lower_bound(Hole{padded, 0});
  if (best == holes_.end()) return std::nullopt;
  const auto [size, offset] = *best;
  holes_.erase(best);
  Block& block = blocks_.find(offset)->second;
  block.size = padded;
  block.used = true;
  if (size > padded) add_hole(offset + padded.value, size - padded, &block, block.after);
  used_ += padded;
  peak_ = std::max(peak_, used_);
  return offset;
}

void Arena::free(std::uint64_t offset, Bytes padded) {
  check_padded(padded);
  if (padded == Bytes{0}) return;
  const auto at = blocks_.find(offset);
  if (at == blocks_.end() || !at->second.used || at->second.size != padded) {
    std::string found = "no block starts there";
    if (at != blocks_.end()) {
      found = std::string(at->second.used ? "a block" : "a hole") + " of " +
              std::to_string(at->second.size.value) + " bytes starts there";
    }
    throw broken("free(offset " + std::to_string(offset) + ", " + std::to_string(padded.value) +
                 " bytes): " + found);
  }
  used_ -= padded;
  Block* hole = &at->second;
  hole->used = false;
  if (Block* const after = hole->after; after != nullptr && !after->used) {
    holes_.erase(Hole{after->size, after->offset});
    join(*hole, *after);
  }
  if (Block* const before = hole->before; before != nullptr && !before->used) {
    holes_.erase(Hole{before->size, before->offset});
    join(*before, *hole);
    hole = before;
  }
  holes_.emplace(hole->size, hole->offset);
}

Bytes Arena::largest_hole() const {
  return holes_.empty() ? Bytes{0} : holes_.rbegin()->first;
}

// Best fit chooses by size, and allocating never joins holes: so it is enough to follow the sizes.
bool Arena::fits(std::span<const Bytes> sizes) const {
  Bytes sum;
  for (const Bytes size : sizes) {
    check_padded(size);
    if (size > capacity_ || (sum += size) > capacity_) return false;
  }
  if (sum > capacity_ - used_) return false;
  if (sum <= largest_hole()) return true;
  taken_.clear();
  remains_.clear();
  for (const Bytes size : sizes) {
    if (size == Bytes{0}) continue;
    auto hole = holes_.lower_bound(Hole{size, 0});
    while (hole != holes_.end() && std::find(taken_.begin(), taken_.end(), *hole) != taken_.end()) {
      ++hole;
    }
    auto remain = remains_.end();
    for (auto r = remains_.begin(); r != remains_.end(); ++r) {
      if (*r >= size && (remain == remains_.end() || *r < *remain)) remain = r;
    }
    if (remain != remains_.end() && (hole == holes_.end() || *remain <= hole->first)) {
      *remain -= size;
    } else if (hole != holes_.end()) {
      taken_.push_back(*hole);
      remains_.push_back(hole->first - size);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace vicinal::memory
