// What analyses found out about a run: idle times by cause, the critical path, advice.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "reports/findings_json.hpp"
#include "reports/page/run_data.hpp"

namespace vicinal::reports {

namespace {

template <typename Entries>
Json sentences(const Entries& entries) {
  Json json = Json::array();
  for (const auto& entry : entries) json.push_back({entry.name, entry.sentence});
  return json;
}

}  // namespace

Json causes_json() {
  return {{"idle", sentences(analysis::idle_causes())},
          {"path", sentences(analysis::path_causes())}};
}

Json idle_of_page_json(const RunView& view, const PageRun& run) {
  const analysis::Idle& idle = run.analyses.idle;
  if (view.rank_rows.empty()) return idle_json(run.proper, idle);
  analysis::Idle of_all = idle;
  of_all.workers.clear();
  Json json = idle_json(run.proper, of_all);
  const Json names = rank_rows_json(view);
  for (std::size_t i = 0; i < view.rank_rows.size(); ++i) {
    const RankRow& row = view.rank_rows[i];
    analysis::IdleOfWorker sum;
    for (std::uint32_t w = row.first_worker; w < row.first_worker + row.workers; ++w) {
      sum.run += idle.workers[w].run;
      for (std::size_t c = 0; c < sum.by_cause.size(); ++c)
        sum.by_cause[c] += idle.workers[w].by_cause[c];
    }
    const std::int64_t workers = std::max<std::uint32_t>(row.workers, 1);
    Json by_cause = Json::object();
    for (std::size_t c = 0; c < sum.by_cause.size(); ++c)
      by_cause[std::string(analysis::idle_causes()[c].name)] = sum.by_cause[c] / workers;
    json["workers"].push_back(
        {{"name", names[i]}, {"run_ns", sum.run / workers}, {"idle_ns", std::move(by_cause)}});
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
