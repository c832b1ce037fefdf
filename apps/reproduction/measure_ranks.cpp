// One simulation of a figure on several ranks, each a host of a cluster.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "play/play_on_ranks.hpp"
#include "reports/play_record.hpp"
#include "reproduction/measure.hpp"
#include "vicinal/error.hpp"

namespace vicinal::reproduction {

namespace {

// A rank that has a part of its host's GPUs has as large a part of its NICs.
machine::ClusterModel cluster_of(const Point& point) {
  const auto load = [&](const machine::MachineChoice& choice) {
    auto cluster = machine::load_cluster(point.machine, choice);
    if (!cluster) throw UsageError(fmt::format("machine {} is no cluster", point.machine));
    return *cluster;
  };
  const auto gpus_of = [](const machine::ClusterModel& cluster) {
    const auto& nodes = cluster.host.description.nodes;
    return static_cast<std::uint32_t>(
        std::ranges::count(nodes, NodeKind::device, &NodeDescription::kind));
  };
  machine::ClusterModel cluster = load({.gpus = point.gpus,
                                        .cpu_workers = point.cpus,
                                        .gpu_memory = point.gpu_memory,
                                        .ranks = point.ranks});
  const std::uint32_t all = gpus_of(load({.ranks = 1}));
  if (all > 0) {
    cluster.network.nics = std::max(1U, cluster.network.nics * gpus_of(cluster) / all);
  }
  return cluster;
}

BlockCyclic2D grid_of(const Point& point) {
  if (point.rank_rows == 0) return BlockCyclic2D::nearest_square(point.ranks);
  return {point.rank_rows, point.ranks / point.rank_rows};
}

}  // namespace

Measures measure_on_ranks(const Point& point, const graph::Graph& graph) {
  const machine::ClusterModel cluster = cluster_of(point);
  const auto& host = cluster.host.description;
  const auto gpus = static_cast<std::uint32_t>(
      std::ranges::count(host.nodes, NodeKind::device, &NodeDescription::kind));
  play::ClusterJob job{.ranks = point.ranks, .distribution = grid_of(point)};
  if (point.gpu_columns > 0 && play::follows_advice(point.policy)) {
    job.devices = play::DeviceGrid{gpus / point.gpu_columns, point.gpu_columns};
  }
  Options options;
  options.policy = point.policy;
  options.models = "none";
  options.memory_rules = point.memory_rules;
  options.look_ahead = point.look_ahead;
  if (!point.receive_placement.empty()) options.receive_placement = point.receive_placement;
  const play::PlayedOnRanks played = play::play_on_ranks(graph, cluster, options, job);

  Measures measures;
  measures.flops = graph.flops();
  for (std::size_t r = 0; r < played.after.size(); ++r) {
    const double seconds = (played.after[r].now - played.before[r].now).seconds();
    measures.seconds = std::max(measures.seconds, seconds);
    add_bytes(measures, host, played.after[r]);
  }
  for (const auto& datum : graph.data()) {
    if (datum.home) measures.working_set += static_cast<double>(datum.bytes.value);
  }
  measures.memory = memory_of(host) * point.ranks;
  const reports::RunBounds bounds = reports::play_bounds(graph, cluster);
  measures.least_seconds = std::max(bounds.work_seconds, bounds.area_seconds);
  return measures;
}

}  // namespace vicinal::reproduction
