// What the view of an order shows, in numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "reproduction/results.hpp"

namespace vicinal::reproduction {

// Spearman's rank correlation between when a task of the first step ended and a number of its tile; equal numbers
// share the mean of their ranks. 0 if either is the same for all.
double rank_correlation(const OrderedRun& run, double (*number)(const OrderedTask& task));

// For each colour, the last left out unless it is the only one: its tasks over the distinct tiles that they use.
std::vector<double> tasks_per_tile(const OrderedRun& run);

// The most tasks of one colour that write the same tile: over so many steps a block of tiles is worked on.
std::uint64_t most_steps_at_once(const OrderedRun& run);

// Of the tiles that tasks of the first step use: the share that tasks of several workers use.
double share_used_by_several(const OrderedRun& run);

// Tasks by worker.
std::vector<std::uint64_t> tasks_by_worker(const OrderedRun& run);

}  // namespace vicinal::reproduction
