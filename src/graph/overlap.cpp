#include "graph/overlap.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::graph {

namespace {

bool empty(const Layout& layout) {
  return layout.column_bytes == 0 || layout.columns == 0;
}

bool ends_within_addresses(std::uint64_t begin, std::uint64_t steps, std::uint64_t stride,
                           std::uint64_t width) {
  std::uint64_t end = 0;
  return !__builtin_mul_overflow(steps, stride, &end) &&
         !__builtin_add_overflow(end, width, &end) && !__builtin_add_overflow(end, begin, &end);
}

}  // namespace

RegionIndex::Region RegionIndex::region(const void* address, const Layout& layout,
                                        std::string_view name) {
  Region r{.begin = reinterpret_cast<std::uintptr_t>(address),
           .width = layout.column_bytes,
           .columns = layout.columns,
           .stride = layout.columns == 1 ? layout.column_bytes : layout.stride_bytes,
           .span = 0,
           .name = name.empty() ? std::string("(unnamed)") : fmt::format("\"{}\"", name)};
  if (r.stride < r.width) {
    const std::uint64_t element = std::max<std::uint64_t>(layout.element_bytes, 1);
    throw UsageError(fmt::format(
        "leading dimension {} of {} is smaller than its rows ({}): give the distance between two "
        "columns of the whole matrix, in elements",
        r.stride / element, r.name, r.width / element));
  }
  if (!ends_within_addresses(r.begin, r.columns - 1, r.stride, r.width)) {
    throw UsageError(fmt::format(
        "{} at {:#x} ({} columns of {} bytes, {} bytes apart) goes past the end of the addresses",
        r.name, r.begin, r.columns, r.width, r.stride));
  }
  r.span = (r.columns - 1) * r.stride + r.width;
  if (r.stride == r.width) {  // contiguous: one wide column
    r.width *= r.columns;
    r.stride = r.width;
    r.columns = 1;
  }
  return r;
}

std::string RegionIndex::describe(const Region& region) {
  std::string text =
      fmt::format("{} (bytes {:#x} to {:#x}", region.name, region.begin, region.last());
  if (region.columns > 1) {
    text +=
        fmt::format(": {} columns of {}, {} apart", region.columns, region.width, region.stride);
  }
  return text + ")";
}

void RegionIndex::add(const void* address, const Layout& layout, std::string_view name) {
  if (empty(layout)) return;
  Region added = region(address, layout, name);
  if (const Region* other = find_overlap(added)) {
    throw UsageError(fmt::format(
        "{} overlaps {}, which is registered: a byte belongs to one handle; unregister that one "
        "first, or register parts that do not overlap",
        describe(added), describe(*other)));
  }
  by_span_[static_cast<std::size_t>(std::bit_width(added.span))].emplace(added.begin,
                                                                         std::move(added));
}

void RegionIndex::remove(const void* address, const Layout& layout) {
  if (empty(layout)) return;
  const Region wanted = region(address, layout, {});
  if (by_span_[static_cast<std::size_t>(std::bit_width(wanted.span))].erase(wanted.begin) == 0) {
    throw std::logic_error(
        fmt::format("graph::RegionIndex::remove: no region of {} bytes at {:#x} is registered",
                    wanted.span, wanted.begin));
  }
}

std::size_t RegionIndex::size() const {
  std::size_t count = 0;
  for (const auto& regions : by_span_) count += regions.size();
  return count;
}

const RegionIndex::Region* RegionIndex::find_overlap(const Region& region) const {
  for (std::size_t bits = 1; bits < by_span_.size(); ++bits) {
    const auto& regions = by_span_[bits];
    if (regions.empty()) continue;
    // Before this, none of the class reaches region.begin: its span is at most 2^bits - 1.
    const std::uint64_t reach = bits == 64 ? ~0ULL : (1ULL << bits) - 1;
    const std::uint64_t from = region.begin >= reach ? region.begin - reach + 1 : 0;
    for (auto i = regions.lower_bound(from); i != regions.end() && i->first <= region.last(); ++i) {
      if (i->second.last() >= region.begin && overlap(i->second, region)) return &i->second;
    }
  }
  return nullptr;
}

bool RegionIndex::overlap(const Region& a, const Region& b) {
  if (a.columns > 1 && b.columns > 1 && a.stride == b.stride) {
    return a.begin <= b.begin ? overlap_at_equal_strides(a, b) : overlap_at_equal_strides(b, a);
  }
  return a.columns <= b.columns ? overlap_by_columns(a, b) : overlap_by_columns(b, a);
}

// Holds: a.begin <= b.begin. Modulo the stride, b starts `shift` bytes after a: column j of b starts
// `shift` after column j + skip of a, and ends before column j + skip + 2 (a width is at most the
// stride). So it can meet the former's own bytes, and those of the column behind it.
bool RegionIndex::overlap_at_equal_strides(const Region& a, const Region& b) {
  const std::uint64_t skip = (b.begin - a.begin) / a.stride;
  const std::uint64_t shift = (b.begin - a.begin) % a.stride;
  const bool in_column = shift < a.width && skip < a.columns;
  const bool in_next = a.stride - shift < b.width && skip + 1 < a.columns;
  return in_column || in_next;
}

bool RegionIndex::overlap_by_columns(const Region& few, const Region& many) {
  for (std::uint64_t column = 0; column < few.columns; ++column) {
    const std::uint64_t first = few.begin + column * few.stride;
    if (meets(many, first, first + (few.width - 1))) return true;
  }
  return false;
}

// Whether one of a's columns has a byte in first..last.
bool RegionIndex::meets(const Region& a, std::uint64_t first, std::uint64_t last) {
  if (last < a.begin || first > a.last()) return false;
  // The first column that does not end before `first`.
  std::uint64_t column = 0;
  if (first > a.begin && first - a.begin >= a.width) {
    column = (first - a.begin - a.width) / a.stride + 1;
  }
  return a.begin + column * a.stride <= last;
}

}  // namespace vicinal::graph
