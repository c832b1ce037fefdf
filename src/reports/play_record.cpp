#include "reports/play_record.hpp"

#include "bounds/graph_bounds.hpp"
#include "graph/kernel_times.hpp"
#include "play/play.hpp"
#include "reports/bounds_report.hpp"

namespace vicinal::reports {

RunBounds play_bounds(const graph::Graph& graph, const machine::MachineModel& machine) {
  const graph::KernelSeconds seconds = graph::kernel_seconds(graph, machine);
  RunBounds bounds = run_bounds(bounds::graph_bounds(graph, machine.description, seconds));
  bounds.compulsory_out =
      bounds::graph_bounds(graph, machine.description, seconds, bounds::FinalPlace::outside)
          .out.value;
  return bounds;
}

RunRecord play_record(const graph::Graph& graph, const machine::MachineModel& machine,
                      const Options& options, const RunBounds& bounds) {
  const play::Played played = play::play(graph, machine, options);
  Statistics whole = played.last;
  whole.now = played.after.now;
  whole.workers = played.after.workers;
  whole.tasks_done = played.after.tasks_done;
  RunRecord record = make_record(options.policy, machine.description, played.before, whole);
  record.flops = graph.flops();
  record.bounds = bounds;
  record.simulation =
      SimulationCost{played.wall_seconds, (whole.scheduling - played.before.scheduling).seconds()};
  return record;
}

}  // namespace vicinal::reports
