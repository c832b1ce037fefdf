#include "reproduction/on_ranks.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include <fmt/format.h>

#include "play/play_on_ranks.hpp"
#include "reports/play_record.hpp"
#include "reproduction/measure.hpp"
#include "reproduction/results.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"
#include "vicinal/simulated_cluster.hpp"

namespace vicinal::reproduction {

namespace {

Options options_on_ranks(const Point& point) {
  Options options;
  options.policy = point.policy;
  options.models = "none";
  options.memory_rules = point.memory_rules;
  options.look_ahead = point.look_ahead;
  if (!point.on_ranks.receive_placement.empty())
    options.receive_placement = point.on_ranks.receive_placement;
  return options;
}

std::uint32_t gpus_of(const machine::ClusterModel& cluster) {
  const auto& nodes = cluster.host.description.nodes;
  return static_cast<std::uint32_t>(
      std::ranges::count(nodes, NodeKind::device, &NodeDescription::kind));
}

Distribution distribution_of(const OnRanks& on) {
  if (on.grid_rows == 0) return BlockCyclic2D::nearest_square(on.ranks);
  return BlockCyclic2D(on.grid_rows, on.ranks / on.grid_rows);
}

// When each rank but 0 has begun to read what rank 0 has written, since then.
std::vector<Time> times_of_arrival(const Point& point) {
  machine::ClusterModel model = cluster_of(point);
  if (point.on_ranks.is_bare) {
    MachineDescription& host = model.host.description;
    host.submit_overhead = {};
    for (auto& worker : host.workers) worker.task_overhead = {};
  }
  Codelet write{.name = "write"};
  write.expected.fill(Time{1'000});
  Codelet read{.name = "read"};
  constexpr Time kRead{1};
  read.expected.fill(kRead);
  const SimulatedCluster cluster(model, 0, point.on_ranks.broadcast);
  std::vector<Time> ends(cluster.count());
  std::deque<Runtime> ranks;
  for (std::uint32_t r = 0; r < cluster.count(); ++r) {
    ranks.emplace_back(cluster.host(), options_on_ranks(point), cluster.world(),
                       cluster.rank(RankId{r}));
  }
  const auto end_on = [&](std::uint32_t rank) {
    return [&, rank](Outcome) { ends[rank] = cluster.world().now(); };
  };
  for (Runtime& runtime : ranks) {
    const Handle content = runtime.register_empty(RankId{0}, point.on_ranks.bytes, "content");
    runtime.submit({.codelet = &write, .operands = {W(content)}, .on_end = end_on(0)});
    for (std::uint32_t r = 1; r < cluster.count(); ++r) {
      const Handle seen = runtime.register_empty(RankId{r}, Bytes{8}, "seen");
      runtime.submit({.codelet = &read,
                      .operands = {W(seen), R(content)},
                      .priority = static_cast<int>(r),
                      .on_end = end_on(r)});
    }
  }
  for (Runtime& runtime : ranks) runtime.wait();
  std::vector<Time> times;
  for (std::size_t r = 1; r < ends.size(); ++r) times.push_back(ends[r] - kRead - ends[0]);
  return times;
}

}  // namespace

std::string text_of(const OnRanks& on) {
  if (on.ranks == 0) return "none";
  return fmt::format(
      "ranks={} per-host={} broadcast={} grid-rows={} gpu-columns={} receive-placement={} width={} "
      "priorities={} "
      "bytes={} to={} bare={}",
      on.ranks, on.per_host, on.broadcast, on.grid_rows, on.gpu_columns, on.receive_placement,
      on.width, on.without_priorities ? "no" : "yes", on.bytes.value, on.to,
      on.is_bare ? "yes" : "no");
}

machine::ClusterModel cluster_of(const Point& point) {
  const OnRanks& on = point.on_ranks;
  const std::uint32_t hosts = on.ranks / on.per_host;
  const auto load = [&](const machine::MachineChoice& choice) {
    auto cluster = machine::load_cluster(point.machine, choice);
    if (!cluster) throw UsageError(fmt::format("machine {} is no cluster", point.machine));
    return *std::move(cluster);
  };
  machine::MachineChoice choice{.gpus = point.gpus,
                                .cpu_workers = point.cpus,
                                .gpu_memory = point.gpu_memory,
                                .ranks = hosts};
  machine::ClusterModel cluster = load(choice);
  // A rank that has a part of its host's GPUs has as large a part of its NICs.
  const std::uint32_t gpus = gpus_of(load({.ranks = 1}));
  if (gpus > 0) {
    cluster.network.nics = std::max(1U, cluster.network.nics * gpus_of(cluster) / gpus);
  }
  if (on.per_host == 1) return cluster;
  const auto cores = cluster.host.description.workers.size();
  choice.cpu_workers = static_cast<std::uint32_t>(cores / on.per_host);
  cluster = load(choice);
  cluster.network.hosts = on.ranks;
  cluster.network.nic.value /= on.per_host;
  if (cluster.network.tree) cluster.network.tree->hosts_per_leaf *= on.per_host;
  return cluster;
}

Measures measure_on_ranks(const Point& point, graph::Graph graph) {
  if (point.on_ranks.without_priorities) {
    for (std::size_t t = 0; t < graph.tasks().size(); ++t) graph.set_priority(t, 0);
  }
  const machine::ClusterModel cluster = cluster_of(point);
  const reports::RunBounds bounds = reports::play_bounds(graph, cluster);
  const OnRanks& on = point.on_ranks;
  play::ClusterJob job{.broadcast = on.broadcast, .distribution = distribution_of(on)};
  if (on.gpu_columns > 0 && play::follows_advice(point.policy)) {
    job.devices = play::DeviceGrid{gpus_of(cluster) / on.gpu_columns, on.gpu_columns};
  }
  const play::PlayedOnRanks played =
      play::play_on_ranks(graph, cluster, options_on_ranks(point), job);
  Measures measures;
  for (std::size_t r = 0; r < played.after.size(); ++r) {
    const Statistics& before = played.before[r];
    const Statistics& after = played.after[r];
    measures.seconds = std::max(measures.seconds, (after.now - before.now).seconds());
    measures.between_ranks += static_cast<double>(after.sent.value);
    measures.broadcasts += static_cast<double>(after.broadcasts);
    measures.late_sends += static_cast<double>(after.late_sends);
    add_bytes(measures, cluster.host.description, after);
  }
  measures.flops = graph.flops();
  for (const auto& datum : graph.data()) {
    if (datum.home) measures.working_set += static_cast<double>(datum.bytes.value);
  }
  measures.memory = memory_of(cluster.host.description) * on.ranks;
  measures.least_seconds =
      std::max({bounds.work_seconds, bounds.area_seconds, bounds.path_seconds});
  return measures;
}

Measures measure_broadcast(const Point& point) {
  const std::vector<Time> times = times_of_arrival(point);
  const std::uint32_t to = point.on_ranks.to;
  Measures measures;
  measures.seconds = (to == 0 ? std::ranges::max(times) : times.at(to - 1)).seconds();
  measures.working_set = static_cast<double>(point.on_ranks.bytes.value);
  return measures;
}

}  // namespace vicinal::reproduction
