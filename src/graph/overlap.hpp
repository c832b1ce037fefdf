// Which bytes are registered, so that no byte is registered twice. Two tiles of one column-major
// matrix interleave without overlapping; two handles for one byte would break the dependencies.
//
// One index per space of addresses: the application's memory is one, every file another (the offset
// serves as the address). Not thread safe.
#pragma once

#include <array>
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
  // O(log n + k) for n regions, k of them with a range from first to last byte that meets the new
  // one's; each of the k is compared in O(1) if the strides are equal or one is contiguous, else in
  // O(columns).
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

  static Region region(const void* address, const Layout& layout, std::string_view name);
  static std::string describe(const Region& region);
  static bool overlap(const Region& a, const Region& b);
  static bool overlap_at_equal_strides(const Region& a, const Region& b);
  static bool overlap_by_columns(const Region& few, const Region& many);
  static bool meets(const Region& a, std::uint64_t first, std::uint64_t last);
  const Region* find_overlap(const Region& region) const;

  // by_span_[c] holds the regions whose span has c significant bits, by first byte (unique: a byte
  // is registered once). So a region of class c that reaches beyond x starts less than 2^c before x,
  // and a large region is not in the way of the search among small ones.
  std::array<std::map<std::uint64_t, Region>, 65> by_span_;
};

}  // namespace vicinal::graph
