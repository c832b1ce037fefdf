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
  blocks_.push_back({.size = capacity_});
  holes_.insert(hole(1));
}

// The block keeps `size`; behind it is a hole.
void Arena::split(std::uint32_t number, Bytes size) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(blocks_.size()));
    blocks_.emplace_back();
  }
  const std::uint32_t rest = free_.back();
  free_.pop_back();
  Block& block = blocks_[number];
  blocks_[rest] = {.offset = block.offset + size.value,
                   .size = block.size - size,
                   .before = number,
                   .after = block.after};
  if (block.after != kNone) blocks_[block.after].before = rest;
  block.after = rest;
  block.size = size;
  holes_.insert(hole(rest));
}

// `after` becomes a part of the block before it.
void Arena::join(std::uint32_t number, std::uint32_t after) {
  Block& block = blocks_[number];
  block.size += blocks_[after].size;
  block.after = blocks_[after].after;
  if (block.after != kNone) blocks_[block.after].before = number;
  blocks_[after] = {};
  free_.push_back(after);
}

void Arena::check_padded(Bytes size) const {
  if (size.value % kGranularity.value != 0) {
    throw broken(std::to_string(size.value) + " bytes are no multiple of " +
                 std::to_string(kGranularity.value));
  }
}

std::optional<ArenaSlot> Arena::allocate(Bytes padded) {
  check_padded(padded);
  if (padded == Bytes{0}) return ArenaSlot{};
  const auto best = holes_.lower_bound(Hole{.size = padded});
  if (best == holes_.end()) return std::nullopt;
  const Hole taken = *best;
  holes_.erase(best);
  if (taken.size > padded) split(taken.block, padded);
  blocks_[taken.block].used = true;
  used_ += padded;
  peak_ = std::max(peak_, used_);
  return ArenaSlot{taken.offset, taken.block};
}

void Arena::free(std::uint32_t block, Bytes padded) {
  check_padded(padded);
  if (padded == Bytes{0}) return;
  if (block >= blocks_.size() || !blocks_[block].used || blocks_[block].size != padded) {
    std::string found = "there is no such block";
    if (block < blocks_.size() && blocks_[block].size != Bytes{0}) {
      found = std::string(blocks_[block].used ? "it" : "it is a hole and") + " has " +
              std::to_string(blocks_[block].size.value) + " bytes";
    }
    throw broken("free(block " + std::to_string(block) + ", " + std::to_string(padded.value) +
                 " bytes): " + found);
  }
  used_ -= padded;
  blocks_[block].used = false;
  const std::uint32_t after = blocks_[block].after;
  if (after != kNone && !blocks_[after].used) {
    holes_.erase(hole(after));
    join(block, after);
  }
  const std::uint32_t before = blocks_[block].before;
  if (before != kNone && !blocks_[before].used) {
    holes_.erase(hole(before));
    join(before, block);
    block = before;
  }
  holes_.insert(hole(block));
}

}  // namespace vicinal::memory
