// Places the replicas of one memory node in a contiguous range of addresses.
//
// Best fit, lowest offset on ties, neighbours coalesced: the same calls give the same offsets.
// To allocate and to free cost O(log n) for n holes. Blocks have numbers: a block is found by its number,
// its neighbours by links, and all of them lie side by side, so that what is freed after a long time is
// not looked for in lines from memory. Numbers and nodes of the set are used again, so that a run which
// frees and takes blocks again stops asking the system for memory.
//
// Not thread safe: the memory node's lock is held around every call, the const ones included.
#pragma once

#include <compare>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <set>

#include "base/sure_memory.hpp"
#include "vicinal/units.hpp"

namespace vicinal::memory {

// What an allocation has been given.
struct ArenaSlot {
  std::uint64_t offset = 0;
  std::uint32_t block = 0;  // its number
};

class Arena {
 public:
  // Direct I/O asks for offsets, sizes and addresses that are multiples of this.
  static constexpr Bytes kGranularity{4096};
  // What `size` takes in an arena: rounded up to the granularity. Empty data take nothing.
  static Bytes padded(Bytes size);

  // A capacity that is no multiple of the granularity is rounded down.
  explicit Arena(Bytes capacity);

  // Nothing if no hole is large enough. Empty data get offset 0 and no block: number 0. Throws
  // std::logic_error if the size is not padded.
  std::optional<ArenaSlot> allocate(Bytes padded);
  // Takes the number that allocate gave, and the size that it was given. Throws std::logic_error, with the
  // values, for anything else: a block freed twice, a wrong size, a number that it did not give.
  void free(std::uint32_t block, Bytes padded);

  Bytes capacity() const { return capacity_; }
  Bytes used() const { return used_; }
  // Most bytes used at once since the start.
  Bytes peak() const { return peak_; }

 private:
  struct Block {
    std::uint64_t offset = 0;
    Bytes size;
    std::uint32_t before = kNone;  // its neighbours
    std::uint32_t after = kNone;
    bool used = false;
  };
  // The order of best fit.
  struct Hole {
    Bytes size;
    std::uint64_t offset = 0;
    std::uint32_t block = 0;
    auto operator<=>(const Hole&) const = default;
  };
  static constexpr std::uint32_t kNone = 0;

  Hole hole(std::uint32_t number) const {
    return {blocks_[number].size, blocks_[number].offset, number};
  }
  void split(std::uint32_t number, Bytes size);
  void join(std::uint32_t number, std::uint32_t after);
  void check_padded(Bytes size) const;

  Bytes capacity_;
  Bytes used_;
  Bytes peak_;
  base::SureVector<Block> blocks_{1};     // by number; they cover 0..capacity without gap; 0: none
  base::SureVector<std::uint32_t> free_;  // numbers that no block has
  std::pmr::unsynchronized_pool_resource pool_{base::sure_resource()};
  std::pmr::set<Hole> holes_{&pool_};  // of the blocks that are not used; no two are adjacent
};

}  // namespace vicinal::memory
