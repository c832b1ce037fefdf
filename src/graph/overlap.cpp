#include "graph/overlap.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
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
  if (added.columns > 1) return add_strided(std::move(added));
  contiguous_.emplace(added.begin, std::move(added));
}

void RegionIndex::remove(const void* address, const Layout& layout) {
  if (empty(layout)) return;
  const Region wanted = region(address, layout, {});
  if (wanted.columns == 1 && contiguous_.erase(wanted.begin) > 0) return;
  const bool found = any_group(wanted, [&](Groups& groups, Groups::iterator at) {
    Group& group = at->second;
    const auto there = group.regions.find(wanted.begin);
    if (group.stride != wanted.stride || there == group.regions.end()) return false;
    group.erase(there);
    if (group.regions.empty()) groups.erase(at);
    return true;
  });
  if (!found) {
    throw std::logic_error(
        fmt::format("graph::RegionIndex::remove: no region of {} bytes at {:#x} is registered",
                    wanted.span, wanted.begin));
  }
}

std::size_t RegionIndex::size() const {
  std::size_t count = contiguous_.size();
  for (const Groups& groups : groups_) {
    for (const auto& [first, group] : groups) count += group.regions.size();
  }
  return count;
}

template <typename Use>
bool RegionIndex::any_group(const Region& meeting, const Use& use) {
  for (std::size_t bits = 1; bits < groups_.size(); ++bits) {
    Groups& groups = groups_[bits];
    if (groups.empty()) continue;
    // Before this, none of the class reaches meeting.begin: its range is at most 2^bits - 1.
    const std::uint64_t reach = bits == 64 ? ~0ULL : (1ULL << bits) - 1;
    const std::uint64_t from = meeting.begin >= reach ? meeting.begin - reach + 1 : 0;
    auto at = groups.lower_bound(from);
    while (at != groups.end() && at->first <= meeting.last()) {
      const auto next = std::next(at);
      if (at->second.last >= meeting.begin && use(groups, at)) return true;
      at = next;
    }
  }
  return false;
}

const RegionIndex::Region* RegionIndex::find_overlap(const Region& region) {
  if (const Region* other = find_contiguous(region)) return other;
  const Region* found = nullptr;
  any_group(region, [&](Groups& /*groups*/, Groups::iterator at) {
    found = at->second.meets(region);
    return found != nullptr;
  });
  return found;
}

const RegionIndex::Region* RegionIndex::find_contiguous(std::uint64_t first_byte,
                                                        std::uint64_t last_byte) const {
  auto behind = contiguous_.upper_bound(last_byte);
  if (behind == contiguous_.begin()) return nullptr;
  const Region& before = std::prev(behind)->second;
  return before.last() >= first_byte ? &before : nullptr;
}

// Those between its columns are looked at one by one, or the columns are, whichever are fewer.
const RegionIndex::Region* RegionIndex::find_contiguous(const Region& region) const {
  const Region* other = find_contiguous(region.begin, region.last());
  if (other == nullptr || region.columns == 1) return other;
  auto at = contiguous_.find(other->begin);
  for (std::uint64_t looked_at = 0; looked_at < region.columns; ++looked_at) {
    if (at->second.last() < region.begin) return nullptr;
    if (overlap(at->second, region)) return &at->second;
    if (at == contiguous_.begin()) return nullptr;
    --at;
  }
  for (std::uint64_t column = 0; column < region.columns; ++column) {
    const std::uint64_t first = region.begin + column * region.stride;
    if ((other = find_contiguous(first, first + (region.width - 1))) != nullptr) return other;
  }
  return nullptr;
}

// The added region joins all groups of its stride that it meets: the largest group takes the others in.
void RegionIndex::add_strided(Region added) {
  Groups::node_type joined;
  std::uint64_t first = added.begin;
  std::uint64_t last = added.last();
  any_group(added, [&](Groups& groups, Groups::iterator at) {
    if (at->second.stride != added.stride) return false;
    first = std::min(first, at->second.first);
    last = std::max(last, at->second.last);
    Groups::node_type other = groups.extract(at);
    if (joined.empty()) {
      joined = std::move(other);
      return false;
    }
    if (joined.mapped().regions.size() < other.mapped().regions.size()) joined.swap(other);
    joined.mapped().regions.merge(other.mapped().regions);
    joined.mapped().placed.merge(other.mapped().placed);
    return false;
  });
  if (joined.empty()) {
    Groups one;
    joined = one.extract(one.emplace(first, Group{.stride = added.stride}));
  }
  joined.key() = first;
  joined.mapped().first = first;
  joined.mapped().last = last;
  const auto at =
      groups_[static_cast<std::size_t>(std::bit_width(last - first + 1))].insert(std::move(joined));
  at->second.take(std::move(added));
}

// --- a group

RegionIndex::Corner RegionIndex::corner_of(const Rectangle& rectangle) {
  const auto row_bits = static_cast<std::uint8_t>(std::bit_width(rectangle.rows - 1));
  const auto column_bits = static_cast<std::uint8_t>(std::bit_width(rectangle.columns - 1));
  return {.row_bits = row_bits,
          .column_bits = column_bits,
          .column_cell = rectangle.column >> column_bits,
          .row_cell = rectangle.row >> row_bits,
          .column = rectangle.column,
          .row = rectangle.row};
}

template <typename Use>
void RegionIndex::for_each_rectangle(const Region& region, const Use& use) {
  const std::uint64_t column = region.begin / region.stride;
  const std::uint64_t row = region.begin % region.stride;
  const std::uint64_t rows = std::min(region.width, region.stride - row);
  use(Rectangle{row, column, rows, region.columns});
  if (rows < region.width) use(Rectangle{0, column + 1, region.width - rows, region.columns});
}

void RegionIndex::Group::take(Region region) {
  const std::uint64_t begin = region.begin;
  const Region& kept = regions.emplace(begin, std::move(region)).first->second;
  for_each_rectangle(kept, [&](const Rectangle& rectangle) {
    placed.emplace(corner_of(rectangle), Placed{rectangle, &kept});
  });
}

void RegionIndex::Group::erase(std::map<std::uint64_t, Region>::iterator region) {
  for_each_rectangle(region->second,
                     [&](const Rectangle& rectangle) { placed.erase(corner_of(rectangle)); });
  regions.erase(region);
}

// Layer by layer, and of each the columns of cells in which there is something.
const RegionIndex::Region* RegionIndex::Group::meets(const Rectangle& rectangle) const {
  const auto meet = [](std::uint64_t a, std::uint64_t size_a, std::uint64_t b,
                       std::uint64_t size_b) { return a < b + size_b && b < a + size_a; };
  const auto before = [](std::uint64_t cell) { return cell > 0 ? cell - 1 : 0; };
  for (auto at = placed.begin(); at != placed.end();) {
    const std::uint8_t row_bits = at->first.row_bits;
    const std::uint8_t column_bits = at->first.column_bits;
    const std::uint64_t first_row = before(rectangle.row >> row_bits);
    const std::uint64_t last_row = (rectangle.row + rectangle.rows - 1) >> row_bits;
    const std::uint64_t last_column = (rectangle.column + rectangle.columns - 1) >> column_bits;
    const auto is_here = [&](const auto& place) {
      return place != placed.end() && place->first.row_bits == row_bits &&
             place->first.column_bits == column_bits && place->first.column_cell <= last_column;
    };
    std::uint64_t column = before(rectangle.column >> column_bits);
    for (;;) {
      at = placed.lower_bound({row_bits, column_bits, column, first_row});
      if (!is_here(at)) break;
      if (at->first.column_cell > column) {
        column = at->first.column_cell;
        continue;
      }
      for (; is_here(at) && at->first.column_cell == column && at->first.row_cell <= last_row;
           ++at) {
        const Rectangle& other = at->second.rectangle;
        if (meet(other.row, other.rows, rectangle.row, rectangle.rows) &&
            meet(other.column, other.columns, rectangle.column, rectangle.columns)) {
          return at->second.region;
        }
      }
      ++column;
    }
    at = placed.lower_bound({row_bits, static_cast<std::uint8_t>(column_bits + 1)});
  }
  return nullptr;
}

// The end of one column of the plane, columns as a whole, the beginning of another.
const RegionIndex::Region* RegionIndex::Group::meets(std::uint64_t first_byte,
                                                     std::uint64_t last_byte) const {
  const std::uint64_t column = first_byte / stride;
  const std::uint64_t row = first_byte % stride;
  const std::uint64_t last_column = last_byte / stride;
  const std::uint64_t last_row = last_byte % stride;
  if (column == last_column) return meets(Rectangle{row, column, last_row - row + 1, 1});
  if (const Region* other = meets(Rectangle{row, column, stride - row, 1})) return other;
  if (const Region* other = meets(Rectangle{0, last_column, last_row + 1, 1})) return other;
  if (last_column == column + 1) return nullptr;
  return meets(Rectangle{0, column + 1, stride, last_column - column - 1});
}

const RegionIndex::Region* RegionIndex::Group::meets(const Region& other) const {
  const Region* found = nullptr;
  if (other.columns > 1 && other.stride == stride) {
    for_each_rectangle(other, [&](const Rectangle& rectangle) {
      if (found == nullptr) found = meets(rectangle);
    });
    return found;
  }
  if (regions.size() < other.columns) {
    const auto one = std::ranges::find_if(
        regions, [&](const auto& entry) { return overlap(entry.second, other); });
    return one != regions.end() ? &one->second : nullptr;
  }
  for (std::uint64_t column = 0; column < other.columns && found == nullptr; ++column) {
    const std::uint64_t begin = other.begin + column * other.stride;
    found = meets(begin, begin + (other.width - 1));
  }
  return found;
}

// --- two regions

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
