#include "graphs/make_graph.hpp"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "graph/sound.hpp"
#include "graphs/cg_graph.hpp"
#include "graphs/linalg_graphs.hpp"
#include "graphs/poisson.hpp"
#include "graphs/synthetic_graphs.hpp"
#include "graphs/task_bench.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphs {

namespace {

using Request = GraphRequest;

Tiles tiles_of(const Request& r) {
  return {.tiles = r.tiles, .tile = r.tile, .precision = r.precision};
}

constexpr std::string_view kOfMatrices[] = {"tiles", "tile", "precision"};
constexpr std::string_view kOfProducts[] = {"tiles", "tile", "precision", "inner"};
constexpr std::string_view kOfPanels[] = {"tiles", "tile", "precision", "panel"};
constexpr std::string_view kOfQr[] = {"tiles", "tile", "precision", "panel", "panel-tree"};
constexpr std::string_view kOfCg[] = {"grid", "blocks", "iterations"};
constexpr std::string_view kOfBipartite[] = {"tasks", "data", "degree", "bytes", "seconds", "seed"};
constexpr std::string_view kOfStencil[] = {"width", "steps", "bytes", "seconds"};
constexpr std::string_view kOfTaskBench[] = {"pattern",   "width", "steps",  "bytes",
                                             "seconds",   "radix", "period", "fraction",
                                             "imbalance", "seed"};
constexpr std::string_view kOfRandom[] = {"tasks", "bytes", "seconds", "seed"};

constexpr std::array kApplications{
    GraphApplication{"cholesky", "tile Cholesky factorisation, right-looking", kOfPanels,
                     [](const Request& r) {
                       if (r.panel > 0) return cholesky_two_level(tiles_of(r), r.panel);
                       return r.as_run ? cholesky_as_run(tiles_of(r)) : cholesky(tiles_of(r));
                     }},
    GraphApplication{"lu", "tile LU factorisation without pivoting, right-looking", kOfMatrices,
                     [](const Request& r) { return lu(tiles_of(r)); }},
    GraphApplication{"lu-incpiv", "tile LU factorisation with incremental pivoting", kOfPanels,
                     [](const Request& r) { return lu_incremental(tiles_of(r), r.panel); }},
    GraphApplication{"qr", "tile QR factorisation by Householder reflectors", kOfQr,
                     [](const Request& r) {
                       return qr(tiles_of(r), panel_tree_of(r.panel_tree), r.panel, r.columns);
                     }},
    GraphApplication{"gemm2d", "matrix product of a column and a row of tiles: independent tasks",
                     kOfProducts, [](const Request& r) { return gemm2d(tiles_of(r), r.inner); }},
    GraphApplication{"gemm3d", "matrix product by tiles: a chain of tasks per tile of the result",
                     kOfProducts, [](const Request& r) { return gemm3d(tiles_of(r), r.inner); }},
    GraphApplication{
        "cg", "conjugate gradients on Poisson's equation, in blocks of rows", kOfCg,
        [](const Request& r) {
          return cg({.grid = parse_grid(r.grid), .blocks = r.blocks, .iterations = r.iterations});
        }},
    GraphApplication{"bipartite", "independent tasks that read data chosen at random", kOfBipartite,
                     [](const Request& r) {
                       return random_bipartite({.tasks = r.tasks,
                                                .data = r.data,
                                                .degree = r.degree,
                                                .bytes = r.bytes,
                                                .seconds = r.seconds,
                                                .seed = r.seed});
                     }},
    GraphApplication{
        "stencil", "Jacobi's iteration in one dimension, three points, two buffers", kOfStencil,
        [](const Request& r) {
          return stencil(
              {.width = r.width, .steps = r.steps, .bytes = r.bytes, .seconds = r.seconds});
        }},
    GraphApplication{
        "random", "layers of tasks with random dependencies, sizes and times", kOfRandom,
        [](const Request& r) {
          return random_dag(
              {.tasks = r.tasks, .bytes = r.bytes, .seconds = r.seconds, .seed = r.seed});
        }},
    GraphApplication{"task_bench",
                     "steps of tasks that depend on each other in a pattern of Task Bench",
                     kOfTaskBench,
                     [](const Request& r) {
                       return task_bench({.pattern = r.pattern,
                                          .width = r.width,
                                          .steps = r.steps,
                                          .bytes = r.bytes,
                                          .seconds = r.seconds,
                                          .imbalance = r.imbalance,
                                          .radix = r.radix,
                                          .period = r.period,
                                          .fraction = r.fraction,
                                          .seed = r.seed});
                     }},
};

}  // namespace

std::span<const GraphApplication> graph_applications() {
  return kApplications;
}

graph::Graph make_graph(const GraphRequest& request) {
  std::vector<std::string_view> names;
  for (const GraphApplication& application : kApplications) {
    if (application.name == request.application) {
      graph::Graph graph = application.make(request);
      graph::require_sound(graph, request.application);
      return graph;
    }
    names.push_back(application.name);
  }
  std::string list;
  for (const std::string_view name : names)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", name);
  const std::string_view nearest = base::nearest(request.application, names);
  throw UsageError(fmt::format("there is no graph \"{}\"{} There are {}", request.application,
                               nearest.empty() ? "." : fmt::format(": did you mean {}?", nearest),
                               list));
}

}  // namespace vicinal::graphs
