// Handles in parts: who is a part of what, and where the content is, as the tasks submitted so far leave it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/handle.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/partition.hpp"

namespace vicinal::graph {

// Throws UsageError that names handle and part: no parts or too many, one that goes beyond the whole, two that
// overlap.
void check_division(const Division& division, const Layout& whole, const std::string& name);
// Of a part, from the first byte of a replica of the whole with this layout.
std::uint64_t offset_of(const Block& block, const Layout& layout);
// The layout of the part where it lies inside the whole.
Layout layout_of(const Block& block, const Layout& whole);

// Who has the content of the bytes that are in both.
enum class Holds : std::uint8_t {
  whole,  // the parts are stale
  both,   // all may be read
  parts,  // the whole is stale
};

struct Family;

// The application divides a handle in one way. Partitions of one handle overlap only where all of them are read.
struct Partition {
  Handle* whole = nullptr;
  std::vector<Handle*> parts;
  std::vector<std::uint32_t> lives;  // of the parts
  std::vector<Block> blocks;
  bool writable = true;
  // In RAM the parts lie inside the home of the whole: nothing is copied where the content is there.
  bool inside = false;
  // Of a recursive task, which holds the whole while it is divided: that is not looked at.
  bool held = false;
  bool leaves = false;  // it is being taken back, whatever its parts hold
  Holds holds = Holds::whole;
  // Copies between whole and part, where the parts have room of their own.
  Codelet split;
  Codelet join;
};

// Throws UsageError that names both parts if a part of the division overlaps one of `other`.
void check_apart(const Division& division, const Partition& other);
// The same of blocks of a whole; `name_of`: of one of them.
void check_apart(const Division& division, const std::string& whole, std::span<const Block> others,
                 const std::function<std::string(std::size_t)>& name_of);
// "A[3]"; of a grid "A[row,column]".
std::string name_of_part(const std::string& whole, std::size_t part, std::size_t parts,
                         std::size_t grid_rows);

// What a handle has to do with partitions. Owned by whoever made them; changes under that one's lock.
struct Family {
  Partition* of = nullptr;  // it is one of its parts
  std::vector<Partition*> divided;
  // Partitions of the handle that are not forgotten, also those taken back and those of recursive tasks: their parts
  // lead to the handle.
  std::size_t known = 0;
};

inline bool is_part(const Handle& handle) {
  const Family* const family = handle.family.load(std::memory_order_acquire);
  return family != nullptr && family->of != nullptr;
}

}  // namespace vicinal::graph
