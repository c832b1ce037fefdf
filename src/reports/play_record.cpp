#include "reports/play_record.hpp"

#include <utility>

#include "bounds/graph_bounds.hpp"
#include "graph/kernel_times.hpp"
#include "play/play.hpp"
#include "reports/bounds_report.hpp"
#include "reports/notes.hpp"

namespace vicinal::reports {

RunBounds play_bounds(const graph::Graph& graph, const machine::MachineModel& machine) {
  const graph::KernelSeconds seconds = graph::kernel_seconds(graph, machine);
  RunBounds bounds = run_bounds(bounds::graph_bounds(graph, machine.description, seconds));
  bounds.compulsory_out =
      bounds::graph_bounds(graph, machine.description, seconds, bounds::FinalPlace::outside)
          .out.value;
  return bounds;
}

namespace {

RunRecord record_of(const graph::Graph& graph, const machine::MachineModel& machine,
                    const std::string& policy, const RunBounds& bounds,
                    const play::Played& played) {
  Statistics whole = played.last;
  whole.now = played.after.now;
  whole.workers = played.after.workers;
  whole.tasks_done = played.after.tasks_done;
  whole.own_tasks_done = played.after.own_tasks_done;
  RunRecord record = make_record(policy, machine.description, played.before, whole);
  record.flops = graph.flops();
  record.bounds = bounds;
  record.simulation =
      SimulationCost{played.wall_seconds, (whole.scheduling - played.before.scheduling).seconds()};
  return record;
}

}  // namespace

RunRecord play_record(const graph::Graph& graph, const machine::MachineModel& machine,
                      const Options& options, const RunBounds& bounds, const Report& report) {
  RecordingOutcome recording;
  const play::Hooks hooks{.begun = [&](Runtime& runtime) { note_run(runtime, report); },
                          .ended =
                              [&](Runtime& runtime, const play::Played& played) {
                                RunRecord record =
                                    record_of(graph, machine, options.policy, bounds, played);
                                note_result(runtime, record);
                                end_recording(runtime, record);
                                recording = std::move(record.recording);
                              }};
  const play::Played played =
      play::play(graph, machine, options, 1, play::StartingPlace::homes, hooks);
  RunRecord record = record_of(graph, machine, options.policy, bounds, played);
  record.recording = std::move(recording);
  return record;
}

}  // namespace vicinal::reports
