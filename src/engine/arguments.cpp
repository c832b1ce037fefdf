#include "engine/arguments.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::engine {

namespace {

// Without a product that wraps.
bool product_within(std::initializer_list<std::uint64_t> factors, std::uint64_t limit) {
  if (std::ranges::any_of(factors, [](std::uint64_t factor) { return factor == 0; })) return true;
  std::uint64_t product = 1;
  for (const std::uint64_t factor : factors) {
    if (factor > limit / product) return false;
    product *= factor;
  }
  return true;
}

[[noreturn]] void refuse(std::string_view name, const std::string& what) {
  throw UsageError(
      fmt::format("register: {} of {}: one handle has at most {} bytes (1 PiB); "
                  "register less, or in parts",
                  named(name), what, kLargestData.value));
}

}  // namespace

std::string named(std::string_view name) {
  return name.empty() ? "data without a name" : fmt::format("data \"{}\"", name);
}

Layout checked(const TileShape& shape, std::string_view name) {
  if (shape.element_bytes == 0) {
    throw UsageError(
        fmt::format("register: {}: its elements have 0 bytes; give their size in "
                    "TileShape::element_bytes (8 for double)",
                    named(name)));
  }
  const std::uint64_t most = kLargestData.value;
  if (!product_within({shape.rows, shape.element_bytes}, most) || shape.columns > most ||
      !product_within({shape.rows, shape.columns, shape.element_bytes}, most)) {
    refuse(name, fmt::format("{} x {} elements of {} bytes", shape.rows, shape.columns,
                             shape.element_bytes));
  }
  const std::uint64_t steps = shape.columns == 0 ? 0 : shape.columns - 1;
  if (!product_within({shape.leading_dimension, shape.element_bytes}, most) ||
      !product_within({shape.leading_dimension, steps, shape.element_bytes}, most)) {
    refuse(name, fmt::format("{} columns of {} bytes with leading dimension {}", shape.columns,
                             shape.rows * shape.element_bytes, shape.leading_dimension));
  }
  return shape.layout();
}

void require_size(const Layout& layout, std::string_view name) {
  if (product_within({layout.column_bytes, layout.columns}, kLargestData.value)) return;
  refuse(name, layout.columns == 1
                   ? fmt::format("{} bytes", layout.column_bytes)
                   : fmt::format("{} columns of {} bytes", layout.columns, layout.column_bytes));
}

NodeId checked(NodeId node, const MachineDescription& machine, const char* call) {
  if (node.value < machine.nodes.size()) return node;
  throw UsageError(std::string(call) + ": there is no memory node " + std::to_string(node.value) +
                   "; the machine has " + std::to_string(machine.nodes.size()) + ", from 0 on");
}

}  // namespace vicinal::engine
