// A policy of one's own beside all others, on a Cholesky factorisation: a table, and with the name of an SVG a picture.

#include <cstdio>
#include <string>
#include <vicinal/comparison.hpp>

#include "nearest.hpp"

int main(int argc, char** argv) {
  using namespace vicinal;
  sched::register_policy(kNearest);
  const graph::Graph graph =
      graphs::make_graph({.application = "cholesky", .tiles = 16, .tile = 960});
  const machine::MachineModel machine =
      machine::load_machine("v100p", {.gpus = 2, .gpu_memory = 200_MiB});
  const reports::RunBounds bounds = reports::play_bounds(graph, machine);
  reports::Report report{.application = "cholesky",
                         .parameters = {{"tiles", std::uint64_t{16}}},
                         .machine = {{"name", machine.name}},
                         .runs = {}};
  for (const sched::PolicyEntry& policy : sched::policies()) {
    const Options options{.policy = std::string(policy.name)};
    report.runs.push_back(reports::play_record(graph, machine, options, bounds));
  }
  std::fputs(reports::report_text(report).c_str(), stdout);
  if (argc > 1) reports::draw_report(report, argv[1]);
}
