// The policy "auto": candidates are simulated on the graph and the machine, one after the other, as long as that is to take
// little of the run's own time; the fastest is taken.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "machine/machine_model.hpp"
#include "vicinal/options.hpp"

namespace vicinal::play {

// Of the run's predicted time, that all simulations together may take.
inline constexpr double kTrialShare = 0.02;

struct Trial {
  std::string policy;
  double seconds = 0;  // that the run takes, simulated
};

struct AutoPolicy {
  std::string policy;
  std::vector<Trial> trials;  // as they were made; empty: there was no time for two
  std::string why;            // "simulated: darts 1.2 s, horizon 1.4 s"
};

// What a simulation costs is estimated by the number of tasks, so that the choice is the same on every computer. First comes
// the default policy (sched/default_policy.hpp), which is taken where there is no time to try another. `options`: their policy does not
// count. Each trial is one call of play().
AutoPolicy auto_policy(const graph::Graph& graph, const machine::MachineModel& machine,
                       const Options& options, double share = kTrialShare);

}  // namespace vicinal::play
