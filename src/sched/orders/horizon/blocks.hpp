// An order of tasks made of blocks: units that share data and fit a memory together are run before others are begun.
//
// A block grows from a seed. Next comes, of the units whose predecessors are done or in the block, the one with most data
// in the block already. A datum counts less the more units of the block use it, so that what few units use draws in the
// units that share it, and blocks become square. Owners count little or nothing: they are there for their own units'
// sake, and where they counted, blocks of a factorisation became rows as wide as the matrix. Where the block has outgrown
// the memory it is cut back, to 0.6 of its units at least, to where a byte that it loads is used most often.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/orders/horizon/plan_graph.hpp"
#include "sched/orders/horizon/units.hpp"

namespace vicinal::sched::orders::horizon {

struct BlockRules {
  std::uint64_t capacity =
      0;  // of a block, bytes: owners, and of other data as much as is used at a time
  bool counts_bytes = false;  // shared data count by their sizes; else each counts the same
  double falls = 1;           // a datum that n units of the block use counts n^-falls
  double owners_count = 0;    // so much of that, one that owns a unit of the block
  // Of ready tasks of the block that lack one datum, first those of the datum that most of them lack; else in the order of the
  // graph, which is that of the paths behind them.
  bool most_served_first = true;
};

struct Blocks {
  std::vector<Number> order;      // of tasks
  std::vector<std::size_t> ends;  // in the order, by block
};

Blocks grow_blocks(const PlanGraph& graph, const Units& units, const BlockRules& rules);

// All units in one block, where all data fit.
Blocks one_block(const PlanGraph& graph, const Units& units);

}  // namespace vicinal::sched::orders::horizon
