// Shares of a memory whose latency under load was measured: Little's law by hand.
#include "machine/contention_surface.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/machine_model.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Latency is 100 ns up to 40 GB/s, from there it rises to 200 ns at 80 GB/s: L(b) = 2.5 b.
constexpr const char* kFlatSurface =
    "read_share,bandwidth,latency\n"
    "1,1000,100\n1,40000,100\n1,80000,200\n";

ContentionModel model_of(const std::string& surface) {
  ContentionModel model;
  model.sockets = 2;
  model.cores_per_socket = 16;
  model.surface = parse_contention_surface(surface, "s.csv");
  model.local.core = {10e9};
  model.local.transfer = {10e9};
  model.local.least_share = 0;
  model.remote = model.local;
  return model;
}

void expect_shares(const ContentionShares& shares, double computations, double transfer) {
  EXPECT_NEAR(shares.computations.value / 1e9, computations, 1e-6);
  EXPECT_NEAR(shares.transfer.value / 1e9, transfer, 1e-6);
}

TEST(ContentionSurface, NobodyWaitsWhileLatencyDoesNotRise) {
  const ContentionShares shares = predict_contention(model_of(kFlatSurface), 3, 0, 0);
  expect_shares(shares, 30, 10);
  EXPECT_NEAR(shares.alone.value / 1e9, 30, 1e-6);
  EXPECT_NEAR(shares.total.value / 1e9, 80, 1e-6);
}

TEST(ContentionSurface, ALoadAndItsLatencyAgree) {
  // Eight cores and the transfer have 90 GB/s x 100 ns in flight: b = 9000 / L and L = 2.5 b give b = 60 GB/s at 150 ns,
  // two thirds for each.
  expect_shares(predict_contention(model_of(kFlatSurface), 8, 0, 0), 80.0 * 2 / 3, 10.0 * 2 / 3);
  // Alone: b^2 = 8000 / 2.5.
  EXPECT_NEAR(predict_contention(model_of(kFlatSurface), 8, 0, 0).alone.value / 1e9, 56.5685425,
              1e-6);
}

TEST(ContentionSurface, ALoadBeyondTheCurveHasItsLargestBandwidth) {
  // 25 cores and the transfer ask for 260 GB/s; 80 are there, in proportion.
  expect_shares(predict_contention(model_of(kFlatSurface), 25, 0, 0), 80.0 * 25 / 26, 80.0 / 26);
}

TEST(ContentionSurface, SomeOfTheTransferIsAlwaysLeft) {
  ContentionModel model = model_of(kFlatSurface);
  model.local.least_share = 0.9;
  // 9 GB/s stay; the cores share the 71 GB/s beside.
  expect_shares(predict_contention(model, 25, 0, 0), 71, 9);
  model.local.transfer = {200e9};
  expect_shares(predict_contention(model, 25, 0, 0), 0, 80);
}

TEST(ContentionSurface, DataOnDifferentNodesDoNotMeet) {
  const ContentionShares shares = predict_contention(model_of(kFlatSurface), 8, 0, 1);
  expect_shares(shares, 56.5685425, 10);
  EXPECT_NEAR(shares.computations.value, shares.alone.value, 1);
}

TEST(ContentionSurface, TheWayToAnotherSocketAddsItsLatencyAndItsLimit) {
  ContentionModel model = model_of(kFlatSurface);
  model.remote.core = {5e9};  // 100 ns more: 1000 in flight / (100 + 100)
  // Four cores: 4 x 1000 / (100 + 100) = 20 GB/s, at which nothing waits.
  expect_shares(predict_contention(model, 4, 1, 1), 20, 10);
  // Sixteen: b = 16000 / (100 + L) + 1000 / L with L = 2.5 b, some 66 GB/s at 166 ns.
  const ContentionShares shares = predict_contention(model, 16, 1, 1);
  const double latency = 2.5 * (shares.computations.value + shares.transfer.value) / 1e9;
  EXPECT_NEAR(shares.computations.value / 1e9, 16'000 / (100 + latency), 1e-6);
  EXPECT_NEAR(shares.transfer.value / 1e9, 1'000 / latency, 1e-6);
  model.remote.total_alone = {30e9};
  EXPECT_NEAR(predict_contention(model, 16, 1, 0).computations.value / 1e9, 30, 1e-6);
}

TEST(ContentionSurface, MixesAreInterpolated) {
  // Writes alone have half of the bandwidth at the same latencies.
  ContentionModel model =
      model_of(std::string(kFlatSurface) + "0,1000,100\n0,20000,100\n0,40000,200\n");
  model.surface->computation_reads = 1;
  model.surface->transfer_reads = 0;
  model.local.transfer = {30e9};
  // Half of the bytes asked for are read: at 60 GB/s of 60, as 80 of 80.
  const ContentionShares shares = predict_contention(model, 3, 0, 0);
  EXPECT_NEAR(shares.total.value / 1e9, 60, 1e-6);
  // A transfer alone is as fast as it is alone.
  EXPECT_NEAR(predict_contention(model, 0, 0, 0).transfer.value / 1e9, 30, 1e-6);
}

TEST(ContentionSurface, MoreCoresNeverGiveATransferMore) {
  const ContentionModel model = *load_machine("marenostrum4", {.ranks = 1}).description.contention;
  double before = 1e18;
  for (double cores = 0; cores <= 24; cores += 0.25) {
    const ContentionShares shares = predict_contention(model, cores, 0, 0);
    EXPECT_LE(shares.transfer.value, before * (1 + 1e-3)) << cores;
    EXPECT_LE(shares.computations.value + shares.transfer.value, shares.total.value * (1 + 1e-9));
    before = shares.transfer.value;
  }
}

std::string said(const std::string& text) {
  try {
    (void)parse_contention_surface(text, "s.csv");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ContentionSurface, RefusesWhatIsNone) {
  const std::string head = "# a comment\nread_share,bandwidth,latency\n";
  EXPECT_EQ(said(head + "0.5, 1000, 90.5\n\n"), "accepted");
  EXPECT_THAT(said(""), HasSubstr("no row"));
  EXPECT_THAT(said(head), HasSubstr("no row"));
  EXPECT_THAT(said("reads,bandwidth\n"), AllOf(StartsWith("s.csv:1: "), HasSubstr("read_share")));
  EXPECT_THAT(said(head + "1,2\n"), AllOf(StartsWith("s.csv:3: "), HasSubstr("3 numbers")));
  EXPECT_THAT(said(head + "1,x,3\n"), HasSubstr("\"x\" is not a number"));
  EXPECT_THAT(said(head + "2,1,1\n"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(said(head + "1,-1,1\n"), HasSubstr("in MB/s"));
  EXPECT_THAT(said(head + "1,1,nan\n"), HasSubstr("in ns"));
}

TEST(ContentionSurface, ACurveThatBendsBackKeepsTheLowerLatency) {
  const auto surface = parse_contention_surface(
      "read_share,bandwidth,latency\n1,100,90\n1,200,120\n1,180,400\n1,150,95\n", "s.csv");
  ASSERT_EQ(surface.curves.size(), 1U);
  const auto& points = surface.curves[0].points;
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[2].nanoseconds, 120);  // at 180 MB/s, not 400
  EXPECT_EQ(points[3].nanoseconds, 120);
}

}  // namespace
}  // namespace vicinal::machine
