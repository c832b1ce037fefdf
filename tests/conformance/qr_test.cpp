// QR by tiles: its check, its results and its tasks. two_level_test.cpp runs it under every policy.
#if VICINAL_HAVE_BLAS

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linalg/kernel_times.hpp"
#include "linalg/run.hpp"
#include "support/dense_applications.hpp"
#include "support/lapack.hpp"
#include "support/linalg_runs.hpp"

namespace vicinal::linalg {
namespace {

using graphs::PanelTree;
using testing::change_elements;
using testing::kPrecisions;
using testing::with_policy;

constexpr std::array kTrees{PanelTree::flat, PanelTree::binary};

Application qr(Precision precision, PanelTree tree, std::uint64_t tiles, std::uint64_t tile,
               std::uint64_t panel) {
  return application_of(
      graphs::dense_qr({.tiles = tiles, .tile = tile, .precision = precision}, tree, panel));
}

class QrCase : public ::testing::TestWithParam<std::tuple<PanelTree, Precision>> {
 protected:
  PanelTree tree() const { return std::get<0>(GetParam()); }
  Precision precision() const { return std::get<1>(GetParam()); }
};

std::string name_of_case(const ::testing::TestParamInfo<std::tuple<PanelTree, Precision>>& test) {
  return std::string(to_string(std::get<0>(test.param))) + "_" +
         std::string(to_string(std::get<1>(test.param)));
}

INSTANTIATE_TEST_SUITE_P(Trees, QrCase,
                         ::testing::Combine(::testing::ValuesIn(kTrees),
                                            ::testing::ValuesIn(kPrecisions)),
                         name_of_case);

TEST_P(QrCase, HasAFractionOfTheToleranceForOtherTilesAndPanels) {
  for (const auto& [tiles, tile, panel] : std::vector<std::tuple<int, int, int>>{
           {1, 1, 0}, {2, 1, 0}, {1, 50, 0}, {2, 3, 2}, {7, 5, 1}, {4, 100, 32}, {3, 96, 96}}) {
    SCOPED_TRACE(::testing::Message() << tiles << " tiles of " << tile << ", " << panel);
    const Application application =
        qr(precision(), tree(), static_cast<std::uint64_t>(tiles), static_cast<std::uint64_t>(tile),
           static_cast<std::uint64_t>(panel));
    Runtime runtime(with_policy("lws"));
    const RunOutcome outcome = linalg::run(runtime, {.application = &application, .check = true});
    EXPECT_LE(outcome.residual->value, outcome.residual->tolerance / 2);
    EXPECT_EQ(outcome.after.tasks_done - outcome.before.tasks_done, application.tasks);
  }
}

// What the check of these applications sees of a change of a datum.
class FinishedQr {
 public:
  explicit FinishedQr(const Application& application)
      : application_(application), runtime_(with_policy("lws")), data_(runtime_, application_, {}) {
    data_.fill(runtime_);
    submit_tasks(runtime_, data_, {});
    runtime_.wait();
  }
  Residual check() { return run_check(runtime_, data_, application_.check()); }
  Residual check_with(const std::string& name, double change) {
    change_elements(runtime_, datum(name), application_.grid.precision, change);
    const Residual residual = check();
    change_elements(runtime_, datum(name), application_.grid.precision, -change);
    return residual;
  }

 private:
  Handle datum(const std::string& name) const {
    const auto found = std::ranges::find(application_.data, name, &Datum::name);
    return data_[static_cast<std::size_t>(found - application_.data.begin())];
  }

  const Application& application_;
  Runtime runtime_;
  ApplicationData data_;
};

TEST_P(QrCase, IsSeenToBeWrongWhenOneDatumIsChangedByAThousandth) {
  const Application application = qr(precision(), tree(), 4, 100, 32);
  FinishedQr run(application);
  EXPECT_TRUE(run.check().passed());
  // R on and beside the diagonal, reflectors below it and of the diagonal, and their T.
  std::vector<std::string> names{"A0_0", "A1_3", "A3_1", "V0_0", "T0_0", "T2_1"};
  if (tree() == PanelTree::binary) names.insert(names.end(), {"V3_1", "S2_1"});
  for (const std::string& name : names) {
    EXPECT_FALSE(run.check_with(name, 1e-3).passed()) << name;
  }
}

TEST_P(QrCase, FailsOnNaN) {
  const Application application = qr(precision(), tree(), 2, 50, 16);
  for (const std::string name : {"A1_0", "T1_0", "A0_1"}) {
    FinishedQr run(application);
    EXPECT_FALSE(run.check_with(name, std::numeric_limits<double>::quiet_NaN()).passed()) << name;
  }
}

TEST(Qr, IsTheSameToTheBitUnderEveryPolicy) {
  for (const PanelTree tree : kTrees) {
    const Application application = qr(Precision::f64, tree, 4, 24, 8);
    std::vector<double> first;
    for (const std::string& policy : testing::policy_names_of_each_way()) {
      Runtime runtime(with_policy(policy));
      const ApplicationData data(runtime, application, {});
      data.fill(runtime);
      submit_tasks(runtime, data, {});
      const Acquired held = runtime.acquire(data[15], AccessMode::R);  // A3_3
      const std::vector<double> tile(held.data<double>(), held.data<double>() + 24 * 24);
      if (first.empty()) first = tile;
      EXPECT_EQ(tile, first) << policy;
    }
  }
}

// R is unique but for the signs of its rows. Elements of size 1/2 of a matrix whose condition is some hundreds.
template <typename T>
void expect_r_of_lapack(PanelTree tree) {
  constexpr std::uint64_t kTiles = 5;
  constexpr std::uint64_t kTile = 24;
  constexpr std::uint64_t kOrder = kTiles * kTile;
  const Application application = qr(kPrecisionOf<T>, tree, kTiles, kTile, 10);
  Runtime runtime(with_policy("lws"));
  const ApplicationData data(runtime, application, {});
  data.fill(runtime);
  submit_tasks(runtime, data, {});
  std::vector<T> expected = testing::whole_matrix<T>(application.content('A', 1), kOrder);
  ASSERT_EQ(testing::lapack_geqrf(static_cast<int>(kOrder), expected.data()), 0);
  const double close = 1e3 * std::numeric_limits<T>::epsilon();
  for (std::uint64_t i = 0; i < kTiles; ++i) {
    for (std::uint64_t j = i; j < kTiles; ++j) {
      const Acquired tile = runtime.acquire(data[i * kTiles + j], AccessMode::R);
      for (std::uint64_t c = 0; c < kTile; ++c) {
        for (std::uint64_t r = 0; r < (i == j ? c + 1 : kTile); ++r) {
          const T found = tile.data<T>()[r + c * kTile];
          const T wanted = expected[i * kTile + r + (j * kTile + c) * kOrder];
          ASSERT_NEAR(std::abs(found), std::abs(wanted), close) << i << ", " << j;
        }
      }
    }
  }
}

TEST(Qr, HasTheTriangleOfLapackButForSigns) {
  for (const PanelTree tree : kTrees) {
    SCOPED_TRACE(to_string(tree));
    expect_r_of_lapack<float>(tree);
    expect_r_of_lapack<double>(tree);
  }
}

TEST(Qr, NamesItsTasksForStepAndTile) {
  const auto names = [](PanelTree tree) {
    const Application application = qr(Precision::f32, tree, 2, 10, 5);
    std::vector<std::string> all;
    application.visit_tasks([&](const Task& task) { all.push_back(application.task_name(task)); });
    return all;
  };
  EXPECT_THAT(names(PanelTree::flat),
              ::testing::ElementsAre("geqrt(0,0)", "ormqr(0,1,0)", "tsqrt(1,0)", "tsmqr(1,1,0)",
                                     "geqrt(1,1)"));
  EXPECT_THAT(names(PanelTree::binary),
              ::testing::ElementsAre("geqrt(0,0)", "ormqr(0,1,0)", "geqrt(1,0)", "ormqr(1,1,0)",
                                     "ttqrt(1,0)", "ttmqr(1,1,0)", "geqrt(1,1)"));
}

TEST(Qr, HasATimePerKernel) {
  for (const PanelTree tree : kTrees) {
    const Application application = qr(Precision::f64, tree, 3, 48, 16);
    for (const double seconds : measure_kernels(application)) EXPECT_GT(seconds, 0);
  }
}

}  // namespace
}  // namespace vicinal::linalg

#endif
