#include "reports/play_record.hpp"

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "bounds/graph_bounds.hpp"
#include "graph/kernel_times.hpp"
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
                      const Options& options, const RunBounds& bounds, const Report& report,
                      std::optional<play::StartingPlace> place) {
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
  if (!place) place = play::starting_place(graph, machine.description);
  const play::Played played = play::play(graph, machine, options, 1, *place, hooks);
  RunRecord record = record_of(graph, machine, options.policy, bounds, played);
  record.recording = std::move(recording);
  return record;
}

// The work is shared by all hosts; data begin where they are owned, and stay there.
RunBounds play_bounds(const graph::Graph& graph, const machine::ClusterModel& cluster) {
  const RunBounds of_host = play_bounds(graph, cluster.host);
  const double hosts = cluster.network.hosts;
  RunBounds bounds;
  bounds.work_seconds = of_host.work_seconds / hosts;
  bounds.area_seconds = of_host.area_seconds / hosts;
  bounds.path_seconds = of_host.path_seconds;
  return bounds;
}

namespace {

RunRecord record_of(const graph::Graph& graph, const machine::ClusterModel& cluster,
                    const std::string& policy, const RunBounds& bounds,
                    const play::PlayedOnRanks& played) {
  std::vector<RankRecord> ranks;
  RunRecord record;
  Time scheduling;
  for (std::size_t r = 0; r < played.after.size(); ++r) {
    const Statistics& before = played.before[r];
    const Statistics& after = played.after[r];
    RunRecord own = make_record(policy, cluster.host.description, before, after);
    ranks.push_back(rank_record(own, before, after));
    scheduling += after.scheduling - before.scheduling;
    if (r == 0) record = std::move(own);
  }
  join_ranks(record, std::move(ranks));
  record.flops = graph.flops();
  record.bounds = bounds;
  record.simulation = SimulationCost{played.wall_seconds, scheduling.seconds()};
  return record;
}

}  // namespace

RunRecord play_record(const graph::Graph& graph, const machine::ClusterModel& cluster,
                      const Options& options, const play::ClusterJob& job, const RunBounds& bounds,
                      const Report& report) {
  RecordingOutcome recording;
  const play::HooksOnRanks hooks{
      .begun = [&](std::deque<Runtime>& ranks) { note_run(ranks.front(), report); },
      .ended =
          [&](std::deque<Runtime>& ranks, const play::PlayedOnRanks& played) {
            RunRecord record = record_of(graph, cluster, options.policy, bounds, played);
            note_result(ranks.front(), record);
            // The last to stop ends the file of all, and knows how large it is.
            for (std::size_t r = ranks.size(); r-- > 0;) end_recording(ranks[r], record);
            recording = std::move(record.recording);
          }};
  const play::PlayedOnRanks played = play::play_on_ranks(
      graph, cluster, options, job, options.trace.empty() ? play::HooksOnRanks{} : hooks);
  RunRecord record = record_of(graph, cluster, options.policy, bounds, played);
  record.recording = std::move(recording);
  return record;
}

}  // namespace vicinal::reports
