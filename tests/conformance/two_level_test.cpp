// Cholesky on two levels, LU with incremental pivoting and QR, under every policy: checked, in memory and in a part of it.
#if VICINAL_HAVE_BLAS

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linalg/cholesky.hpp"
#include "linalg/run.hpp"
#include "support/dense_applications.hpp"
#include "support/linalg_runs.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/error.hpp"

namespace vicinal::linalg {
namespace {

using testing::all_data;
using testing::change_elements;
using testing::expect_within_limit;
using testing::kPrecisions;
using testing::largest_task;
using testing::policy_names;
using testing::TemporaryFolder;
using testing::with_policy;

// 4 x 4 tiles of 4 x 4 panels, the last row and column smaller.
Application two_level(Precision precision) {
  return cholesky({350, 96, precision}, 24);
}

Application incremental(Precision precision, std::uint64_t tiles = 5, std::uint64_t tile = 40,
                        std::uint64_t panel = 12) {
  return application_of(
      graphs::dense_lu_incremental({.tiles = tiles, .tile = tile, .precision = precision}, panel));
}

Application application(const std::string& name, Precision precision) {
  if (name == "cholesky") return two_level(precision);
  if (name == "lu") return incremental(precision);
  return application_of(graphs::dense_qr({.tiles = 5, .tile = 40, .precision = precision},
                                         graphs::panel_tree_of(name), 12));
}

RunOutcome expect_right(Runtime& runtime, const Application& application,
                        const RunRequest& how = {.submit = {.names = true}}) {
  RunRequest request = how;
  request.application = &application;
  request.check = true;
  RunOutcome outcome = linalg::run(runtime, request);
  EXPECT_TRUE(outcome.residual->passed())
      << outcome.residual->value << " > " << outcome.residual->tolerance;
  expect_within_limit(runtime);
  return outcome;
}

using TwoLevelCase = std::tuple<std::string, std::string, Precision>;

class TwoLevel : public ::testing::TestWithParam<TwoLevelCase> {
 protected:
  Options options() const { return with_policy(std::get<1>(GetParam())); }
  Application application_ = application(std::get<0>(GetParam()), std::get<2>(GetParam()));
};

TEST_P(TwoLevel, IsRightInMemory) {
  Runtime runtime(options());
  const RunOutcome outcome = expect_right(runtime, application_);
  // Those inside a divided task count, too: each potrf of a whole tile has 20 and 6 of zeroes.
  const bool divides = std::get<0>(GetParam()) == "cholesky";
  EXPECT_GE(outcome.after.tasks_done - outcome.before.tasks_done,
            application_.tasks + (divides ? 3 * 26 : 0));
}

TEST_P(TwoLevel, IsRightInAPartOfTheMemory) {
  const TemporaryFolder folder;
  Options limited = options();
  limited.memory = std::max(largest_task(application_), Bytes{all_data(application_).value / 3});
  limited.disk = folder.path();
  Runtime runtime(limited);
  expect_right(runtime, application_, {.submit = {.priorities = false}});
}

TEST_P(TwoLevel, IsRightBesideAnAccelerator) {
  Options accelerated = options();
  accelerated.workers = 1;
  accelerated.accelerators = 1;
  accelerated.accelerator_memory =
      std::max(largest_task(application_), Bytes{all_data(application_).value / 3});
  Runtime runtime(accelerated);
  expect_right(runtime, application_);
}

std::string name_of_two_level(const ::testing::TestParamInfo<TwoLevelCase>& test) {
  return std::get<0>(test.param) + "_" + std::get<1>(test.param) + "_" +
         std::string(to_string(std::get<2>(test.param)));
}

INSTANTIATE_TEST_SUITE_P(
    EveryPolicy, TwoLevel,
    ::testing::Combine(::testing::Values("cholesky", "lu", "flat", "binary"),
                       ::testing::ValuesIn(testing::policy_names_of_each_way()),
                       ::testing::Values(Precision::f64)),
    name_of_two_level);
// No policy sees the element type.
INSTANTIATE_TEST_SUITE_P(OtherPrecision, TwoLevel,
                         ::testing::Combine(::testing::Values("cholesky", "lu", "flat", "binary"),
                                            ::testing::Values("dmdas"),
                                            ::testing::Values(Precision::f32)),
                         name_of_two_level);

TEST(TwoLevelCholesky, LeavesZeroesAboveTheDiagonalOfATile) {
  const Application application = two_level(Precision::f64);
  Runtime runtime(with_policy("lws"));
  const ApplicationData data(runtime, application, {});
  data.fill(runtime);
  submit_tasks(runtime, data, {});
  const Acquired tile = runtime.acquire(data[0], AccessMode::R);
  for (std::uint64_t j = 1; j < 96; ++j) {
    for (std::uint64_t i = 0; i < j; ++i) ASSERT_EQ(tile.data<double>()[i + j * 96], 0);
  }
}

TEST(TwoLevelCholesky, NamesTheRowOfAPivotThatIsNotPositive) {
  const Application application = two_level(Precision::f64);
  Runtime runtime(with_policy("lws"));
  const ApplicationData data(runtime, application, {});
  data.fill(runtime);
  {  // tile (1, 1), the seventh of ten: element 50 of its diagonal, row 146 of the matrix
    const Acquired tile = runtime.acquire(data[4], AccessMode::RW);
    tile.data<double>()[50 + 50 * 96] = -100;
  }
  submit_tasks(runtime, data, {});
  try {
    runtime.wait();
    FAIL() << "no error";
  } catch (const TaskError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("row 146"));
  }
}

TEST(TwoLevelCholesky, DividesNothingButTheFactorisationsBesideAnAccelerator) {
  Options options = with_policy("lws");
  options.accelerators = 1;
  const Application application = two_level(Precision::f32);
  Runtime runtime(options);
  const RunOutcome outcome = expect_right(runtime, application);
  // Inside: three tiles of 4 x 4 panels, one of 3 x 3; and a task each that brings the parts back.
  EXPECT_EQ(outcome.after.tasks_done - outcome.before.tasks_done,
            application.tasks + 3 * (20 + 6) + (10 + 3) + 4);
}

// --- LU with incremental pivoting

TEST(IncrementalLu, IsRightForAMatrixWithZeroesOnItsDiagonal) {
  for (const Precision precision : kPrecisions) {
    for (const auto& [tiles, tile, panel] : std::vector<std::tuple<int, int, int>>{
             {1, 50, 0}, {2, 3, 2}, {7, 5, 1}, {4, 100, 32}, {3, 96, 96}}) {
      SCOPED_TRACE(::testing::Message() << tiles << " tiles of " << tile << ", " << panel);
      Application application =
          incremental(precision, static_cast<std::uint64_t>(tiles),
                      static_cast<std::uint64_t>(tile), static_cast<std::uint64_t>(panel));
      const std::uint64_t size = application.grid.size;
      application.content = [size](char, std::uint64_t seed) {
        return Generator::hollow(1 / std::sqrt(static_cast<double>(size)), seed);
      };
      Runtime runtime(with_policy("lws"));
      const RunOutcome outcome = expect_right(runtime, application);
      EXPECT_EQ(outcome.after.tasks_done - outcome.before.tasks_done, application.tasks);
    }
  }
}

TEST(IncrementalLu, IsSeenToBeWrongWhenOneTileOfTheFactorsIsChangedByAThousandth) {
  for (const Precision precision : kPrecisions) {
    const Application application = incremental(precision, 4, 100, 32);
    Runtime runtime(with_policy("lws"));
    const ApplicationData data(runtime, application, {});
    data.fill(runtime);
    submit_tasks(runtime, data, {});
    runtime.wait();
    EXPECT_TRUE(run_check(runtime, data, application.check()).passed());
    // U on and beside the diagonal, multipliers below it, those of a panel and those of a tile.
    for (const std::string name : {"A0_0", "A1_3", "A3_1", "L2_1", "L0_0"}) {
      const auto found = std::ranges::find(application.data, name, &Datum::name);
      const Handle tile = data[static_cast<std::size_t>(found - application.data.begin())];
      change_elements(runtime, tile, precision, 1e-3);
      EXPECT_FALSE(run_check(runtime, data, application.check()).passed()) << name;
      change_elements(runtime, tile, precision, -1e-3);
    }
  }
}

TEST(IncrementalLu, NamesItsTasksForStepAndTile) {
  const Application application = incremental(Precision::f32, 2, 10, 5);
  std::vector<std::string> names;
  application.visit_tasks([&](const Task& task) { names.push_back(application.task_name(task)); });
  EXPECT_THAT(names, ::testing::ElementsAre("getrf(0)", "gessm(0,1)", "tstrf(1,0)", "ssssm(1,1,0)",
                                            "getrf(1)"));
}

}  // namespace
}  // namespace vicinal::linalg

#endif
