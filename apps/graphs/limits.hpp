// What the generators of graphs accept. All throw UsageError that names the parameter.
#pragma once

#include <cstdint>
#include <string_view>

namespace vicinal::graphs {

// Beyond these a graph takes gigabytes, and products of sizes no longer fit 64 bits.
inline constexpr double kMostTasks = 2e7;
inline constexpr std::uint64_t kMostTile = 1 << 20;
inline constexpr std::uint64_t kMostInner = 1ULL << 32;
inline constexpr std::uint64_t kMostDatumBytes = 1ULL << 50;

void require_within(std::string_view graph, std::string_view parameter, std::uint64_t value,
                    std::uint64_t lowest, std::uint64_t highest);

// `count` in double: it may be larger than an integer holds. `remedy`: "fewer tiles".
void require_tasks(std::string_view graph, double count, std::string_view remedy);

// Of one task: above 0 (0 would mean that it is not known), and what a graph file may say.
void require_seconds(std::string_view graph, double seconds);

}  // namespace vicinal::graphs
