// Points on clusters: one rank on each host, and messages between them.
#pragma once

#include <cstdint>
#include <string>

#include "graph/graph.hpp"
#include "machine/machine_model.hpp"
#include "vicinal/units.hpp"

namespace vicinal::reproduction {

struct Point;
struct Measures;

// What such a point has beside others.
struct OnRanks {
  std::uint32_t ranks = 0;      // 0: on one machine
  std::uint32_t per_host = 1;   // they share its cores and its NIC evenly
  std::string broadcast = {};   // as the option of this name
  std::uint32_t grid_rows = 0;  // of ranks, over which tiles are dealt; 0: nearest to a square
  std::uint32_t gpu_columns =
      0;  // of the grid of a rank's GPUs, over which its tiles are dealt; 0: by BlockCyclic
  std::string receive_placement = {};  // as the option of this name
  std::uint32_t width = 1;             // qr: columns of the matrix for each row
  bool without_priorities = false;     // of tasks
  // Without an application: from rank 0 to all others, once.
  Bytes bytes = {};
  std::uint32_t to = 0;  // the time is that of this rank; 0: of the last one
  bool is_bare = false;  // tasks cost nothing
};
// A word for the key of a point.
std::string text_of(const OnRanks& ranks);

// With so many hosts as the point has ranks.
machine::ClusterModel cluster_of(const Point& point);
Measures measure_on_ranks(const Point& point, graph::Graph graph);
// The time from the end of the task that writes the content to the start of the one that reads it. Ranks with larger
// numbers have larger priorities.
Measures measure_broadcast(const Point& point);

}  // namespace vicinal::reproduction
