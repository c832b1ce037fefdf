// LU and the products under every policy: in memory and in a part of it, float and double, checked.
#if VICINAL_HAVE_BLAS

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linalg/dense_check.hpp"
#include "linalg/dense_run.hpp"
#include "linalg/dense_tasks.hpp"
#include "support/linalg_runs.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/error.hpp"

namespace vicinal::linalg {
namespace {

using graphs::DenseGraph;
using testing::change_elements;
using testing::expect_within_limit;
using ::testing::HasSubstr;
using testing::padded;
using testing::policy_names;
using testing::TemporaryFolder;
using testing::with_policy;

const std::vector<std::string> kNames{"lu", "gemm2d", "gemm3d"};

// 5 x 5 tiles of LU; products of 4 x 4 tiles, 192 or 144 elements deep.
DenseGraph small_graph(const std::string& name, Precision precision) {
  if (name == "lu") return graphs::dense_lu({.tiles = 5, .tile = 56, .precision = precision});
  const std::uint64_t inner = name == "gemm2d" ? 0 : 144;
  return graphs::dense_graph(name, {.tiles = 4, .tile = 48, .precision = precision}, inner);
}

Bytes all_data(const DenseGraph& graph) {
  Bytes sum;
  for (const auto& datum : graph.tasks.data()) sum += padded(datum.bytes);
  return sum;
}

Bytes largest_task(const DenseGraph& graph) {
  Bytes most;
  for (const auto& task : graph.tasks.tasks()) {
    Bytes sum;
    for (const auto& access : graph.tasks.accesses_of(task)) {
      sum += padded(graph.tasks.data()[access.datum].bytes);
    }
    most = std::max(most, sum);
  }
  return most;
}

using Case = std::tuple<std::string, std::string, Precision>;

class DenseConformance : public ::testing::TestWithParam<Case> {
 protected:
  Options options() const { return with_policy(std::get<1>(GetParam())); }
  const DenseGraph& graph() const { return graph_; }

  RunOutcome run(Runtime& runtime) const { return run(runtime, {.names = true}); }
  RunOutcome run(Runtime& runtime, DenseRequest request) const {
    request.graph = &graph_;
    request.check = true;
    RunOutcome outcome = run_dense(runtime, request);
    EXPECT_TRUE(outcome.residual->passed())
        << outcome.residual->value << " > " << outcome.residual->tolerance;
    EXPECT_EQ(outcome.after.tasks_done - outcome.before.tasks_done, graph_.tasks.tasks().size());
    // At least: what waits for a vector of the check to be unregistered counts as a task too.
    EXPECT_GE(outcome.last.tasks_done - outcome.after.tasks_done, check_tasks(graph_));
    expect_within_limit(runtime);
    return outcome;
  }

 private:
  DenseGraph graph_ = small_graph(std::get<0>(GetParam()), std::get<2>(GetParam()));
};

TEST_P(DenseConformance, IsRightInMemory) {
  Runtime runtime(options());
  run(runtime);
}

TEST_P(DenseConformance, IsRightInAThirdOfTheMemory) {
  const TemporaryFolder folder;
  Options limited = options();
  limited.memory = Bytes{all_data(graph()).value / 3};
  limited.disk = folder.path();
  Runtime runtime(limited);
  const RunOutcome outcome = run(runtime);
  // Two thirds at least must go to the disk.
  EXPECT_GE(outcome.last.nodes[0].bytes_out, Bytes{all_data(graph()).value / 2});
}

TEST_P(DenseConformance, IsRightWhereOnlyOneTaskFits) {
  const TemporaryFolder folder;
  Options limited = options();
  limited.memory = largest_task(graph());
  limited.disk = folder.path();
  Runtime runtime(limited);
  run(runtime);
}

TEST_P(DenseConformance, IsRightOnAnAcceleratorWithAThirdOfTheMemory) {
  Options accelerated = options();
  accelerated.workers = 1;
  accelerated.accelerators = 1;
  accelerated.accelerator_memory = Bytes{all_data(graph()).value / 3};
  Runtime runtime(accelerated);
  run(runtime);
}

TEST_P(DenseConformance, IsRightWithoutPrioritiesAndWithASmallWindow) {
  Options windowed = options();
  windowed.window_tasks = 10;
  Runtime runtime(windowed);
  run(runtime, {.seed = 2, .priorities = false});
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, DenseConformance,
                         ::testing::Combine(::testing::ValuesIn(kNames),
                                            ::testing::ValuesIn(policy_names()),
                                            ::testing::Values(Precision::f32, Precision::f64)),
                         [](const ::testing::TestParamInfo<Case>& test) {
                           return std::get<0>(test.param) + "_" + std::get<1>(test.param) + "_" +
                                  std::string(to_string(std::get<2>(test.param)));
                         });

// --- the check must see a wrong tile -------------------------------------------------------------
using CheckCase = std::tuple<std::string, Precision>;

class DenseCheck : public ::testing::TestWithParam<CheckCase> {
 protected:
  // The result of a run of 2000 x 2000 elements in tiles of 250.
  DenseCheck()
      : graph_(
            graphs::dense_graph(std::get<0>(GetParam()),
                                {.tiles = 8, .tile = 250, .precision = std::get<1>(GetParam())})),
        runtime_(with_policy("lws")),
        data_(runtime_, graph_, 1) {
    data_.fill(runtime_);
    submit_dense(runtime_, data_, {});
    runtime_.wait();
  }
  std::size_t datum(const std::string& name) const {
    std::size_t number = 0;
    while (graph_.tasks.data_name(number) != name) ++number;
    return number;
  }
  void change(const std::string& name, double by) {
    change_elements(runtime_, data_[datum(name)], graph_.tiles.precision, by);
  }
  Residual check() { return check_dense(runtime_, data_); }
  // Tiles of the result: on, below and above the diagonal of LU.
  std::vector<std::string> results() const {
    const std::string matrix = graph_.tasks.application().name == "lu" ? "A" : "C";
    return {matrix + "0_0", matrix + "7_0", matrix + "0_7",
            matrix + "3_1", matrix + "2_6", matrix + "7_7"};
  }

 private:
  DenseGraph graph_;
  Runtime runtime_;
  DenseData data_;
};

TEST_P(DenseCheck, FailsWhenOneTileIsChangedByAThousandth) {
  ASSERT_TRUE(check().passed());
  for (const std::string& name : results()) {
    change(name, 1e-3);
    const Residual residual = check();
    EXPECT_FALSE(residual.passed())
        << name << ": " << residual.value << " <= " << residual.tolerance;
    change(name, -1e-3);  // but for a rounding error, far below a thousandth
  }
}

TEST_P(DenseCheck, FailsOnNaN) {
  change(results().front(), std::nan(""));
  EXPECT_FALSE(check().passed());
}

INSTANTIATE_TEST_SUITE_P(BothPrecisions, DenseCheck,
                         ::testing::Combine(::testing::ValuesIn(kNames),
                                            ::testing::Values(Precision::f32, Precision::f64)),
                         [](const ::testing::TestParamInfo<CheckCase>& test) {
                           return std::get<0>(test.param) + "_" +
                                  std::string(to_string(std::get<1>(test.param)));
                         });

// --- where it stands between right and wrong -----------------------------------------------------
TEST(DenseTolerance, IsAFewTimesWhatARightResultHas) {
  for (const std::string& name : kNames) {
    for (const Precision precision : {Precision::f32, Precision::f64}) {
      for (const auto& [tiles, tile] :
           std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 1}, {2, 1}, {7, 5}, {4, 100}}) {
        const DenseGraph graph =
            graphs::dense_graph(name, {.tiles = tiles, .tile = tile, .precision = precision});
        Runtime runtime(with_policy("lws"));
        const RunOutcome outcome = run_dense(runtime, {.graph = &graph, .check = true});
        EXPECT_LE(outcome.residual->value, outcome.residual->tolerance / 2)
            << name << ", " << tiles << " tiles of " << tile << " " << to_string(precision) << "s";
      }
    }
  }
}

TEST(Lu, TheFactorsAreTheSameToTheBitUnderEveryPolicy) {
  // The order of updates of a tile is fixed by the dependencies, so nothing may differ.
  const DenseGraph graph = small_graph("lu", Precision::f64);
  std::vector<double> first;
  for (const std::string& policy : policy_names()) {
    Runtime runtime(with_policy(policy));
    const DenseData data(runtime, graph, 1);
    data.fill(runtime);
    submit_dense(runtime, data, {});
    const Acquired last = runtime.acquire(data[24], AccessMode::R);
    const std::vector<double> tile(last.data<double>(), last.data<double>() + 56 * 56);
    if (first.empty()) first = tile;
    EXPECT_EQ(tile, first) << policy;
  }
}

TEST(Lu, NamesTileAndRowOfAPivotThatIsZero) {
  const DenseGraph graph = graphs::dense_lu({.tiles = 3, .tile = 10});
  Runtime runtime(with_policy("lws"));
  const DenseData data(runtime, graph, 1);
  data.fill(runtime);
  for (const std::size_t d : {3, 4, 5}) {  // row 1 of tiles becomes zero
    const Acquired tile = runtime.acquire(data[d], AccessMode::RW);
    std::fill_n(tile.data<float>(), 100, 0.0F);
  }
  submit_dense(runtime, data, {.names = true});
  try {
    runtime.wait();
    FAIL() << "no error";
  } catch (const TaskError& error) {
    EXPECT_THAT(error.what(), HasSubstr("getrf(1)"));
    EXPECT_THAT(error.what(), HasSubstr("tile (1,1)"));
    EXPECT_THAT(error.what(), HasSubstr("row 10"));
  }
}

TEST(DenseTasks, AreNamedForStepAndTile) {
  const DenseGraph graph = graphs::dense_lu({.tiles = 2, .tile = 10});
  std::vector<std::string> names;
  for (const auto& task : graph.tasks.tasks()) names.push_back(task_name(graph, task));
  EXPECT_THAT(names, ::testing::ElementsAre("getrf(0)", "trsm(0,1)", "trsm(1,0)", "gemm(1,1,0)",
                                            "getrf(1)"));
}

TEST(DenseTasks, HaveATime) {
  for (const std::string& name : kNames) {
    const DenseGraph graph = small_graph(name, Precision::f64);
    const std::vector<double> seconds = measure_kernels(graph);
    ASSERT_EQ(seconds.size(), graph.tasks.kernels().size());
    for (const double time : seconds) EXPECT_GT(time, 0) << name;
  }
}

}  // namespace
}  // namespace vicinal::linalg

#endif
