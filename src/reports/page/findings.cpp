// What analyses found out about a run: idle times by cause, the critical path, advice.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "reports/page/run_data.hpp"

namespace vicinal::reports {

namespace {

using analysis::kNobody;

Json worker_json(const analysis::IdleOfWorker& worker) {
  Json json{worker.run};
  for (const std::int64_t time : worker.by_cause) json.push_back(time);
  return json;
}

}  // namespace

// Of each worker: the time in tasks, then that of each cause.
Json idle_json(const analysis::Idle& idle) {
  Json causes = Json::array();
  for (const analysis::IdleCauseEntry& entry : analysis::idle_causes()) {
    causes.push_back({entry.name, entry.sentence});
  }
  Json workers = Json::array();
  for (const analysis::IdleOfWorker& worker : idle.workers) workers.push_back(worker_json(worker));
  return {{"wall", idle.wall},
          {"causes", std::move(causes)},
          {"workers", std::move(workers)},
          {"all", worker_json(idle.all)}};
}

Json verdict_json(const analysis::Verdict& verdict) {
  return {{"sentence", verdict.sentence},
          {"remedy", verdict.remedy},
          {"binds", analysis::to_string(verdict.binder)},
          {"share", verdict.share}};
}

Json path_json(const analysis::Analyses& analyses) {
  Json causes = Json::array();
  for (const analysis::PathCauseEntry& entry : analysis::path_causes()) {
    causes.push_back({entry.name, entry.sentence, analyses.path.of(entry.cause)});
  }
  return {{"end", analyses.path.length()},
          {"segments", analyses.path.segments.size()},
          {"chain", analyses.chain},
          {"causes", std::move(causes)}};
}

Json advice_json(const analysis::RecordedRun& run, const analysis::Analyses& analyses) {
  Json json = Json::array();
  for (const analysis::Advice& one : analysis::advice(run, analyses)) {
    json.push_back({{"change", one.change}, {"gain", one.gain}, {"reason", one.reason}});
  }
  return json;
}

Section path_section(const RunView& view, const analysis::CriticalPath& path) {
  const auto& segments = path.segments;
  Columns table("path");
  table.plain("cause", segments.size(),
              [&](std::size_t i) { return static_cast<std::uint64_t>(segments[i].cause); });
  table.deltas("task", segments.size(), [&](std::size_t i) {
    return static_cast<std::int64_t>(one_more(segments[i].task));
  });
  table.deltas("copy", segments.size(), [&](std::size_t i) {
    return static_cast<std::int64_t>(one_more(segments[i].copy));
  });
  Columns::Moments moments(table, segments.size());
  moments.add("from", [&](std::size_t i) { return view.ticks(segments[i].from); });
  moments.add("to", [&](std::size_t i) { return view.ticks(segments[i].to); });
  return table.section();
}

Section idle_section(const RunView& view, const analysis::Idle& idle) {
  const double bin = static_cast<double>(view.end * view.unit) / kIdleBins;
  std::array<std::vector<double>, analysis::kIdleCauses> sums;
  for (std::vector<double>& sum : sums) sum.resize(kIdleBins, 0);
  for (const analysis::IdleInterval& gap : idle.intervals) {
    const auto from = static_cast<double>(gap.from);
    const auto to = static_cast<double>(gap.to);
    std::vector<double>& sum = sums[static_cast<std::size_t>(gap.cause)];
    auto at = static_cast<std::size_t>(from / bin);
    for (; at < kIdleBins && static_cast<double>(at) * bin < to; ++at) {
      const double begin = static_cast<double>(at) * bin;
      sum[at] += std::max(0.0, std::min(to, begin + bin) - std::max(from, begin));
    }
  }
  Columns table("idle");
  for (std::size_t cause = 0; cause < sums.size(); ++cause) {
    table.plain(fmt::format("cause{}", cause), kIdleBins,
                [&](std::size_t i) { return static_cast<std::uint64_t>(sums[cause][i]); });
  }
  return table.section();
}

Section gaps_section(const RunView& view, const analysis::Idle& idle) {
  const auto& gaps = idle.intervals;
  Columns table("gaps");
  table.deltas("worker", gaps.size(),
               [&](std::size_t i) { return static_cast<std::int64_t>(gaps[i].worker); });
  table.plain("cause", gaps.size(),
              [&](std::size_t i) { return static_cast<std::uint64_t>(gaps[i].cause); });
  Columns::Moments moments(table, gaps.size());
  moments.add("from", [&](std::size_t i) { return view.ticks(gaps[i].from); });
  moments.add("to", [&](std::size_t i) { return view.ticks(gaps[i].to); });
  return table.section();
}

}  // namespace vicinal::reports
