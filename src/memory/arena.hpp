// Places the replicas of one memory node in a contiguous range of addresses.
//
// Best fit, lowest offset on ties, neighbours coalesced: the same calls give the same offsets.
// To allocate and to free cost O(log n) for n holes; a block is found by its offset at once, its
// neighbours by links. Nodes of the tables come from a pool, so that a run which frees and takes blocks
// again stops asking the system for memory.
//
// Not thread safe: the memory node's lock is held around every call, the const ones included.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vicinal/units.hpp"

namespace vicinal::memory {

class Arena {
 public:
  // Direct I/O asks for offsets, sizes and addresses that are multiples of this.
  static constexpr Bytes kGranularity{4096};
  // What `size` takes in an arena: rounded up to the granularity. Empty data take nothing.
  static Bytes padded(Bytes size);

  // A capacity that is no multiple of the granularity is rounded down.
  explicit Arena(Bytes capacity);

  // The offset of a block, or nothing if no hole is large enough. Empty data get offset 0 and no
  // block. Throws std::logic_error if the size is not padded.
  std::optional<std::uint64_t> allocate(Bytes padded);
  // Takes what allocate gave and was given. Throws std::logic_error, with the values, for anything
  // else: a block freed twice, a wrong size, an offset inside a block.
  void free(std::uint64_t offset, Bytes padded);

  // Whether allocate would succeed for each of these (padded) sizes in turn. A larger size first
  // finds room more often than a smaller one first. O(k (log n + k)) for k sizes.
  bool fits(std::span<const Bytes> sizes) const;

  Bytes capacity() const { return capacity_; }
  Bytes used() const { return used_; }
  // Most bytes used at once since the start or the last reset.
  Bytes peak() const { return peak_; }
  void reset_peak() { peak_ = used_; }
  Bytes largest_hole() const;

 private:
  struct Block {
    std::uint64_t offset = 0;
    Bytes size;
    bool used = false;
    Block* before = nullptr;  // its neighbours
    Block* after = nullptr;
  };
  using Hole = std::pair<Bytes, std::uint64_t>;  // size, offset: the order of best fit

  void add_hole(std::uint64_t offset, Bytes size, Block* before, Block* after);
  void join(Block& block, Block& after);
  void check_padded(Bytes size) const;

  Bytes capacity_;
  Bytes used_;
  Bytes peak_;
  std::pmr::unsynchronized_pool_resource pool_;
  // By offset; they cover 0..capacity without gap.
  std::pmr::unordered_map<std::uint64_t, Block> blocks_{&pool_};
  std::pmr::set<Hole> holes_{&pool_};  // those of blocks_ that are not used; no two are adjacent
  // Scratch of fits: holes it has taken, and what remains of them.
  mutable std::vector<Hole> taken_;
  mutable std::vector<Bytes> remains_;
};

}  // namespace vicinal::memory
