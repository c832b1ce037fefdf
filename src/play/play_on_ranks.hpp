// Plays a graph on a simulated cluster, one rank on each host: all ranks in one world and process. The sequence is unrolled
// once, and each rank is given what concerns it, which is what it would have found by unrolling all of it
// (comm/concerned_ranks.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "machine/machine_model.hpp"
#include "play/tile_advice.hpp"
#include "vicinal/distribution.hpp"
#include "vicinal/options.hpp"
#include "vicinal/statistics.hpp"

namespace vicinal {
class Runtime;
}

namespace vicinal::play {

struct ClusterJob {
  std::uint32_t ranks = 0;         // on the first so many hosts; 0: on all
  std::string broadcast = "auto";  // as the option of this name
  Distribution distribution = {};  // of the tiles of a dense graph
  // Of the accelerators of a rank, by which its tiles are advised; none: those of a policy that follows advice are, by
  // the usual grid.
  std::optional<DeviceGrid> devices = {};
};

struct PlayedOnRanks {
  std::vector<Statistics> before;  // by rank
  std::vector<Statistics> after;   // when the rank's last task has ended, or a little later
  double wall_seconds = 0;         // that the simulation took
};

// Called while the runtimes of all ranks are there, for what is to be told of the run. Empty: nothing is called.
struct HooksOnRanks {
  std::function<void(std::deque<Runtime>& ranks)> begun;  // before any data are registered
  std::function<void(std::deque<Runtime>& ranks, const PlayedOnRanks&)> ended;
};

// Data that are no tiles are owned by who owns the first tile of the first task that uses them. Throws UsageError for a
// graph with data in parts, with tasks declared after others, or with homes on disks, and for a grid of other accelerators
// than there are.
PlayedOnRanks play_on_ranks(const graph::Graph& graph, const machine::ClusterModel& cluster,
                            const Options& options, const ClusterJob& job,
                            const HooksOnRanks& hooks = {});

// By number of the datum.
std::vector<RankId> owners_of(const graph::Graph& graph, const Distribution& distribution,
                              std::uint32_t ranks);

}  // namespace vicinal::play
