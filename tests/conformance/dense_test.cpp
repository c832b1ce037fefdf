// The dense applications under every policy: in memory and in a part of it, float and double, checked.
#if VICINAL_HAVE_BLAS

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linalg/kernel_times.hpp"
#include "linalg/run.hpp"
#include "support/dense_applications.hpp"
#include "support/linalg_runs.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/error.hpp"

namespace vicinal::linalg {
namespace {

using testing::all_data;
using testing::application_named;
using testing::change_elements;
using testing::expect_within_limit;
using ::testing::HasSubstr;
using testing::kDenseNames;
using testing::kPrecisions;
using testing::largest_task;
using testing::policy_names;
using testing::TemporaryFolder;
using testing::with_policy;

// Cholesky of 7 x 7 tiles, the last row and column smaller: 28 tiles, of which 7 fit in a quarter. 5 x 5 tiles of
// LU; products of 4 x 4 tiles, 192 or 144 elements deep.
Application small_application(const std::string& name, Precision precision) {
  if (name == "cholesky") return cholesky({600, 96, precision});
  if (name == "lu")
    return application_named(name, {.tiles = 5, .tile = 56, .precision = precision});
  const std::uint64_t inner = name == "gemm2d" ? 0 : 144;
  return application_named(name, {.tiles = 4, .tile = 48, .precision = precision}, inner);
}

// A third of the data, or a quarter of Cholesky's, whose largest task takes less of them.
Bytes part_of_data(const Application& application) {
  return {all_data(application).value / (application.name == "cholesky" ? 4 : 3)};
}

using DenseCase = std::tuple<std::string, std::string, Precision>;

class DenseConformance : public ::testing::TestWithParam<DenseCase> {
 protected:
  Options options() const { return with_policy(std::get<1>(GetParam())); }
  // With so much RAM, and a disk.
  Options limited_to(Bytes memory) const {
    Options limited = options();
    limited.memory = memory;
    limited.disk = folder_.path();
    return limited;
  }
  const Application& application() const { return application_; }

  RunOutcome run(Runtime& runtime, RunRequest request = {.submit = {.names = true}}) const {
    request.application = &application_;
    request.check = true;
    RunOutcome outcome = linalg::run(runtime, request);
    EXPECT_TRUE(outcome.residual->passed())
        << outcome.residual->value << " > " << outcome.residual->tolerance;
    EXPECT_EQ(outcome.after.tasks_done - outcome.before.tasks_done, application_.tasks);
    // At least: what waits for a vector of the check to be unregistered counts as a task too.
    EXPECT_GE(outcome.last.tasks_done - outcome.after.tasks_done,
              application_.check().products.size());
    expect_within_limit(runtime);
    return outcome;
  }

 private:
  TemporaryFolder folder_;
  Application application_ = small_application(std::get<0>(GetParam()), std::get<2>(GetParam()));
};

TEST_P(DenseConformance, IsRightInMemory) {
  Runtime runtime(options());
  run(runtime);
}

TEST_P(DenseConformance, IsRightInAPartOfTheMemory) {
  Runtime runtime(limited_to(part_of_data(application())));
  const RunOutcome outcome = run(runtime);
  // What does not fit, two thirds or more, must go to the disk.
  EXPECT_GE(outcome.last.nodes[0].bytes_out, Bytes{all_data(application()).value / 2});
  // A factorisation writes all of it again: three quarters at least of Cholesky's must come in, too.
  if (application().name == "cholesky") {
    EXPECT_GE(outcome.after.nodes[0].bytes_in - outcome.before.nodes[0].bytes_in,
              Bytes{all_data(application()).value / 4});
  }
}

TEST_P(DenseConformance, IsRightWhereOnlyOneTaskFits) {
  Runtime runtime(limited_to(largest_task(application())));
  run(runtime);
}

TEST_P(DenseConformance, IsRightOnAnAcceleratorWithAPartOfTheMemory) {
  Options accelerated = options();
  accelerated.workers = 1;
  accelerated.accelerators = 1;
  accelerated.accelerator_memory = part_of_data(application());
  Runtime runtime(accelerated);
  run(runtime);
}

TEST_P(DenseConformance, IsRightWithoutPrioritiesAndWithASmallWindow) {
  Options windowed = options();
  windowed.window_tasks = 10;
  Runtime runtime(windowed);
  run(runtime, {.places = {.seed = 2}, .submit = {.priorities = false}});
}

std::string name_of(const ::testing::TestParamInfo<DenseCase>& test) {
  return std::get<0>(test.param) + "_" + std::get<1>(test.param) + "_" +
         std::string(to_string(std::get<2>(test.param)));
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, DenseConformance,
                         ::testing::Combine(::testing::ValuesIn(kDenseNames),
                                            ::testing::ValuesIn(policy_names_of_each_way()),
                                            ::testing::Values(Precision::f64)),
                         name_of);
// No policy sees the element type.
INSTANTIATE_TEST_SUITE_P(OtherPrecision, DenseConformance,
                         ::testing::Combine(::testing::ValuesIn(kDenseNames),
                                            ::testing::Values("dmdas"),
                                            ::testing::Values(Precision::f32)),
                         name_of);

// --- the check must see a wrong tile -------------------------------------------------------------
std::string tile_name(const std::string& application, int i, int j) {
  if (application == "cholesky") return fmt::format("L({},{})", i, j);
  return fmt::format("{}{}_{}", application == "lu" ? 'A' : 'C', i, j);
}

// The result of a run.
class FinishedRun {
 public:
  explicit FinishedRun(Application application)
      : application_(std::move(application)),
        runtime_(with_policy("lws")),
        data_(runtime_, application_, {}) {
    data_.fill(runtime_);
    submit_tasks(runtime_, data_, {});
    runtime_.wait();
  }
  void change(const std::string& name, double by) {
    const auto found = std::ranges::find(application_.data, name, &Datum::name);
    change_elements(runtime_, data_[static_cast<std::size_t>(found - application_.data.begin())],
                    application_.grid.precision, by);
  }
  void expect_right() { EXPECT_TRUE(check().passed()); }
  Residual check() { return run_check(runtime_, data_, application_.check()); }
  void expect_wrong_when_changed(const std::string& name) {
    change(name, 1e-3);
    const Residual residual = check();
    EXPECT_FALSE(residual.passed())
        << name << ": " << residual.value << " <= " << residual.tolerance;
    change(name, -1e-3);  // but for a rounding error, far below a thousandth
  }

 private:
  Application application_;
  Runtime runtime_;
  ApplicationData data_;
};

using CheckCase = std::tuple<std::string, Precision>;

class DenseCheck : public ::testing::TestWithParam<CheckCase> {
 protected:
  std::string name() const { return std::get<0>(GetParam()); }
  Application application(std::uint64_t tiles, std::uint64_t tile) const {
    return application_named(name(),
                             {.tiles = tiles, .tile = tile, .precision = std::get<1>(GetParam())});
  }
};

TEST_P(DenseCheck, FailsWhenOneTileIsChangedByAThousandth) {
  FinishedRun run(application(8, 250));
  run.expect_right();
  // Tiles of the result: on, below and above the diagonal.
  std::vector<std::pair<int, int>> tiles{{0, 0}, {7, 0}, {3, 1}, {7, 7}};
  if (name() != "cholesky") tiles.insert(tiles.end(), {{0, 7}, {2, 6}});
  for (const auto& [i, j] : tiles) run.expect_wrong_when_changed(tile_name(name(), i, j));
}

TEST_P(DenseCheck, FailsOnNaN) {
  FinishedRun run(application(2, 50));
  run.change(tile_name(name(), 1, 0), std::nan(""));
  EXPECT_FALSE(run.check().passed());
}

INSTANTIATE_TEST_SUITE_P(BothPrecisions, DenseCheck,
                         ::testing::Combine(::testing::ValuesIn(kDenseNames),
                                            ::testing::ValuesIn(kPrecisions)),
                         [](const ::testing::TestParamInfo<CheckCase>& test) {
                           return std::get<0>(test.param) + "_" +
                                  std::string(to_string(std::get<1>(test.param)));
                         });

TEST(CholeskyCheck, FailsWhenOneTileOfAFewOrARaggedOneIsChangedByAThousandth) {
  for (const Precision precision : kPrecisions) {
    for (const auto& [size, tile] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
             {500, 125}, {1000, 128}, {2000, 500}}) {
      SCOPED_TRACE(::testing::Message() << size << " in tiles of " << tile);
      const TileGrid grid{size, tile, precision};
      FinishedRun run(cholesky(grid));
      run.expect_right();
      const auto last = static_cast<int>(grid.tiles()) - 1;
      for (const auto& [i, j] : {std::pair{1, 0}, {last, 0}, {2, 2}, {3, 1}}) {
        run.expect_wrong_when_changed(tile_name("cholesky", i, j));
      }
    }
  }
}

// --- where it stands between right and wrong -----------------------------------------------------
TEST(DenseTolerance, IsAFewTimesWhatARightResultHas) {
  for (const std::string& name : kDenseNames) {
    for (const Precision precision : kPrecisions) {
      for (const auto& [tiles, tile] :
           std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 1}, {2, 1}, {7, 5}, {4, 100}}) {
        const Application application =
            application_named(name, {.tiles = tiles, .tile = tile, .precision = precision});
        Runtime runtime(with_policy("lws"));
        const RunOutcome outcome =
            linalg::run(runtime, {.application = &application, .check = true});
        EXPECT_LE(outcome.residual->value, outcome.residual->tolerance / 2)
            << name << ", " << tiles << " tiles of " << tile << " " << to_string(precision) << "s";
      }
    }
  }
}

TEST(DenseFactors, AreTheSameToTheBitUnderEveryPolicy) {
  // The order of updates of a tile is fixed by the dependencies, so nothing may differ.
  for (const std::string name : {"cholesky", "lu"}) {
    const Application application = small_application(name, Precision::f64);
    const std::size_t last = application.data.size() - 1;
    const graphs::MatrixBlock& block = application.data[last].block;
    std::vector<double> first;
    for (const std::string& policy : policy_names_of_each_way()) {
      Runtime runtime(with_policy(policy));
      const ApplicationData data(runtime, application, {});
      data.fill(runtime);
      submit_tasks(runtime, data, {});
      const Acquired held = runtime.acquire(data[last], AccessMode::R);
      const std::vector<double> tile(held.data<double>(),
                                     held.data<double>() + block.rows * block.columns);
      if (first.empty()) first = tile;
      EXPECT_EQ(tile, first) << policy;
    }
  }
}

TEST(Lu, NamesTileAndRowOfAPivotThatIsZero) {
  const Application application = application_of(graphs::dense_lu({.tiles = 3, .tile = 10}));
  Runtime runtime(with_policy("lws"));
  const ApplicationData data(runtime, application, {});
  data.fill(runtime);
  for (const std::size_t d : {3, 4, 5}) {  // row 1 of tiles becomes zero
    const Acquired tile = runtime.acquire(data[d], AccessMode::RW);
    std::fill_n(tile.data<float>(), 100, 0.0F);
  }
  submit_tasks(runtime, data, {.names = true});
  try {
    runtime.wait();
    FAIL() << "no error";
  } catch (const TaskError& error) {
    EXPECT_THAT(error.what(), HasSubstr("getrf(1)"));
    EXPECT_THAT(error.what(), HasSubstr("tile (1,1)"));
    EXPECT_THAT(error.what(), HasSubstr("row 10"));
  }
}

// --- tasks ---------------------------------------------------------------------------------------
std::vector<std::string> task_names(const Application& application) {
  std::vector<std::string> names;
  application.visit_tasks([&](const Task& task) { names.push_back(application.task_name(task)); });
  return names;
}

TEST(DenseTasks, AreNamedForStepAndTile) {
  EXPECT_THAT(
      task_names(application_of(graphs::dense_lu({.tiles = 2, .tile = 10}))),
      ::testing::ElementsAre("getrf(0)", "trsm(0,1)", "trsm(1,0)", "gemm(1,1,0)", "getrf(1)"));
  EXPECT_THAT(
      task_names(cholesky({30, 10, Precision::f32})),
      ::testing::ElementsAre("potrf(0)", "trsm(1,0)", "trsm(2,0)", "syrk(1,0)", "syrk(2,0)",
                             "gemm(2,1,0)", "potrf(1)", "trsm(2,1)", "syrk(2,1)", "potrf(2)"));
}

TEST(DenseTasks, OfCholeskyAreThoseThatAreSimulated) {
  const graph::Graph graph = graphs::cholesky_as_run({.tiles = 5, .tile = 10});
  const Application application = cholesky({50, 10, Precision::f32});
  std::size_t next = 0;
  application.visit_tasks([&](const Task& task) {
    ASSERT_LT(next, graph.tasks().size());
    const graph::Graph::Task& simulated = graph.tasks()[next++];
    EXPECT_EQ(application.kernels[task.kernel].name, graph.kernels()[simulated.kernel].name);
    EXPECT_TRUE(std::ranges::equal(
        task.accesses, graph.accesses_of(simulated),
        [](const auto& a, const auto& b) { return a.datum == b.datum && a.mode == b.mode; }))
        << application.task_name(task);
  });
  EXPECT_EQ(next, graph.tasks().size());
}

TEST(DenseTasks, AreAsManyAsTheApplicationSays) {
  for (const std::string& name : kDenseNames) {
    const Application application = small_application(name, Precision::f32);
    EXPECT_EQ(task_names(application).size(), application.tasks) << name;
  }
}

TEST(DenseTasks, HaveATime) {
  for (const std::string& name : kDenseNames) {
    const Application application = small_application(name, Precision::f64);
    const std::vector<double> seconds = measure_kernels(application);
    ASSERT_EQ(seconds.size(), application.kernels.size());
    for (const double time : seconds) EXPECT_GT(time, 0) << name;
  }
}

}  // namespace
}  // namespace vicinal::linalg

#endif
