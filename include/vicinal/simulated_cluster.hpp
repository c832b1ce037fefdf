// The ranks of a simulated cluster, in one process and one world: hosts, and the network between them. Simulated ranks run the
// code of real ones.
//
//   vicinal::SimulatedCluster cluster("occigen", 16);
//   std::deque<vicinal::Runtime> ranks;
//   for (std::uint32_t r = 0; r < 16; ++r)
//     ranks.emplace_back(cluster.host(), options, cluster.world(), cluster.rank(vicinal::RankId{r}));
//   ... each makes the same calls, one after the other: no wait before all have submitted ...
//   for (auto& rank : ranks) rank.wait();
//
// One thread makes all calls. A wait on one rank lets time go on for all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vicinal/ids.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/ranks.hpp"
#include "vicinal/simulated_world.hpp"

namespace vicinal {

namespace machine {
struct ClusterModel;
}

// Hosts that are alike, their network, and a rank on each.
class SimulatedCluster {
 public:
  // `machine`: a machine file with a cluster, one that comes with the library, or "cluster:ranks=64,gpus=4"; one rank on each of the
  // first so many hosts, 0: on all. `broadcast`: as the option of this name. Throws UsageError: it is no cluster, or has fewer
  // hosts.
  explicit SimulatedCluster(const std::string& machine, std::uint32_t ranks = 0,
                            const std::string& broadcast = "auto");
  // Of a model that has been read.
  SimulatedCluster(const machine::ClusterModel& model, std::uint32_t ranks,
                   const std::string& broadcast);
  ~SimulatedCluster();
  SimulatedCluster(const SimulatedCluster&) = delete;
  SimulatedCluster& operator=(const SimulatedCluster&) = delete;

  // In which the runtimes of all ranks are.
  const SimulatedWorld& world() const { return world_; }
  const MachineDescription& host() const;  // what each host is
  std::uint32_t count() const;             // of the ranks
  // For the runtime of this rank.
  Ranks rank(RankId rank) const;

 private:
  struct Impl;
  SimulatedWorld world_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vicinal
