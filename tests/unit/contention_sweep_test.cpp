// Sweeps by placement: their file, the model of two placements, and the errors of all.
#include "calibration/contention_sweep.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/contention_tables.hpp"
#include "vicinal/error.hpp"

namespace vicinal::calibration {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// As if measured without noise.
std::vector<PlacedSample> sweep_of(const ContentionModel& model) {
  std::vector<PlacedSample> sweep;
  const std::uint32_t nodes = model.sockets * model.numa_nodes_per_socket;
  for (std::uint32_t a = 0; a < nodes; ++a) {
    for (std::uint32_t b = 0; b < nodes; ++b) {
      for (std::uint32_t n = 1; n <= model.cores_per_socket; ++n) {
        const ContentionShares shares = predict_contention(model, n, a, b);
        sweep.push_back({a,
                         b,
                         {n, shares.alone, shares.computations,
                          predict_contention(model, 0, a, b).transfer, shares.transfer}});
      }
    }
  }
  return sweep;
}

TEST(ContentionSweep, TwoPlacementsGiveTheModelOfAll) {
  const ContentionModel known = testing::contention_model("henri-subnuma");
  const auto sweep = parse_sweep(sweep_csv(sweep_of(known)), "s.csv");
  const ContentionModel model = fit_model(sweep, 2);
  EXPECT_EQ(model.numa_nodes_per_socket, 2U);
  EXPECT_EQ(model.cores_per_socket, 18U);
  const auto errors = placement_errors(model, sweep);
  ASSERT_EQ(errors.size(), 16U);
  for (const PlacementError& error : errors) {
    EXPECT_EQ(error.samples, 18U);
    EXPECT_EQ(error.fits,
              error.computation_node == error.transfer_node && error.computation_node % 2 == 0);
    EXPECT_LT(error.computations, 0.002) << error.computation_node << error.transfer_node;
    EXPECT_LT(error.transfer, 0.002) << error.computation_node << error.transfer_node;
  }
}

TEST(ContentionSweep, ErrorsAreMeansOverWhatWasMeasured) {
  const ContentionModel model = testing::contention_model("occigen");
  auto sweep = sweep_of(model);
  sweep.erase(sweep.begin() + 2, sweep.end());    // one and two cores, all on node 0
  sweep[0].sample.transfer_beside.value *= 1.25;  // predicted is 20 % less
  const auto errors = placement_errors(model, sweep);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NEAR(errors[0].transfer, 0.1, 1e-9);
  EXPECT_NEAR(errors[0].computations, 0, 1e-9);
}

TEST(ContentionSweep, RefusalsNameTheLine) {
  const auto said = [](const std::string& rows) -> std::string {
    try {
      (void)parse_sweep(std::string(kSweepColumns) + "\n" + rows, "s.csv");
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(said("0,0,1,10,10,5,5\n"), "accepted");
  EXPECT_THAT(said("0,0,0,10,10,5,5\n"), AllOf(StartsWith("s.csv:2: "), HasSubstr("column 3")));
  EXPECT_THAT(said("0.5,0,1,10,10,5,5\n"), HasSubstr("whole number"));
  EXPECT_THAT(said("0,0,1,10,0,5,5\n"), HasSubstr("column 5"));
  try {
    (void)fit_model(parse_sweep(std::string(kSweepColumns) + "\n0,0,1,10,10,5,5\n", "s.csv"), 2);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("lacks the placement"));
    EXPECT_THAT(error.what(), HasSubstr("node 1"));
  }
}

}  // namespace
}  // namespace vicinal::calibration
