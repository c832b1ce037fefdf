// The lower bounds of a graph of tasks on a machine: what no schedule can beat.
//
//   const GraphBounds bounds = graph_bounds(graph, machine.description, seconds);
//   bounds.time();  // no schedule is faster
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bounds/bounds.hpp"
#include "bounds/crossing.hpp"
#include "graph/graph.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/units.hpp"

namespace vicinal::bounds {

// Each holds; `source` of each says why. 0: nothing is known.
struct GraphBounds {
  // What they are bounds of.
  std::string graph;
  std::uint64_t tasks = 0;
  std::uint64_t data = 0;
  Bytes bytes;  // of all data
  double flops = 0;
  std::uint64_t tasks_without_time = 0;  // they count nothing in the times

  TimeBound work;
  TimeBound area;
  TimeBound path;
  std::vector<TimeBound> links;  // those that are known
  // Into the memories that are limited, and out of them, as a report counts them.
  BytesBound compulsory_in;
  BytesBound proved_in;  // by the formula of a dense kernel; 0 of other graphs
  BytesBound out;

  std::vector<TimeBound> times() const;  // all of them
  TimeBound time() const;                // the largest
  BytesBound in() const;                 // the larger one
};

// `seconds`: per kernel of the graph, of one task per kind of processor; 0: does not run there. A
// kernel without any time is taken to run everywhere, in no time.
//
// `results`: where the run must leave what tasks change. `anywhere`: it ends with the last task, and
// what fits may stay in the accelerators. `outside`: it ends when all is at home.
//
// Data start at their homes, in RAM or on the disk. Two borders count: that of all accelerators, and
// that of the disk. A version of a datum crosses if all who can make it are on one side and someone
// who reads it must be on the other: where a CPU may run everything, no byte need cross to a GPU.
//  - Loads of a dense kernel are a bound for each memory, with its own size (the largest, if they
//    differ), and added up: data in one memory do not help a task in another. They may come from a
//    peer. So RAM's links must carry them only if there are no links between accelerators; else they
//    carry each datum once, and all links together carry the loads.
//  - Bytes are a bound for any schedule, also for one that leaves memories idle. The times of the links are
//    those of the schedules that are so fast: they share the tasks, and load more (bounds/tiles.hpp).
//  - A result without a home is kept to the end of the run: what does not fit inside goes out. What the last task that
//    names it only reads is no result (graph::temporaries_of).
//  - Of tasks that reduce into a datum, up to the next access that is no reduction, each may run at once with the others.
//    What every schedule has besides is counted: a private copy that begins with the neutral element, and its
//    combination into the datum behind them all, which begins with the neutral element, too, if it has no content.
//  - A border carries no more than the joint_bandwidth of its links: inwards, outwards, and both together, which
//    matters where a bridge serves both directions.
// Memories hold whole data: of a limit counts what is a multiple of the greatest common divisor of
// their sizes.
GraphBounds graph_bounds(const graph::Graph& graph, const MachineDescription& machine,
                         const std::vector<std::array<double, kProcessorKinds>>& seconds,
                         FinalPlace results = FinalPlace::anywhere);

}  // namespace vicinal::bounds
