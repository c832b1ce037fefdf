#include "reports/own_results.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <exception>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "analysis/recorded_graph.hpp"
#include "bounds/graph_bounds.hpp"
#include "graph/kernel_times.hpp"
#include "reports/bounds_report.hpp"

namespace vicinal::reports {

namespace {

using analysis::RecordedRun;
using Told = std::vector<std::pair<std::string, std::string>>;

bool was_told(const RecordedRun& run, std::string_view kind) {
  return std::ranges::any_of(run.facts.told,
                             [&](const auto& fact) { return fact.first.starts_with(kind); });
}

// As a report counts them: into limited memories, and out of them towards the disk.
struct Moved {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
};
Moved moved(const RecordedRun& run, const analysis::Traffic& traffic) {
  const auto& nodes = run.facts.machine.nodes;
  const auto height = [&](std::uint32_t node) {
    return nodes[node].kind == NodeKind::disk ? 0 : nodes[node].kind == NodeKind::ram ? 1 : 2;
  };
  Moved moved;
  for (const analysis::TrafficOfLink& link : traffic.links) {
    if (link.from >= nodes.size() || link.to >= nodes.size()) continue;
    const bool towards_disk = height(link.to) < height(link.from);
    if (towards_disk && nodes[link.from].limit) moved.out += link.bytes;
    if (!towards_disk && nodes[link.to].limit) moved.in += link.bytes;
  }
  return moved;
}

std::optional<RunBounds> bounds_of(const RecordedRun& run) {
  constexpr std::size_t kMostTasks = 100'000;
  if (run.tasks.size() > kMostTasks || !run.complete) return std::nullopt;
  try {
    const graph::Graph graph = analysis::graph_of(run, "the recording");
    const machine::MachineModel machine{
        .name = {}, .sentence = {}, .description = run.facts.machine, .scheduling = {}};
    return run_bounds(
        bounds::graph_bounds(graph, machine.description, graph::kernel_seconds(graph, machine)));
  } catch (
      const std::exception&) {  // the recording does not hold the graph, or no graph can say it
    return std::nullopt;
  }
}

// Of a fact that the run was told.
std::uint64_t whole_or(const std::string& text, std::uint64_t other) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : other;
}

}  // namespace

Told own_results(const RecordedRun& run, const analysis::Analyses& analyses) {
  Told told;
  const auto add = [&](const char* name, double value) {
    if (value > 0) told.emplace_back(name, fmt::format("{}", value));
  };
  if (!was_told(run, "result.")) {
    add("result.seconds", static_cast<double>(analyses.path.length()) * 1e-9);
    const Moved bytes = moved(run, analyses.traffic);
    told.emplace_back("result.bytes_in", fmt::format("{}", bytes.in));
    told.emplace_back("result.bytes_out", fmt::format("{}", bytes.out));
  }
  if (was_told(run, "bound.")) return told;
  const std::optional<RunBounds> bounds = bounds_of(run);
  if (!bounds) return told;
  add("bound.seconds", bounds->seconds());
  add("bound.work_seconds", bounds->work_seconds);
  add("bound.area_seconds", bounds->area_seconds);
  add("bound.path_seconds", bounds->path_seconds);
  add("bound.transfer_seconds", bounds->transfer_seconds);
  told.emplace_back("bound.bytes_in", fmt::format("{}", bounds->bytes_in().value));
  told.emplace_back("bound.bytes_out", fmt::format("{}", bounds->bytes_out().value));
  return told;
}

std::int64_t time_of_run_proper(const RecordedRun& run, const analysis::CriticalPath& path) {
  if (run.begin == 0) return path.length();
  const auto told = std::ranges::find(run.facts.told, std::string("result.seconds"),
                                      &std::pair<std::string, std::string>::first);
  double seconds = 0;
  if (told != run.facts.told.end()) {
    std::from_chars(told->second.data(), told->second.data() + told->second.size(), seconds);
  }
  return seconds > 0 ? Time::from_seconds(seconds).ns : run.length();
}

RunRecord recorded_record(const RecordedRun& run, const analysis::Analyses& analyses) {
  RunRecord record;
  record.policy = run.facts.policy;
  record.seconds = static_cast<double>(time_of_run_proper(run, analyses.path)) * 1e-9;
  const Moved bytes = moved(run, analyses.traffic);
  record.bytes_in = {bytes.in};
  record.bytes_out = {bytes.out};
  for (const auto& [name, value] : run.facts.told) {
    if (name == "result.bytes_in") record.bytes_in = {whole_or(value, bytes.in)};
    if (name == "result.bytes_out") record.bytes_out = {whole_or(value, bytes.out)};
  }
  const auto& machine = run.facts.machine;
  record.workers = static_cast<std::uint32_t>(machine.workers.size());
  double busy = 0;
  for (const analysis::TaskOfRun& task : run.tasks) {
    if (!task.ran() || task.kind != analysis::KindOfTask::compute) continue;
    ++record.tasks;
    busy += static_cast<double>(task.ended - task.started) * 1e-9;
  }
  record.idle_seconds = std::max(0.0, record.seconds * record.workers - busy);
  for (const analysis::TrafficOfLink& link : analyses.traffic.links) {
    if (link.from >= machine.nodes.size() || link.to >= machine.nodes.size()) continue;
    record.links.push_back(
        {.name = machine.nodes[link.from].name + "->" + machine.nodes[link.to].name,
         .bytes = {link.bytes},
         .copies = link.copies});
  }
  return record;
}

ToldBytes told_bounds(const RecordedRun& run) {
  ToldBytes told;
  for (const auto& [name, value] : run.facts.told) {
    if (name == "bound.bytes_in") told.in = {whole_or(value, 0)};
    if (name == "bound.bytes_out") told.out = {whole_or(value, 0)};
  }
  return told;
}

}  // namespace vicinal::reports
