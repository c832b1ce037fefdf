// Parts of graph_bounds: the borders of a machine that data must cross, how many bytes do, and how
// long the links take for them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bounds/area.hpp"
#include "bounds/bounds.hpp"
#include "bounds/crossing.hpp"
#include "bounds/dense.hpp"
#include "bounds/tiles.hpp"
#include "graph/graph.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/units.hpp"

namespace vicinal::bounds {

// Names of its bounds on time.
struct BorderNames {
  std::string_view in;
  std::string_view out;
  std::string_view both;
  std::string_view from_anywhere;
  std::string_view all;
};

struct Border {
  BorderNames names;
  std::vector<bool> inside;  // per memory node
  // Numbers of links.
  std::vector<std::size_t> in;
  std::vector<std::size_t> out;
  std::vector<std::size_t> peers;  // between memories that are told apart inside
  bool apart = false;              // what lies in one memory inside does not help a task in another
  bool limited = false;  // a report counts what crosses: into, and out of, limited memories
};

// Around the accelerators, and around all but the disk, where links cross them.
std::vector<Border> borders_of(const MachineDescription& machine);

// What is asked. `types` are the graph's kernels, in their order.
struct BorderQuestion {
  const graph::Graph& graph;
  const MachineDescription& machine;
  std::span<const TaskType> types;
  FinalPlace results;
};

struct BorderTraffic {
  BytesBound in;         // compulsory
  BytesBound proved_in;  // by formula, into all memories inside, from anywhere; 0: none
  BytesBound out;
  // What the memories inside must load if they are to share the tasks.
  std::optional<SplitTiles> split = {};
  SplitRates rates = {};  // without those of the links
};

BorderTraffic traffic_across(const Border& border, const BorderQuestion& question);

// Those that are not 0.
std::vector<TimeBound> crossing_times(const Border& border, const MachineDescription& machine,
                                      const BorderTraffic& traffic);

// What is proved of a dense kernel. What lies in these memories at the start is the caller's to subtract.
struct Formula {
  BytesBound loads;  // the largest bound; 0 of other graphs
  // Its inner tasks on whole tiles, of the bytes below.
  std::optional<SplitTiles> split;
  Bytes tile;
  Bytes free;  // at hand without a load, as often as they are made
};
Formula formula_of(const graph::Graph& graph, LimitedMemory memory);

}  // namespace vicinal::bounds
