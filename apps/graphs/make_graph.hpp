// Every generator of graphs by name, for command lines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "graph/graph.hpp"
#include "linalg/tile_grid.hpp"
#include "vicinal/units.hpp"

namespace vicinal::graphs {

// What a generator does not know it does not look at; `inner` 0 is the generator's own choice.
struct GraphRequest {
  std::string application;
  // cholesky, lu, lu-incpiv, qr, gemm2d, gemm3d
  std::uint64_t tiles = 16;
  std::uint64_t tile = 960;
  std::uint64_t inner = 0;          // gemm2d, gemm3d: elements
  std::uint64_t panel = 0;          // cholesky: of two levels, 0: one; lu-incpiv, qr: elements
  std::string panel_tree = "flat";  // qr: see PanelTree
  std::uint64_t columns = 0;        // qr: of tiles, see dense_qr
  linalg::Precision precision = linalg::Precision::f32;
  bool as_run = false;  // as the application of that name submits it here, where that differs
  // cg
  std::string grid = "512x512";  // see graphs::parse_grid
  std::uint64_t blocks = 16;
  std::uint64_t iterations = 10;
  // bipartite, random; the seed also task_bench
  std::uint64_t tasks = 1000;
  std::uint64_t data = 100;  // bipartite
  std::uint64_t degree = 2;  // bipartite
  std::uint64_t seed = 1;
  // stencil, task_bench
  std::uint64_t width = 32;
  std::uint64_t steps = 10;
  // task_bench: see TaskBenchShape
  std::string pattern = "stencil_1d";
  double imbalance = 0;
  std::optional<std::uint64_t> radix = {};
  std::optional<std::uint64_t> period = {};
  std::optional<double> fraction = {};
  // bipartite, stencil, task_bench, random
  Bytes bytes = 4_MiB;
  double seconds = 1e-3;
};

struct GraphApplication {
  std::string_view name;
  std::string_view sentence;
  std::span<const std::string_view> parameters;  // the members of GraphRequest that it looks at
  graph::Graph (*make)(const GraphRequest& request);
};

std::span<const GraphApplication> graph_applications();

// Throws UsageError: of an unknown application, which names the nearest one and all there are, or of a
// parameter out of range. What it returns has passed graph::require_sound.
graph::Graph make_graph(const GraphRequest& request);

}  // namespace vicinal::graphs
