#include "reproduce_points.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "graphs/make_graph.hpp"
#include "job_progress.hpp"
#include "reports/terminal.hpp"
#include "reproduction/measure.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

constexpr std::size_t kMostThreads = 2;

// What the threads share.
struct Work {
  std::mutex mutex;
  std::size_t next = 0;
  std::vector<std::string> failures;
};

reproduction::Row measured(const reproduction::Point& point) {
  if (point.application.empty()) return {point, reproduction::measure(point, {})};
  return {point, reproduction::measure(
                     point, graph_of(point.application, point.tiles, point.tile, point.precision,
                                     point.panel_elements, point.on_ranks.width * point.tiles))};
}

void work_on(Work& work, const std::vector<reproduction::Point>& points,
             reproduction::PointFile& file, JobProgress& progress) {
  std::unique_lock lock(work.mutex);
  while (work.next < points.size()) {
    const reproduction::Point& point = points[work.next++];
    lock.unlock();
    std::string failure;
    try {
      file.append(measured(point));
    } catch (const std::exception& error) {
      failure = fmt::format("{}, {}, {}: {}", point.panel, point.series, point.x, error.what());
    }
    lock.lock();
    if (!failure.empty()) work.failures.push_back(failure);
    progress.ended(fmt::format("{} {} {}", point.panel, point.series, point.x));
  }
}

}  // namespace

graph::Graph graph_of(const std::string& application, std::uint64_t tiles, std::uint64_t tile,
                      std::string_view precision, std::uint64_t panel, std::uint64_t columns) {
  const bool is_double = precision == "double";
  return graphs::make_graph(
      {.application = application,
       .tiles = tiles,
       .tile = tile,
       .panel = panel,
       .columns = columns,
       .precision = is_double ? linalg::Precision::f64 : linalg::Precision::f32});
}

std::vector<std::string> measure_points(const std::vector<reproduction::Point>& points,
                                        reproduction::PointFile& file, std::string_view figure,
                                        Session& session) {
  std::vector<reproduction::Point> left;
  for (const reproduction::Point& point : points) {
    if (!file.has(point)) left.push_back(point);
  }
  if (left.empty()) return {};
  Work work;
  JobProgress progress(figure, "points", points.size() - left.size(), points.size());
  const Signals::AtInterrupt at_interrupt(session.signals, [&] {
    const std::lock_guard lock(work.mutex);
    reports::clear_line();
    fmt::print(stderr,
               "vicinal: interrupted: {} of {} points of {} are measured; the same command goes on "
               "there\n",
               progress.done(), points.size(), figure);
  });
  const std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1,
                                                      std::min(kMostThreads, left.size()));
  std::vector<std::jthread> workers;
  for (std::size_t i = 1; i < threads; ++i) {
    workers.emplace_back([&] { work_on(work, left, file, progress); });
  }
  work_on(work, left, file, progress);
  for (std::jthread& worker : workers) worker.join();
  return work.failures;
}

}  // namespace vicinal::cli
