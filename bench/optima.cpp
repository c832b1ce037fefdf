// Question: what are the least bytes that any schedule of these graphs moves, into a memory that holds a part of their data?
//
//   optima tests/optima
//
// writes 60 graphs of at most 40 tasks there, and the table optima.csv: by graph the memory, the least bytes that come in,
// the least bytes that come in and go out until the last task has ended, and orders of tasks that attain the two.
// tests/support/least_bytes.hpp says what counts and how it is found. The test tests/unit/optima_test.cpp compares policies
// and bounds with the table.
//
// The graphs are of fixed shapes and seeds: the same program writes the same files. One line per graph says how many
// states were looked at. A graph that takes more than --most of them is left out, and named.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/random.hpp"
#include "graph/graph.hpp"
#include "graphfiles/graph_file.hpp"
#include "graphs/linalg_graphs.hpp"
#include "graphs/synthetic_graphs.hpp"
#include "help.hpp"
#include "support/least_bytes.hpp"
#include "vicinal/error.hpp"

namespace {

using namespace vicinal;
using graph::Graph;
using testing::Counted;

constexpr const char* kHelp =
    "optima FOLDER [--most STATES]\n\n"
    "Writes small graphs into the folder, and optima.csv: the least bytes that any schedule "
    "moves.\n"
    "  --most   states that are looked at, of one graph (5000000)\n";

enum class Sizes : std::uint8_t { equal, unequal };
enum class Times : std::uint8_t { equal, varied };

struct Case {
  std::string name;
  Graph graph;
  double room = 0;  // 0: of the largest task; 1: of half of the data
  Sizes sizes = Sizes::equal;
  Times times = Times::equal;
  std::uint64_t seed = 1;
};

// Copies of 1 MiB take 175 us on the machine of the test: they decide, not the tasks.
constexpr double kSeconds = 1e-5;

// Tasks and accesses are those of the graph; sizes are whole MiB, equal ones or 1 to 4 at random, and each kernel
// takes 10 us, or up to 80 at random.
Graph small(const Case& given) {
  base::Random random(given.seed);
  Graph made;
  made.application().name = given.graph.application().name;
  for (std::size_t d = 0; d < given.graph.data().size(); ++d) {
    const std::uint64_t size = given.sizes == Sizes::equal ? 1 : 1 + random.below(4);
    made.add_datum({.bytes = {size << 20}, .home = given.graph.data()[d].home},
                   given.graph.data_name(d).empty() ? fmt::format("D{}", d)
                                                    : std::string(given.graph.data_name(d)));
  }
  for (const Graph::Kernel& kernel : given.graph.kernels()) {
    Graph::Kernel timed{.name = kernel.name};
    timed.seconds[static_cast<std::size_t>(ProcessorKind::gpu)] =
        given.times == Times::equal ? kSeconds
                                    : kSeconds * static_cast<double>(1 + random.below(8));
    made.add_kernel(timed);
  }
  for (const Graph::Task& task : given.graph.tasks()) {
    made.add_task(task.kernel, given.graph.accesses_of(task));
  }
  return made;
}

// --- Shapes that the library does not make ---------------------------------------------------------

using Accesses = std::vector<Graph::Access>;
using Number = Graph::Number;
using enum AccessMode;

struct Builder {
  Graph graph;
  explicit Builder(const char* name) {
    graph.application().name = name;
    for (int k = 0; k < 3; ++k) graph.add_kernel({.name = fmt::format("k{}", k)});
  }
  Number at_home() { return graph.add_datum({.bytes = {1}, .home = NodeKind::ram}); }
  Number made() { return graph.add_datum({.bytes = {1}}); }
  void task(const Accesses& accesses) {
    graph.add_task(static_cast<Number>(graph.tasks().size() % 3), accesses);
  }
};

// Pairs are joined until one is left: n leaves in RAM, n - 1 tasks. `extra`: each task reads one of so many data, too.
Graph tree_in(std::size_t leaves, std::size_t extra) {
  Builder tree("tree");
  std::vector<Number> level;
  std::vector<Number> shared;
  for (std::size_t i = 0; i < leaves; ++i) level.push_back(tree.at_home());
  for (std::size_t i = 0; i < extra; ++i) shared.push_back(tree.at_home());
  std::size_t count = 0;
  while (level.size() > 1) {
    std::vector<Number> next;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
      next.push_back(tree.made());
      Accesses accesses{{level[i], R}, {level[i + 1], R}, {next.back(), W}};
      if (extra > 0) accesses.push_back({shared[count++ % extra], R});
      tree.task(accesses);
    }
    if (level.size() % 2 != 0) next.push_back(level.back());
    level = std::move(next);
  }
  return std::move(tree.graph);
}

// One datum becomes many: each task reads its parent's and makes its own; leaves change a datum in RAM.
Graph tree_out(std::size_t tasks, std::size_t children, std::size_t outputs) {
  Builder tree("tree");
  std::vector<Number> own{tree.at_home()};
  std::vector<Number> results;
  for (std::size_t i = 0; i < outputs; ++i) results.push_back(tree.at_home());
  for (std::size_t t = 0; t < tasks; ++t) {
    own.push_back(tree.made());
    Accesses accesses{{own[t / children], R}, {own.back(), W}};
    if (t * children >= tasks) accesses.push_back({results[t % outputs], RW});
    tree.task(accesses);
  }
  return std::move(tree.graph);
}

// Phases: one task changes a datum, `width` tasks read it with two data each and change one of these.
Graph fork_join(std::size_t phases, std::size_t width, std::size_t data, std::uint64_t seed) {
  base::Random random(seed);
  Builder forks("fork-join");
  const Number state = forks.at_home();
  std::vector<Number> shared;
  for (std::size_t i = 0; i < data; ++i) shared.push_back(forks.at_home());
  for (std::size_t p = 0; p < phases; ++p) {
    for (std::size_t i = 0; i < width; ++i) {
      const Number changed = shared[(i + p) % data];
      const Number read = shared[random.below(data)];
      Accesses accesses{{state, R}, {changed, RW}};
      if (read != changed) accesses.push_back({read, R});
      forks.task(accesses);
    }
    Accesses join{{state, RW}};
    for (std::size_t i = 0; i < 2; ++i) join.push_back({shared[(p + i * width / 2) % data], R});
    forks.task(join);
  }
  return std::move(forks.graph);
}

// Chains, each on a datum of its own, that read shared data in orders of their own.
Graph chains(std::size_t count, std::size_t length, std::size_t data, std::uint64_t seed) {
  base::Random random(seed);
  Builder made("chains");
  std::vector<Number> own;
  std::vector<Number> shared;
  for (std::size_t i = 0; i < count; ++i) own.push_back(made.at_home());
  for (std::size_t i = 0; i < data; ++i) shared.push_back(made.at_home());
  for (std::size_t step = 0; step < length; ++step) {
    for (std::size_t chain = 0; chain < count; ++chain) {
      made.task({{own[chain], RW}, {shared[random.below(data)], R}});
    }
  }
  return std::move(made.graph);
}

// Layers of tasks that read results of the layer before, or inputs, and make one.
Graph layered(std::size_t layers, std::size_t width, std::size_t inputs, std::uint64_t seed) {
  base::Random random(seed);
  Builder made("layered");
  std::vector<Number> first;
  for (std::size_t i = 0; i < inputs; ++i) first.push_back(made.at_home());
  std::vector<Number> before = first;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    std::vector<Number> results;
    for (std::size_t i = 0; i < width; ++i) {
      const Number one = before[random.below(before.size())];
      const Number other = random.below(4) == 0 ? first[random.below(first.size())]
                                                : before[random.below(before.size())];
      Accesses accesses{{one, R}};
      if (other != one) accesses.push_back({other, R});
      if (random.below(4) == 0 && one >= inputs) {
        accesses[0].mode = RW;
        results.push_back(one);
      } else {
        results.push_back(made.made());
        accesses.push_back({results.back(), W});
      }
      made.task(accesses);
    }
    before = std::move(results);
  }
  return std::move(made.graph);
}

// Sweeps in place over a grid of w x h blocks: each task changes its block and reads two neighbours.
Graph sweeps(std::size_t width, std::size_t height, std::size_t steps) {
  Builder made("sweeps");
  std::vector<Number> block;
  for (std::size_t i = 0; i < width * height; ++i) block.push_back(made.at_home());
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        Accesses accesses{{block[y * width + x], RW}};
        if (x > 0) accesses.push_back({block[y * width + x - 1], R});
        if (y > 0) accesses.push_back({block[(y - 1) * width + x], R});
        made.task(accesses);
      }
    }
  }
  return std::move(made.graph);
}

// Tasks at random that read and change data of a few.
Graph mixed(std::size_t tasks, std::size_t data, std::uint64_t seed) {
  base::Random random(seed);
  Builder made("mixed");
  for (std::size_t i = 0; i < data; ++i) made.at_home();
  for (std::size_t t = 0; t < tasks; ++t) {
    Accesses accesses;
    for (std::uint64_t i = 1 + random.below(3); i > 0; --i) {
      const auto datum = static_cast<Number>(random.below(data));
      const bool taken = std::ranges::any_of(accesses, [&](auto& a) { return a.datum == datum; });
      if (!taken) accesses.push_back({datum, random.below(4) == 0 ? RW : R});
    }
    made.task(accesses);
  }
  return std::move(made.graph);
}

// A product of n x n tiles that takes k steps in a dimension of its own.
Graph product(std::uint64_t tiles, std::uint64_t inner) {
  return graphs::gemm3d({.tiles = tiles, .tile = 64}, inner * 64);
}

Graph bipartite(std::uint64_t tasks, std::uint64_t data, std::uint64_t degree, std::uint64_t seed) {
  return graphs::random_bipartite({.tasks = tasks, .data = data, .degree = degree, .seed = seed});
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](std::string_view name, const Graph& graph,
                       std::initializer_list<double> rooms) {
    for (const double room : rooms) {
      const std::size_t n = all.size();
      all.push_back({.name = fmt::format("{}-{}", name, static_cast<int>(100 * room)),
                     .graph = graph,
                     .room = room,
                     .sizes = n % 3 == 2 ? Sizes::unequal : Sizes::equal,
                     .times = n % 2 == 1 ? Times::varied : Times::equal,
                     .seed = n + 1});
    }
  };
  add("cholesky-4", graphs::cholesky({.tiles = 4, .tile = 64}), {0, 0.5, 1});
  add("cholesky-5", graphs::cholesky({.tiles = 5, .tile = 64}), {0, 0.25, 0.5, 0.75, 1});
  add("lu-3", graphs::lu({.tiles = 3, .tile = 64}), {0, 1});
  add("lu-4", graphs::lu({.tiles = 4, .tile = 64}), {0, 0.2, 0.4, 0.7, 1});
  add("qr-3", graphs::qr({.tiles = 3, .tile = 64}), {0, 0.4, 1});
  add("qr-4", graphs::qr({.tiles = 4, .tile = 64}), {0, 0.3, 0.6});
  add("gemm2d-3", graphs::gemm2d({.tiles = 3, .tile = 64}), {0, 1});
  add("gemm2d-4", graphs::gemm2d({.tiles = 4, .tile = 64}), {0, 0.3});
  add("gemm3d-3", product(3, 3), {0, 1});
  add("gemm3d-2x9", product(2, 9), {0, 0.3});
  add("stencil-5", graphs::stencil({.width = 5, .steps = 8}), {0, 0.5});
  add("stencil-10", graphs::stencil({.width = 10, .steps = 4}), {0.2, 0.8});
  add("sweeps", sweeps(4, 3, 3), {0, 0.4, 1});
  add("tree-in", tree_in(24, 4), {0, 0.3});
  add("tree-out", tree_out(31, 2, 6), {0, 0.3});
  add("fork-join", fork_join(5, 6, 10, 1), {0, 0.4, 1});
  add("chains", chains(6, 6, 6, 2), {0, 0.3, 1});
  add("layered-a", layered(6, 6, 6, 3), {0, 0.3});
  add("layered-b", layered(8, 4, 6, 4), {0, 0.5});
  add("random", graphs::random_dag({.tasks = 36, .seed = 5}), {0, 0.4});
  add("bipartite-2", bipartite(20, 10, 2, 6), {0, 0.3, 0.7});
  add("bipartite-3", bipartite(16, 10, 3, 7), {0, 0.4});
  add("mixed", mixed(40, 14, 8), {0, 0.3, 0.7});
  return all;
}

// Whole MiB, the operands of the largest task at least.
std::uint64_t memory_of(const Graph& graph, double room) {
  std::uint64_t all = 0;
  for (const Graph::Datum& datum : graph.data()) all += datum.bytes.value >> 20;
  std::uint64_t largest = 0;
  for (const Graph::Task& task : graph.tasks()) {
    std::uint64_t operands = 0;
    for (const Graph::Access& access : graph.accesses_of(task)) {
      operands += graph.data()[access.datum].bytes.value >> 20;
    }
    largest = std::max(largest, operands);
  }
  const std::uint64_t half = all / 2;
  const double between = half > largest ? static_cast<double>(half - largest) : 0;
  return (largest + static_cast<std::uint64_t>(std::ceil(room * between))) << 20;
}

bool write_case(const Case& given, const std::filesystem::path& folder, std::ostream& table,
                std::size_t most) {
  const Graph graph = small(given);
  const std::uint64_t memory = memory_of(graph, given.room);
  const auto loads = testing::least_bytes(graph, memory, Counted::loads, most);
  const auto both = testing::least_bytes(graph, memory, Counted::loads_and_writes, most);
  fmt::print("{:14} seed {:2}, {:2} tasks, {:2} data, {:3} MiB: ", given.name, given.seed,
             graph.tasks().size(), graph.data().size(), memory >> 20);
  if (!loads || !both) {
    fmt::print("more than {} states{}{}\n", most, loads ? "" : " of loads", both ? "" : " of both");
    std::fflush(stdout);
    return false;
  }
  fmt::print("{:3} and {:3} MiB, {} and {} states\n", loads->bytes >> 20, both->bytes >> 20,
             loads->states, both->states);
  std::fflush(stdout);
  std::ofstream file(folder / (given.name + ".json"));
  graphfiles::write_graph_json(graph, file);
  table << fmt::format("{}.json,{},{},{},{},{},{}\n", given.name, memory, loads->bytes, both->bytes,
                       given.seed, fmt::join(loads->order, " "), fmt::join(both->order, " "))
        << std::flush;
  file.close();
  if (!file || !table) {
    throw UsageError(fmt::format("cannot write {}: is the disk full, or the folder not yours?",
                                 (folder / given.name).string()));
  }
  return true;
}

void write_all(const std::filesystem::path& folder, std::size_t most) {
  std::filesystem::create_directories(folder);
  std::ofstream table(folder / "optima.csv");
  table << "graph,memory_bytes,least_loaded_bytes,least_moved_bytes,seed,order_that_loads_it,order_"
           "that_moves_it\n";
  std::size_t written = 0;
  for (const Case& each : cases()) written += write_case(each, folder, table, most) ? 1 : 0;
  fmt::print("{} graphs\n", written);
}

}  // namespace

int main(int count, char** arguments) {
  if (bench::helped(count, arguments, kHelp)) return 0;
  try {
    const std::vector<std::string_view> given(arguments + 1, arguments + count);
    std::size_t most = 5'000'000;
    if (given.empty() || given[0].starts_with("-")) throw UsageError("name the folder");
    if (given.size() == 3 && given[1] == "--most") {
      most = std::stoull(std::string(given[2]));
    } else if (given.size() != 1) {
      throw UsageError("unknown arguments");
    }
    write_all(given[0], most);
  } catch (const std::exception& error) {
    fmt::print(stderr, "optima: {}\n{}", error.what(), kHelp);
    return 1;
  }
  return 0;
}
