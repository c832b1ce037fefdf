#include "bounds/area.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "support/area_instance.hpp"
#include "support/random_runs.hpp"

namespace vicinal::bounds {
namespace {

using ::testing::HasSubstr;
using vicinal::testing::AreaInstance;
using vicinal::testing::random_area_instance;

double seconds_of(const std::vector<TaskType>& types, const WorkersPerKind& workers) {
  return area_bound(types, workers).value.seconds();
}

TEST(Area, OfOneKindIsTheWorkOverItsWorkers) {
  // 10 tasks of 1 s and 4 of 2.5 s on 4 workers: 20 / 4. The GPU times do not count without a GPU.
  const std::vector<TaskType> types{{10, {1, 0, 0.1}}, {4, {2.5, 0, 0.1}}};
  EXPECT_NEAR(seconds_of(types, {4, 0, 0}), 5, 1e-8);
  EXPECT_LT(seconds_of(types, {4, 0, 0}), 5);
}

TEST(Area, OfTwoKindsGivesEachTheTasksThatSuitItBest) {
  // 2 CPUs and a GPU. gemm is 10 times faster on the GPU, potrf as fast. 6 potrf of 1 s and 20 gemm
  // of 1 s or 0.1 s: potrf on the CPUs, 3 s; gemm on the GPU, 2 s. Better: x potrf on the GPU,
  // (6 - x) / 2 = 2 + x, x = 2/3: 2.667 s.
  const std::vector<TaskType> types{{6, {1, 0, 1}}, {20, {1, 0, 0.1}}};
  EXPECT_NEAR(seconds_of(types, {2, 0, 1}), 8.0 / 3, 1e-8);
  EXPECT_THAT(std::string(area_bound(types, {2, 0, 1}).source), HasSubstr("ratio"));
}

TEST(Area, OfTasksThatOnlyOneKindRunsIsItsAlone) {
  // 8 tasks only on the CPUs: 8 / 2 = 4 s, whatever the GPU does; and the other way round.
  const std::vector<TaskType> on_cpu{{8, {1, 0, 0}}, {10, {1, 0, 0.1}}};
  const std::vector<TaskType> on_gpu{{8, {0, 0, 1}}, {2, {0.1, 0, 1}}};
  EXPECT_NEAR(seconds_of(on_cpu, {2, 0, 1}), 4, 1e-7);
  EXPECT_NEAR(seconds_of(on_gpu, {2, 0, 1}), 8, 1e-7);
}

TEST(Area, OfThreeKindsHasASolutionByHand) {
  // Three types, each 1 s on its own kind and 100 s on others, 5, 3 and 4 of them: the 5 decide, less
  // what the others take over: x to the kind with 3 tasks, y to that with 4:
  // 5 - x - y = 3 + 100 x = 4 + 100 y, so x = y + 0.01; 5 - 2 y - 0.01 = 4 + 100 y: y = 0.99 / 102.
  const std::vector<TaskType> types{{5, {1, 100, 100}}, {3, {100, 1, 100}}, {4, {100, 100, 1}}};
  EXPECT_NEAR(seconds_of(types, {1, 1, 1}), 4 + 99.0 / 102, 1e-7);
}

TEST(Area, OfNothingIsZero) {
  EXPECT_EQ(seconds_of({}, {1, 1, 1}), 0);
  EXPECT_EQ(seconds_of({{5, {1, 1, 1}}}, {0, 0, 0}), 0);
  EXPECT_EQ(seconds_of({{5, {0, 0, 1}}}, {1, 0, 0}), 0);  // nobody runs it
  EXPECT_EQ(seconds_of({{0, {1, 1, 1}}}, {1, 1, 1}), 0);
}

// --- Against each other --------------------------------------------------------------------------

// The dual at prices z over the workers' sum.
double dual(const AreaInstance& instance, const std::array<double, 3>& z) {
  double scale = 0;
  for (std::size_t w = 0; w < 3; ++w) scale += instance.workers[w] * z[w];
  double sum = 0;
  for (const TaskType& type : instance.types) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t w = 0; w < 3; ++w) {
      if (type.seconds[w] > 0) least = std::min(least, type.seconds[w] * z[w]);
    }
    if (std::isfinite(least)) sum += static_cast<double>(type.count) * least;
  }
  return scale > 0 ? sum / scale : 0;
}

// The maximum lies where two of the planes d[t,a] z_a = d[t,b] z_b or z_a = 0 meet: all pairs.
double brute_force(const AreaInstance& instance) {
  std::vector<std::array<double, 3>> planes{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};  // normals
  for (const TaskType& type : instance.types) {
    for (std::size_t a = 0; a < 3; ++a) {
      const std::size_t b = (a + 1) % 3;
      if (type.seconds[a] <= 0 || type.seconds[b] <= 0) continue;
      std::array<double, 3> normal{};
      normal[a] = type.seconds[a];
      normal[b] = -type.seconds[b];
      planes.push_back(normal);
    }
  }
  double most = 0;
  for (const auto& p : planes) {
    for (const auto& q : planes) {  // along the cross product, in both directions
      std::array<double, 3> z{p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2],
                              p[0] * q[1] - p[1] * q[0]};
      if (std::all_of(z.begin(), z.end(), [](double v) { return v >= 0; })) {
        most = std::max(most, dual(instance, z));
      }
    }
  }
  return most;
}

class AreaProperty : public ::testing::TestWithParam<std::size_t> {};

TEST_P(AreaProperty, IsTheBestVertexOfTheDual) {
  vicinal::testing::for_each_seed(200, [](base::Random& random, std::uint64_t /*seed*/) {
    const AreaInstance instance = random_area_instance(random, GetParam(), 5);
    const double best = brute_force(instance);
    const double bound = seconds_of(instance.types, instance.workers);
    EXPECT_LE(bound, best);
    EXPECT_GE(bound, best * (1 - 1e-7) - 1e-8);
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, AreaProperty, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace vicinal::bounds
