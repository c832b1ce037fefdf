#include "reproduction/figure.hpp"

#include <algorithm>
#include <cmath>

namespace vicinal::reproduction {

const Axis kWorkingSetGb{"working set (GB)",
                         [](const Row& row) { return row.measures.working_set * 1e-9; }};
const Axis kWorkingSetMb{"working set (MB)",
                         [](const Row& row) { return row.measures.working_set * 1e-6; }};
const Axis kMemoryMb{"memory of the GPU (MB)",
                     [](const Row& row) { return row.measures.memory * 1e-6; }};
const Axis kOrder{"order of the matrix", [](const Row& row) {
                    return static_cast<double>(row.point.tiles * row.point.tile);
                  }};
const Axis kGpus{"GPUs", [](const Row& row) { return row.point.x; }};
const Axis kRanks{"ranks", [](const Row& row) { return row.point.x; }};

std::string_view to_string(Effort effort) {
  switch (effort) {
    case Effort::quick:
      return "quick";
    case Effort::full:
      return "full";
    default:
      return "usual";
  }
}

namespace {

Point point_of(const Panel& panel, const Series& series, std::uint64_t value) {
  Point point{.panel = panel.name,
              .series = std::string(series.label),
              .x = static_cast<double>(value),
              .application = std::string(panel.application),
              .tiles = panel.tiles,
              .tile = panel.tile,
              .panel_elements = panel.panel_elements,
              .precision = std::string(panel.precision),
              .bottom_levels = panel.bottom_levels,
              .on_disk = panel.on_disk,
              .results_anew = panel.results_anew,
              .machine = std::string(panel.machine),
              .gpus = panel.gpus,
              .cpus = panel.cpus,
              .gpu_memory = panel.gpu_memory,
              .policy = std::string(series.policy),
              .memory_rules = std::string(series.memory_rules),
              .look_ahead = series.look_ahead,
              .ranks = panel.ranks,
              .rank_rows = panel.rank_rows,
              .gpu_columns = panel.gpu_columns,
              .receive_placement = std::string(series.receive_placement),
              .beside = series.beside};
  if (panel.varied == Varied::tiles) point.tiles = value;
  if (panel.varied == Varied::memory) point.gpu_memory = Bytes{value << 20};
  if (panel.varied == Varied::gpus) point.gpus = static_cast<std::uint32_t>(value);
  if (panel.varied == Varied::ranks || panel.varied == Varied::ranks_and_tiles) {
    point.ranks = static_cast<std::uint32_t>(value);
  }
  if (panel.varied == Varied::ranks_and_tiles) {
    const auto first = static_cast<double>(panel.values.front().front());
    point.tiles = static_cast<std::uint64_t>(std::llround(
        static_cast<double>(panel.tiles) * std::sqrt(static_cast<double>(value) / first)));
  }
  return point;
}

}  // namespace

std::vector<Point> points_of(const Figure& figure, Effort effort) {
  std::vector<Point> points;
  for (const Panel& panel : figure.panels) {
    for (const std::uint64_t value : panel.values[static_cast<std::size_t>(effort)]) {
      for (const Series& series : figure.series) {
        if (std::ranges::find(panel.without, series.label) != panel.without.end()) continue;
        points.push_back(point_of(panel, series, value));
      }
    }
  }
  return points;
}

}  // namespace vicinal::reproduction
