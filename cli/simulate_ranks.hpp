// vicinal simulate on a cluster: one rank on each host.
#pragma once

#include "reports/play_record.hpp"
#include "session.hpp"
#include "simulate_arguments.hpp"

namespace vicinal::cli {

int simulate_on_ranks(const SimulateArguments& arguments, const machine::ClusterModel& cluster,
                      Session& session);

}  // namespace vicinal::cli
