// A sweep: simulations of all combinations of values, each kept in a CSV file when it has ended.
#pragma once

#include "session.hpp"
#include "simulate_arguments.hpp"

namespace vicinal::cli {

bool is_sweep(const SimulateArguments& arguments);
// The exit status. The arguments are set to one value after the other.
int sweep(SimulateArguments& arguments, Session& session);

}  // namespace vicinal::cli
