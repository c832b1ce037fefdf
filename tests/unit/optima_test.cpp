// Small graphs whose least bytes are known: tests/optima, made by bench/optima.cpp. No policy moves less, no bound is above,
// and `horizon` moves little more.
//
// A simulated run of one GPU with that memory compares, until its last task has ended. Its memory is a range of addresses, with
// holes where data are of unequal sizes; the optima know no holes. TEST_TABLE_VICINAL=1 prints a line per graph.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bounds/graph_bounds.hpp"
#include "graph/kernel_times.hpp"
#include "graphfiles/graph_file.hpp"
#include "machine/machine_model.hpp"
#include "play/play.hpp"
#include "sched/orders/horizon/horizon.hpp"
#include "sched/policy.hpp"
#include "support/least_bytes.hpp"

namespace vicinal::optima {
namespace {

const std::string kFolder = std::string(VICINAL_SOURCE_DIR) + "/tests/optima/";

struct Row {
  std::string name;
  std::uint64_t memory = 0;
  std::uint64_t loaded = 0;
  std::uint64_t moved = 0;
  std::vector<std::uint32_t> loading;  // orders of tasks that attain the least
  std::vector<std::uint32_t> moving;
  graph::Graph graph;
};

std::vector<std::uint32_t> numbers(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::uint32_t>(words), {}};
}

std::vector<Row> read_rows() {
  std::ifstream file(kFolder + "optima.csv");
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    Row row;
    char comma = 0;
    std::getline(fields, row.name, ',');
    fields >> row.memory >> comma >> row.loaded >> comma >> row.moved;
    std::string seed;
    std::string loading;
    std::string moving;
    fields >> comma;
    std::getline(fields, seed, ',');
    std::getline(fields, loading, ',');
    std::getline(fields, moving, ',');
    EXPECT_FALSE(fields.fail()) << "optima.csv: " << line;
    row.loading = numbers(loading);
    row.moving = numbers(moving);
    row.graph = graphfiles::read_graph(kFolder + row.name);
    rows.push_back(std::move(row));
  }
  return rows;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = read_rows();
  return all;
}

machine::MachineModel machine_of(const Row& row) {
  return machine::load_machine("v100p", {.gpus = 1, .gpu_memory = Bytes{row.memory}});
}

struct Moved {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::uint64_t both() const { return in + out; }
};

Moved run(const Row& row, std::string_view policy) {
  Options options;
  options.policy = policy;
  const NodeStatistics gpu = play::play(row.graph, machine_of(row), options).after.nodes.at(1);
  return {gpu.bytes_in.value, gpu.bytes_out.value};
}

// What the planner's own model counts.
Moved planned(const Row& row) {
  namespace horizon = sched::orders::horizon;
  const machine::MachineModel machine = machine_of(row);
  const graph::KernelSeconds seconds = graph::kernel_seconds(row.graph, machine);
  std::vector<horizon::Number> tasks(row.graph.tasks().size());
  std::iota(tasks.begin(), tasks.end(), horizon::Number{0});
  std::vector<Time> durations;
  for (const graph::Graph::Task& task : row.graph.tasks()) {
    durations.push_back(Time{static_cast<std::int64_t>(
        1e9 * seconds[task.kernel][static_cast<std::size_t>(ProcessorKind::gpu)])});
  }
  const BytesPerSecond rate{6e9};
  const horizon::Cost cost =
      horizon::best_plan(horizon::plan_graph(row.graph, tasks, durations),
                         {.bytes = row.memory, .in = rate, .out = rate, .latency = Time{10'000}})
          .cost;
  return {cost.loaded, cost.written};
}

class Mean {
 public:
  void add(std::uint64_t value, std::uint64_t least) {
    sum_ += std::log(static_cast<double>(value) / static_cast<double>(least));
    ++count_;
  }
  double value() const { return std::exp(sum_ / std::max(count_, 1)); }

 private:
  double sum_ = 0;
  int count_ = 0;
};

TEST(Optima, AreOfSixtySmallGraphs) {
  EXPECT_EQ(rows().size(), 60U);
  for (const Row& row : rows()) {
    EXPECT_LE(row.graph.tasks().size(), 40U) << row.name;
    EXPECT_GT(row.loaded, 0U) << row.name;
    EXPECT_GE(row.moved, row.loaded) << row.name;
  }
}

TEST(Optima, AreAttainedByTheOrdersOfTheTable) {
  using testing::Counted;
  for (const Row& row : rows()) {
    const auto loaded =
        testing::least_bytes_of(row.loading, row.graph, row.memory, Counted::loads, 1'000'000);
    EXPECT_EQ(loaded->bytes, row.loaded) << row.name;
    const auto moved = testing::least_bytes_of(row.moving, row.graph, row.memory,
                                               Counted::loads_and_writes, 1'000'000);
    EXPECT_EQ(moved->bytes, row.moved) << row.name;
  }
}

TEST(Optima, AreFoundAgainWhereTheSearchIsShort) {
  using testing::Counted;
  std::size_t found = 0;
  for (const Row& row : rows()) {
    const auto loaded = testing::least_bytes(row.graph, row.memory, Counted::loads, 300);
    const auto moved = testing::least_bytes(row.graph, row.memory, Counted::loads_and_writes, 300);
    if (loaded) {
      EXPECT_EQ(loaded->bytes, row.loaded) << row.name;
      ++found;
    }
    if (moved) {
      EXPECT_EQ(moved->bytes, row.moved) << row.name;
      ++found;
    }
  }
  EXPECT_GT(found, 20U);
}

TEST(Optima, AreAboveNoRunAndBelowNoBound) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.name);
    const machine::MachineModel machine = machine_of(row);
    const bounds::GraphBounds bounds = bounds::graph_bounds(
        row.graph, machine.description, graph::kernel_seconds(row.graph, machine));
    const std::uint64_t in = bounds.in().value.value;
    const std::uint64_t out = bounds.out.value.value;
    EXPECT_LE(in, row.loaded);
    EXPECT_LE(in + out, row.moved);
    for (const sched::PolicyEntry& policy : sched::policies()) {
      const Moved moved = run(row, policy.name);
      EXPECT_GE(moved.in, row.loaded) << policy.name;
      EXPECT_GE(moved.both(), row.moved) << policy.name;
      EXPECT_GE(moved.in, in) << policy.name;
      EXPECT_GE(moved.out, out) << policy.name;
    }
  }
}

bool has_equal_sizes(const graph::Graph& graph) {
  return std::ranges::all_of(graph.data(), [&](const graph::Graph::Datum& datum) {
    return datum.bytes == graph.data()[0].bytes;
  });
}

struct Means {
  Mean loaded;
  Mean moved;
  void add(const Moved& bytes, const Row& row) {
    loaded.add(bytes.in, row.loaded);
    moved.add(bytes.both(), row.moved);
  }
};

TEST(Optima, AreNotFarBelowWhatHorizonMoves) {
  const bool prints = std::getenv("TEST_TABLE_VICINAL") != nullptr;
  std::map<std::string, Means> all;
  std::map<std::string, Means> of_equal_sizes;
  for (const Row& row : rows()) {
    const std::map<std::string, Moved> runs{
        {"horizon", run(row, "horizon")}, {"darts", run(row, "darts")}, {"plan", planned(row)}};
    for (const auto& [name, bytes] : runs) {
      all[name].add(bytes, row);
      if (has_equal_sizes(row.graph)) of_equal_sizes[name].add(bytes, row);
    }
    if (!prints) continue;
    fmt::print("{:22} {:3} MiB, least {:3} {:3}", row.name, row.memory >> 20, row.loaded >> 20,
               row.moved >> 20);
    for (const auto& [name, bytes] : runs) {
      fmt::print(", {} {:3} {:3}", name, bytes.in >> 20, bytes.both() >> 20);
    }
    fmt::print("\n");
  }
  for (const char* name : {"horizon", "darts", "plan"}) {
    fmt::print(
        "{} over the least, geometric means: loaded {:.3f}, loaded and written {:.3f}; "
        "of data of equal sizes {:.3f}, {:.3f}\n",
        name, all[name].loaded.value(), all[name].moved.value(),
        of_equal_sizes[name].loaded.value(), of_equal_sizes[name].moved.value());
  }
  EXPECT_LE(all["horizon"].loaded.value(), 1.28);
  EXPECT_LE(all["horizon"].moved.value(), 1.31);
  EXPECT_LE(of_equal_sizes["horizon"].loaded.value(), 1.20);
  EXPECT_LE(all["plan"].loaded.value(), 1.14);
}

}  // namespace
}  // namespace vicinal::optima
