// The usual ways to divide a whole, and the check of what a division lists.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "graph/partition.hpp"
#include "vicinal/error.hpp"

namespace vicinal {

namespace {

// Cuts of `length` into `count` parts, the larger ones first.
std::vector<std::uint64_t> cuts(std::uint64_t length, std::uint64_t count) {
  count = std::min(std::max<std::uint64_t>(count, 1), std::max<std::uint64_t>(length, 1));
  std::vector<std::uint64_t> at{0};
  for (std::uint64_t i = 0; i < count; ++i) {
    at.push_back(at.back() + length / count + (i < length % count ? 1 : 0));
  }
  return at;
}

std::vector<std::uint64_t> steps(std::uint64_t length, std::uint64_t step) {
  std::vector<std::uint64_t> at{0};
  step = std::max<std::uint64_t>(step, 1);
  while (at.back() < length) at.push_back(at.back() + std::min(step, length - at.back()));
  return at;
}

Division grid(const std::vector<std::uint64_t>& rows, const std::vector<std::uint64_t>& columns) {
  Division division;
  division.grid_rows = rows.size() - 1;
  for (std::size_t j = 0; j + 1 < columns.size(); ++j) {
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      division.blocks.push_back(
          {rows[i], columns[j], rows[i + 1] - rows[i], columns[j + 1] - columns[j]});
    }
  }
  return division;
}

}  // namespace

Divide row_blocks(std::uint64_t count) {
  return [count](const Layout& whole) {
    return grid(cuts(whole.rows(), count), {0, whole.columns});
  };
}

Divide column_blocks(std::uint64_t count) {
  return [count](const Layout& whole) {
    return grid({0, whole.rows()}, cuts(whole.columns, count));
  };
}

Divide tiles(std::uint64_t rows, std::uint64_t columns) {
  return [rows, columns](const Layout& whole) {
    return grid(steps(whole.rows(), rows), steps(whole.columns, columns));
  };
}

Divide pieces(std::uint64_t elements) {
  return [elements](const Layout& whole) {
    return grid(steps(whole.rows(), elements), {0, whole.columns});
  };
}

Divide transposed(Divide divide) {
  if (!divide) return divide;
  return [divide = std::move(divide)](const Layout& whole) {
    const std::uint64_t rows = whole.columns * whole.element_bytes;
    Division division = divide({rows, whole.rows(), rows, whole.element_bytes});
    for (Block& block : division.blocks) {
      std::swap(block.row, block.column);
      std::swap(block.rows, block.columns);
    }
    return division;
  };
}

}  // namespace vicinal

namespace vicinal::graph {

namespace {

[[noreturn]] void refuse(const std::string& name, std::size_t number, const std::string& why) {
  throw UsageError("partition: part " + std::to_string(number) + " of handle " + name + " " + why);
}

bool ends_within(std::uint64_t first, std::uint64_t length, std::uint64_t end) {
  return first <= end && length <= end - first;
}

// Of blocks.
using Pair = std::pair<std::size_t, std::size_t>;

// Two that overlap, if there are such. Sweeps over the columns: of the blocks that have the present one, no two have a
// row in common.
std::optional<Pair> find_overlap(std::span<const Block> blocks) {
  std::vector<std::size_t> order;  // by the first column
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].rows > 0 && blocks[i].columns > 0) order.push_back(i);
  }
  std::ranges::sort(order, {},
                    [&](std::size_t i) { return std::pair(blocks[i].column, blocks[i].row); });
  std::vector<std::size_t> open;  // of the sweep, by their first row
  std::uint64_t column = 0;       // those that end before it are closed
  for (const std::size_t i : order) {
    const Block& block = blocks[i];
    if (block.column > column) {
      column = block.column;
      std::erase_if(open, [&](std::size_t other) {
        return blocks[other].column + blocks[other].columns <= column;
      });
    }
    const auto after = std::ranges::upper_bound(
        open, block.row, {}, [&](std::size_t other) { return blocks[other].row; });
    if (after != open.begin()) {
      const std::size_t before = *std::prev(after);
      if (blocks[before].row + blocks[before].rows > block.row) return Pair(i, before);
    }
    if (after != open.end() && block.row + block.rows > blocks[*after].row) return Pair(i, *after);
    open.insert(after, i);
  }
  return std::nullopt;
}

}  // namespace

void check_division(const Division& division, const Layout& whole, const std::string& name) {
  if (division.blocks.empty()) {
    throw UsageError("partition: the division of handle " + name + " lists no part");
  }
  if (division.blocks.size() >= kMostOperands) {
    throw UsageError("partition: handle " + name + " would have " +
                     std::to_string(division.blocks.size()) + " parts; there are at most " +
                     std::to_string(kMostOperands - 1) + ": divide the parts once more instead");
  }
  if (division.grid_rows > 0 && division.blocks.size() % division.grid_rows != 0) {
    throw UsageError("partition: the " + std::to_string(division.blocks.size()) +
                     " parts of handle " + name + " are no grid of " +
                     std::to_string(division.grid_rows) + " rows");
  }
  for (std::size_t i = 0; i < division.blocks.size(); ++i) {
    const Block& block = division.blocks[i];
    if (!ends_within(block.row, block.rows, whole.rows()) ||
        !ends_within(block.column, block.columns, whole.columns)) {
      refuse(name, i,
             "(rows " + std::to_string(block.row) + " + " + std::to_string(block.rows) +
                 ", columns " + std::to_string(block.column) + " + " +
                 std::to_string(block.columns) + ") goes beyond its " +
                 std::to_string(whole.rows()) + " rows and " + std::to_string(whole.columns) +
                 " columns");
    }
  }
  if (const auto both = find_overlap(division.blocks)) {
    refuse(name, both->first,
           "overlaps part " + std::to_string(both->second) + "; list parts that do not");
  }
}

void check_apart(const Division& division, const Partition& other) {
  check_apart(division, other.whole->name, other.blocks,
              [&](std::size_t part) { return other.parts[part]->name; });
}

void check_apart(const Division& division, const std::string& whole, std::span<const Block> others,
                 const std::function<std::string(std::size_t)>& name_of) {
  std::vector<Block> blocks = division.blocks;
  blocks.insert(blocks.end(), others.begin(), others.end());
  const auto both = find_overlap(blocks);
  if (!both) return;
  const auto [mine, other] = std::minmax(both->first, both->second);
  refuse(whole, mine,
         "overlaps " + name_of(other - division.blocks.size()) +
             " of a partition made before, and one of the two partitions writes; take the first "
             "back (unpartition), list parts that do not overlap, or say of both that they only "
             "read");
}

std::string name_of_part(const std::string& whole, std::size_t part, std::size_t parts,
                         std::size_t grid_rows) {
  const bool is_grid = grid_rows > 0 && grid_rows < parts;
  const std::string at =
      is_grid ? std::to_string(part % grid_rows) + "," + std::to_string(part / grid_rows)
              : std::to_string(part);
  return whole + "[" + at + "]";
}

std::uint64_t offset_of(const Block& block, const Layout& layout) {
  return block.column * layout.stride_bytes + block.row * layout.element_bytes;
}

Layout layout_of(const Block& block, const Layout& whole) {
  return {block.rows * whole.element_bytes, block.columns, whole.stride_bytes, whole.element_bytes};
}

}  // namespace vicinal::graph
