// What a graph from a file or a generator must keep to.
#pragma once

#include <cstddef>
#include <string>

#include "graph/graph.hpp"
#include "vicinal/access.hpp"
#include "vicinal/units.hpp"

namespace vicinal::graph {

// What a task can take, what all can take one after the other, and what all data can have: far beyond
// any machine, and such that sums in nanoseconds and bytes fit 64 bits.
inline constexpr double kMostTaskSeconds = 1e9;
inline constexpr double kMostGraphSeconds = 4e9;
inline constexpr double kMostTaskFlops = 1e24;
inline constexpr Bytes kMostGraphBytes{1ULL << 60};
inline constexpr std::size_t kMostAccesses = kMostOperands;  // of one task

// Throws UsageError, which begins with `origin` (a file's name), if there is no task, if a task reads a
// datum without a home that no task before it writes, if one reduces into a datum without a reduction, if a datum with one
// is in parts or a part, or if a sum exceeds what is said above. Numbers of
// data, kernels and accesses must be valid.
void require_sound(const Graph& graph, const std::string& origin);

}  // namespace vicinal::graph
