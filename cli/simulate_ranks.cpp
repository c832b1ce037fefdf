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

void require_for_ranks(const SimulateArguments& arguments, const Options& options) {
  const auto refuse = [](const char* option) {
    throw UsageError(fmt::format(
        "{}: not on a cluster; leave it out, or give --ranks 1 for one of its hosts alone",
        option));
  };
  if (!arguments.against.empty()) refuse("--against");
  if (!arguments.files.page.empty()) refuse("--report");
  if (!arguments.scheduling.empty()) refuse("--count-scheduling");
  if (!options.trace.empty()) refuse("--trace");
}

// A graph without tiles above the diagonal is of a triangle.
Triangle triangle_of(const graph::Graph& graph) {
  bool any = false;
  for (std::size_t d = 0; d < graph.data().size(); ++d) {
    const auto tile = graph.tile(d);
    if (tile && tile->row < tile->column) return Triangle::none;
    any = any || tile;
  }
  return any ? Triangle::lower : Triangle::none;
}

}  // namespace

int simulate_on_ranks(const SimulateArguments& arguments, const machine::ClusterModel& cluster,
                      Session& session) {
  const Options options = arguments.runtime.parse();
  require_for_ranks(arguments, options);
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
  parameters.emplace_back("distribution", job.distribution.name());
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
                               .runs = {}};
  ReportOutput output(session, report, arguments.files, arguments.verbose, policies.size());
  for (const std::string& policy : policies) {
    Options one = with_policy(options, policy, policies.size());
    one.measure_scheduling = true;
    output.add(policy, [&] { return reports::play_record(graph, cluster, one, job, bounds); });
  }
  return output.finish();
}

}  // namespace vicinal::cli
