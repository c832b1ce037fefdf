#include "vicinal/simulated_cluster.hpp"

#include <utility>

#include <fmt/format.h>

#include "comm/broadcast_option.hpp"
#include "comm/simulated/simulated_ranks.hpp"
#include "machine/machine_model.hpp"
#include "runtime/ranks.hpp"
#include "runtime/simulated_world.hpp"
#include "vicinal/error.hpp"

namespace vicinal {

namespace {

machine::ClusterModel cluster_of(const std::string& text) {
  std::optional<machine::ClusterModel> cluster = machine::load_cluster_of_option(text);
  if (!cluster) {
    throw UsageError(fmt::format(
        "machine {} is no cluster; name one (occigen, cluster:ranks=16), or a file with [cluster]",
        text));
  }
  return *std::move(cluster);
}

// What trees of broadcasts are chosen by.
comm::LinkCost cost_of(const machine::NetworkModel& network) {
  return {.overhead = network.send_overhead + network.receive_overhead,
          .latency = network.latency_between(0, network.hosts - 1),
          .bytes_per_second = network.nic.value};
}

}  // namespace

struct SimulatedCluster::Impl {
  // Whoever holds a rank holds the world of all.
  struct InWorld {
    InWorld(std::shared_ptr<runtime::SharedWorld> its_world, const machine::NetworkModel& network,
            std::uint32_t count, const comm::DeliveryRules& rules)
        : world(std::move(its_world)), ranks(world->world, network, count, rules) {}
    std::shared_ptr<runtime::SharedWorld> world;
    comm::SimulatedRanks ranks;
  };
  machine::ClusterModel model;
  std::shared_ptr<InWorld> all;
};

SimulatedCluster::SimulatedCluster(const std::string& machine, std::uint32_t ranks,
                                   const std::string& broadcast)
    : SimulatedCluster(cluster_of(machine), ranks, broadcast) {}

SimulatedCluster::SimulatedCluster(const machine::ClusterModel& model, std::uint32_t ranks,
                                   const std::string& broadcast)
    : impl_(std::make_unique<Impl>(Impl{model, nullptr})) {
  const machine::NetworkModel& network = impl_->model.network;
  if (ranks > network.hosts) {
    throw UsageError(fmt::format("machine {} has {} hosts: no {} ranks can run there, one on each",
                                 model.name, network.hosts, ranks));
  }
  comm::DeliveryRules rules;
  comm::set_broadcast(rules, broadcast);
  rules.link = cost_of(network);
  impl_->all = std::make_shared<Impl::InWorld>(world_.shared_, network,
                                               ranks == 0 ? network.hosts : ranks, rules);
}

SimulatedCluster::~SimulatedCluster() = default;

const MachineDescription& SimulatedCluster::host() const {
  return impl_->model.host.description;
}

std::uint32_t SimulatedCluster::count() const {
  return impl_->all->ranks.count();
}

Ranks SimulatedCluster::rank(RankId rank) const {
  return internals::RanksOpener::make(std::make_shared<internals::RanksImpl>(
      std::shared_ptr<comm::Progress>(impl_->all, &impl_->all->ranks.progress(rank))));
}

}  // namespace vicinal
