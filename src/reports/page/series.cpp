// What the page draws over time: memory in use, bytes on the links, ready tasks.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reports/page/run_data.hpp"

namespace vicinal::reports {

namespace {

using analysis::CopyOfRun;
using analysis::kNobody;
using analysis::kUnknown;
using analysis::RoomChange;
using analysis::TaskOfRun;

constexpr std::size_t kMostPoints = 20'000;  // of one line; of more, the peaks remain

struct Point {
  std::int64_t time = 0;   // in units of the view
  std::int64_t value = 0;  // from then on
};

// Of each of equal parts of the run the peak, and the last value: so no peak is lost, and the line goes on right.
std::vector<Point> thinned(std::vector<Point> points, std::int64_t end) {
  if (points.size() <= kMostPoints) return points;
  const std::int64_t bins = kMostPoints / 2;
  std::vector<Point> kept;
  for (std::size_t first = 0; first < points.size();) {
    const std::int64_t bin = points[first].time * bins / end;
    std::size_t next = first;
    std::size_t peak = first;
    for (; next < points.size() && points[next].time * bins / end == bin; ++next) {
      if (points[next].value > points[peak].value) peak = next;
    }
    kept.push_back(points[peak]);
    if (peak != next - 1) kept.push_back(points[next - 1]);
    first = next;
  }
  return kept;
}

void write(Columns& table, const std::string& name, std::vector<Point> points, std::int64_t end) {
  points = thinned(std::move(points), end);
  table.deltas(name + ".time", points.size(), [&](std::size_t i) { return points[i].time; });
  table.deltas(name + ".value", points.size(), [&](std::size_t i) { return points[i].value; });
}

// More lines nobody could tell apart.
void keep_fullest(std::vector<std::vector<Point>>& nodes) {
  constexpr std::size_t kMostLines = 8;
  std::vector<std::pair<std::int64_t, std::size_t>> peaks;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    std::int64_t peak = 0;
    for (const Point& point : nodes[n]) peak = std::max(peak, point.value);
    peaks.emplace_back(-peak, n);
  }
  std::ranges::sort(peaks);
  for (std::size_t i = kMostLines; i < peaks.size(); ++i) nodes[peaks[i].second].clear();
}

void write_memory(const RunView& view, Columns& table) {
  std::vector<std::vector<Point>> nodes(view.run.facts.machine.nodes.size());
  for (const RoomChange& change : view.run.room) {
    const bool says =
        change.kind == RoomChange::Kind::taken || change.kind == RoomChange::Kind::freed;
    if (!says || change.node >= nodes.size()) continue;
    std::vector<Point>& points = nodes[change.node];
    const Point point{view.ticks(change.time), static_cast<std::int64_t>(change.used)};
    if (!points.empty() && points.back().time == point.time) points.pop_back();
    points.push_back(point);
  }
  if (!view.rank_rows.empty()) keep_fullest(nodes);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (!nodes[n].empty()) write(table, fmt::format("memory{}", n), std::move(nodes[n]), view.end);
  }
}

// Ready, and not yet begun.
void write_ready(const RunView& view, Columns& table) {
  std::vector<Point> changes;
  for (const TaskOfRun& task : view.run.tasks) {
    if (task.ready == kUnknown || task.started == kUnknown) continue;
    changes.push_back({view.ticks(task.ready), 1});
    changes.push_back({view.ticks(task.started), -1});
  }
  // What begins before what becomes ready at the same moment: no peak that nobody saw.
  std::ranges::sort(changes, [](const Point& a, const Point& b) {
    return a.time != b.time ? a.time < b.time : a.value < b.value;
  });
  std::vector<Point> points;
  std::int64_t ready = 0;
  for (const Point& change : changes) {
    ready += change.value;
    if (!points.empty() && points.back().time == change.time) points.pop_back();
    points.push_back({change.time, ready});
  }
  // A task that begins as soon as it is ready would count as -1 before it counts as 1.
  for (Point& point : points) point.value = std::max<std::int64_t>(point.value, 0);
  write(table, "ready", std::move(points), view.end);
}

// Bytes in each of equal parts of the run, spread evenly over the time of a copy.
void write_links(const RunView& view, Columns& table) {
  const double bin = static_cast<double>(view.end * view.unit) / kOverviewBins;
  std::vector<std::vector<double>> links(view.links.size(), std::vector<double>(kOverviewBins, 0));
  for (const CopyOfRun& copy : view.run.copies) {
    const std::uint32_t link = view.link_of(copy);
    if (link == kNobody || copy.ended == kUnknown) continue;
    const auto from = static_cast<double>(copy.started);
    const double to = std::max(static_cast<double>(copy.ended), from + 1);
    const double per_ns = static_cast<double>(copy.bytes) / (to - from);
    auto at = static_cast<std::size_t>(from / bin);
    for (; at < kOverviewBins && static_cast<double>(at) * bin < to; ++at) {
      const double begin = static_cast<double>(at) * bin;
      links[link][at] += per_ns * std::max(0.0, std::min(to, begin + bin) - std::max(from, begin));
    }
  }
  for (std::size_t l = 0; l < links.size(); ++l) {
    table.plain(fmt::format("link{}", l), kOverviewBins,
                [&](std::size_t i) { return std::llround(links[l][i]); });
  }
}

}  // namespace

Section series_section(const RunView& view) {
  Columns table("series");
  write_memory(view, table);
  write_ready(view, table);
  if (view.rank_rows.empty()) write_links(view, table);
  return table.section();
}

}  // namespace vicinal::reports
