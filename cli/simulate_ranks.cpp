#include "simulate_ranks.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "report_output.hpp"
#include "reports/play_record.hpp"
#include "vicinal/error.hpp"
#include "vicinal/tiled_matrix.hpp"

namespace vicinal::cli {

namespace {

void require_for_ranks(const SimulateArguments& arguments) {
  if (arguments.against.empty()) return;
  throw UsageError(
      "--against: not on a cluster; leave it out, or give --ranks 1 for one of its hosts alone");
}

machine::ClusterModel counted_cluster(const SimulateArguments& arguments,
                                      const machine::ClusterModel& cluster,
                                      const std::string& policy) {
  machine::ClusterModel counted = cluster;
  counted.host = counted_machine(arguments, cluster.host, policy);
  return counted;
}

bool has_tiles(const graph::Graph& graph) {
  for (std::size_t d = 0; d < graph.data().size(); ++d) {
    if (graph.tile(d)) return true;
  }
  return false;
}

// A graph without tiles above the diagonal is of a triangle.
Triangle triangle_of(const graph::Graph& graph) {
  for (std::size_t d = 0; d < graph.data().size(); ++d) {
    const auto tile = graph.tile(d);
    if (tile && tile->row < tile->column) return Triangle::none;
  }
  return has_tiles(graph) ? Triangle::lower : Triangle::none;
}

}  // namespace

int simulate_on_ranks(const SimulateArguments& arguments, const machine::ClusterModel& cluster,
                      Session& session) {
  const Options options = arguments.runtime.parse();
  require_for_ranks(arguments);
  const auto [policies, why] =
      arguments.runtime.chosen_policies(options, &cluster.host.description);
  graph::Graph graph = arguments.graph.graph(options.seed);
  if (const double share = varied_share(arguments); share > 0) {
    graph = graph::with_varied_times(std::move(graph), cluster.host, share,
                                     parse_vary_seed(arguments.vary_seed));
  }
  const std::uint32_t ranks = cluster.network.hosts;
  const play::ClusterJob job{
      .ranks = ranks,
      .broadcast = arguments.tree,
      .distribution = arguments.distribution.parse(ranks, triangle_of(graph)),
      .devices = arguments.distribution.devices()};
  const reports::RunBounds bounds = reports::play_bounds(graph, cluster);
  reports::Facts parameters = arguments.graph.facts(graph);
  for (auto& asked : asked_facts(arguments, options)) parameters.push_back(std::move(asked));
  if (has_tiles(graph)) parameters.emplace_back("distribution", job.distribution.name());
  if (job.devices) {
    parameters.emplace_back("device_grid",
                            fmt::format("{}x{}", job.devices->rows, job.devices->columns));
  }
  parameters.emplace_back("tree", job.broadcast);
  reports::Facts facts = arguments.machine.facts(cluster.host, why);
  facts.emplace_back("ranks", std::uint64_t{ranks});
  const reports::Report report{.command = session.command,
                               .application = graph.application().name,
                               .parameters = std::move(parameters),
                               .machine = std::move(facts),
                               .runs = {},
                               .has_tiles = has_tiles(graph)};
  ReportFiles outputs = arguments.files;
  outputs.recordings = recordings(options, policies);
  ReportOutput output(session, report, outputs, arguments.verbose, policies.size());
  for (const std::string& policy : policies) {
    Options one = with_policy(options, policy, policies.size());
    one.measure_scheduling = true;
    const machine::ClusterModel on = counted_cluster(arguments, cluster, policy);
    output.add(policy, [&] { return reports::play_record(graph, on, one, job, bounds, report); });
  }
  return output.finish();
}

}  // namespace vicinal::cli
