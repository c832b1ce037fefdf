// Which bytes are registered, so that no byte is registered twice. Two tiles of one column-major
// matrix interleave without overlapping; two handles for one byte would break the dependencies.
//
// One index per space of addresses: the application's memory is one, every file another (the offset
// serves as the address). Not thread safe.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "vicinal/data.hpp"

namespace vicinal::graph {

class RegionIndex {
 public:
  // Throws UsageError, and registers nothing, if one of the bytes is registered (both regions are
  // named), if the columns overlap each other (a leading dimension smaller than the rows), or if
  // the region goes past the end of the address space. An empty region overlaps nothing.
  //
  // O(log n) for n regions if those whose ranges meet the new one's have its stride, as the tiles of a matrix have, or
  // are contiguous; of sizes that differ much the larger one pays for the rows of smaller ones beside it. Regions of
  // another stride cost a search for each column.
  void add(const void* address, const Layout& layout, std::string_view name);
  // The same address and layout as at add. The layout tells an empty region, of which nothing is
  // kept, from another one that starts at its address. Throws std::logic_error if it is not there.
  void remove(const void* address, const Layout& layout);

  std::size_t size() const;  // regions kept, so without empty ones

 private:
  // `columns` times `width` bytes, `stride` apart; one column has stride == width.
  struct Region {
    std::uint64_t begin = 0;
    std::uint64_t width = 0;
    std::uint64_t columns = 0;
    std::uint64_t stride = 0;
    std::uint64_t span = 0;  // from the first byte to the last
    std::string name;
    std::uint64_t last() const { return begin + (span - 1); }
  };

  // Of the plane that addresses are when a stride is one column of it: rows `row` and on, columns `column` and on.
  struct Rectangle {
    std::uint64_t row = 0;
    std::uint64_t column = 0;
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
  };
  // A region of a group is one rectangle, or two where its columns pass the end of one of the plane. Rectangles lie in
  // layers by size, rows and columns to a power of two, and there by the cell of that size that holds their corner. So a
  // rectangle that meets a region has its corner in a cell of the region, or in a cell before; and a cell of a layer
  // holds few rectangles.
  struct Corner {
    std::uint8_t row_bits = 0;
    std::uint8_t column_bits = 0;
    std::uint64_t column_cell = 0;
    std::uint64_t row_cell = 0;
    std::uint64_t column = 0;
    std::uint64_t row = 0;
    friend auto operator<=>(const Corner&, const Corner&) = default;
  };
  struct Placed {
    Rectangle rectangle;
    const Region* region = nullptr;
  };
  // Regions of one stride whose ranges meet, one the next.
  struct Group {
    std::uint64_t stride = 0;
    std::uint64_t first = 0;  // no byte lies before or behind; they stay where regions are removed
    std::uint64_t last = 0;
    std::map<std::uint64_t, Region> regions = {};  // by first byte
    std::map<Corner, Placed> placed = {};

    void take(Region region);
    void erase(std::map<std::uint64_t, Region>::iterator region);
    const Region* meets(const Rectangle& rectangle) const;
    const Region* meets(std::uint64_t first_byte, std::uint64_t last_byte) const;
    const Region* meets(const Region& other) const;
  };
  using Groups = std::multimap<std::uint64_t, Group>;  // by first byte

  static Region region(const void* address, const Layout& layout, std::string_view name);
  static std::string describe(const Region& region);
  static bool overlap(const Region& a, const Region& b);
  static bool overlap_at_equal_strides(const Region& a, const Region& b);
  static bool overlap_by_columns(const Region& few, const Region& many);
  static bool meets(const Region& a, std::uint64_t first, std::uint64_t last);
  static Corner corner_of(const Rectangle& rectangle);
  template <typename Use>
  static void for_each_rectangle(const Region& region, const Use& use);
  // Stops at the first for which `use` is true.
  template <typename Use>
  bool any_group(const Region& meeting, const Use& use);
  const Region* find_contiguous(std::uint64_t first_byte, std::uint64_t last_byte) const;
  const Region* find_contiguous(const Region& region) const;
  const Region* find_overlap(const Region& region);
  void add_strided(Region added);

  std::map<std::uint64_t, Region> contiguous_;  // by first byte; they are disjoint
  // groups_[c] holds the groups whose range has c significant bits: one of class c that reaches beyond x starts less than
  // 2^c before x, and a large one is not in the way of the search among small ones.
  std::array<Groups, 65> groups_;
};

}  // namespace vicinal::graph
