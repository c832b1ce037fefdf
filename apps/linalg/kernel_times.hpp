// How long the tile kernels take alone: for lower bounds and for benchmarks.
#pragma once

#include <vector>

#include "linalg/application.hpp"

namespace vicinal::linalg {

// Of a clock that only rises.
double seconds_now();

// Seconds of one task on whole tiles per kernel of the application, 0 if it has no task: of the faster code if
// its tasks run different code, as a bound takes it. Runs each kernel on the calling thread, operands in cache if
// they fit, and keeps the shortest of a few runs. Takes some 20 task lengths.
std::vector<double> measure_kernels(const Application& application);

}  // namespace vicinal::linalg
