#include "memory/arena.hpp"

#include <algorithm>
#include <iterator>
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
  blocks_.emplace(0, Block{capacity_, false});
  holes_.emplace(capacity_, 0);
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
  blocks_.find(offset)->second = Block{padded, true};
  if (size > padded) {
    const std::uint64_t rest = offset + padded.value;
    blocks_.emplace(rest, Block{size - padded, false});
    holes_.emplace(size - padded, rest);
  }
  used_ += padded;
  peak_ = std::max(peak_, used_);
  return offset;
}

void Arena::free(std::uint64_t offset, Bytes padded) {
  check_padded(padded);
  if (padded == Bytes{0}) return;
  auto block = blocks_.find(offset);
  if (block == blocks_.end() || !block->second.used || block->second.size != padded) {
    std::string found = "no block starts there";
    if (block != blocks_.end()) {
      found = std::string(block->second.used ? "a block" : "a hole") + " of " +
              std::to_string(block->second.size.value) + " bytes starts there";
    }
    throw broken("free(offset " + std::to_string(offset) + ", " + std::to_string(padded.value) +
                 " bytes): " + found);
  }
  used_ -= padded;
  block->second.used = false;
  if (const auto after = std::next(block); is_hole(after)) {
    holes_.erase(Hole{after->second.size, after->first});
    block->second.size += after->second.size;
    blocks_.erase(after);
  }
  if (block != blocks_.begin() && is_hole(std::prev(block))) {
    const auto before = std::prev(block);
    holes_.erase(Hole{before->second.size, before->first});
    before->second.size += block->second.size;
    blocks_.erase(block);
    block = before;
  }
  holes_.emplace(block->second.size, block->first);
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
