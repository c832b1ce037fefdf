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
const Axis kRecipients{"recipients", [](const Row& row) { return row.point.x; }};
const Axis kMessageKb{"content (KB)", [](const Row& row) { return row.point.x * 1e-3; }, true};
const Axis kRank{"rank", [](const Row& row) { return row.point.x; }};
const Axis kTile{"order of a tile", [](const Row& row) { return row.point.x; }};
const Axis kGridRows{"rows of ranks", [](const Row& row) { return row.point.x; }};

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

void vary(Point& point, const Panel& panel, std::uint64_t value) {
  const auto small = static_cast<std::uint32_t>(value);
  switch (panel.varied) {
    case Varied::tiles:
      point.tiles = value;
      break;
    case Varied::memory:
      point.gpu_memory = Bytes{value << 20};
      break;
    case Varied::gpus:
      point.gpus = small;
      break;
    case Varied::ranks:
      point.on_ranks.ranks = small;
      break;
    case Varied::ranks_and_tiles: {
      const double more =
          static_cast<double>(value) / static_cast<double>(panel.values.front().front());
      point.on_ranks.ranks = small;
      point.tiles = static_cast<std::uint64_t>(
          std::llround(static_cast<double>(panel.tiles) * std::sqrt(more)));
      break;
    }
    case Varied::recipients:
      point.on_ranks.ranks = small + 1;
      break;
    case Varied::bytes:
      point.on_ranks.bytes = {value};
      break;
    case Varied::rank:
      point.on_ranks.to = small;
      break;
    case Varied::tile:
      point.tiles = point.tiles * point.tile / value;
      point.tile = value;
      break;
    case Varied::grid_rows:
      point.on_ranks.grid_rows = small;
      break;
  }
}

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
              .on_ranks = panel.on_ranks,
              .beside = series.beside};
  point.on_ranks.broadcast += series.broadcast;
  point.on_ranks.receive_placement = series.receive_placement;
  point.on_ranks.is_bare = point.on_ranks.is_bare || series.is_bare;
  vary(point, panel, value);
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
