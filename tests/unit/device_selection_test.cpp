// PaRSEC's selection of a device, solved by hand.
#include "sched/placement/device_selection.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace vicinal::sched::placement {
namespace {

constexpr NodeId kFirst{1};
constexpr NodeId kSecond{2};
constexpr NodeId kThird{3};

// The task takes 10 ns on each.
struct Load {
  NodeId node;
  std::int64_t ns;
};
std::string selected(const std::vector<Flow>& flows, const std::vector<Load>& loads,
                     double skew = kUsualSkew) {
  std::vector<Device> devices;
  for (const Load& load : loads) {
    devices.push_back({.node = load.node, .load_ns = load.ns, .estimate_ns = 10});
  }
  const Selection selection = select_device(flows, devices, skew);
  return std::to_string(devices[selection.device].node.value) + " " +
         std::string(trace::entry(selection.reason).name);
}

Flow read_from(NodeId owner) {
  return {.owner = owner};
}
Flow written_on(NodeId owner) {
  return {.written = true, .owner = owner};
}

TEST(DeviceSelection, WhoWroteTheFirstWrittenOperandLastComputesHoweverBusyItIs) {
  EXPECT_EQ(
      selected({read_from(kThird), {.written = true}, written_on(kSecond), written_on(kFirst)},
               {{kFirst, 0}, {kSecond, 1000}, {kThird, 0}}),
      "2 belongs there");
}

TEST(DeviceSelection, AdviceGoesBeforeTheOwnerOfTheSameOperandAndAfterAnEarlierOnesOwner) {
  const std::vector<Load> loads{{kFirst, 0}, {kSecond, 0}};
  Flow advised = written_on(kFirst);
  advised.preferred = kSecond;
  EXPECT_EQ(selected({advised}, loads), "2 belongs there");
  EXPECT_EQ(selected({written_on(kFirst), advised}, loads), "1 belongs there");
}

TEST(DeviceSelection, AdviceOfAnOperandReadCountsAfterAllWrittenOnes) {
  const Flow advised{.preferred = kSecond};
  const std::vector<Load> loads{{kFirst, 0}, {kSecond, 50}};
  EXPECT_EQ(selected({advised, written_on(kFirst)}, loads), "1 belongs there");
  EXPECT_EQ(selected({read_from(kFirst), advised}, loads), "2 belongs there");
}

TEST(DeviceSelection, WhatNamesADeviceThatCannotRunTheTaskCountsForNothing) {
  Flow advised = written_on(kFirst);
  advised.preferred = kThird;
  EXPECT_EQ(selected({written_on(kRam), advised}, {{kFirst, 9}, {kSecond, 0}}), "1 belongs there");
}

TEST(DeviceSelection, WhoWroteWhatIsReadIsKeptUntilTheSkewIsExceeded) {
  // s = 1 / 1.2. Ends 120 and 100: 100 <= 100.
  EXPECT_EQ(selected({read_from(kFirst)}, {{kSecond, 90}, {kFirst, 110}}), "1 least weighed end");
  // 122 / 1.2 is 101, whole nanoseconds.
  EXPECT_EQ(selected({read_from(kFirst)}, {{kSecond, 90}, {kFirst, 112}}), "2 least weighed end");
}

TEST(DeviceSelection, OnlyTheFirstOperandReadThatHasAnOwnerIsKeptTo) {
  EXPECT_EQ(selected({{}, read_from(kThird), read_from(kFirst)},
                     {{kThird, 95}, {kSecond, 90}, {kFirst, 91}}),
            "3 least weighed end");
  EXPECT_EQ(selected({{}, read_from(kThird), read_from(kFirst)},
                     {{kThird, 500}, {kSecond, 90}, {kFirst, 91}}),
            "2 least weighed end");
}

TEST(DeviceSelection, WithoutOwnersTheLeastLoadWinsAndTheFirstOnTies) {
  EXPECT_EQ(selected({{}, {.written = true}}, {{kThird, 7}, {kSecond, 5}, {kFirst, 5}}),
            "2 least weighed end");
}

TEST(DeviceSelection, ASkewOfNothingIsLoadAloneAndAnInfiniteOneReuseAtAnyPrice) {
  const std::vector<Load> loads{{kSecond, 0}, {kFirst, 1}};
  EXPECT_EQ(selected({read_from(kFirst)}, loads, 0), "2 least weighed end");
  EXPECT_EQ(selected({read_from(kFirst)}, {{kSecond, 1}, {kFirst, 1}}, 0), "1 least weighed end");
  EXPECT_EQ(selected({read_from(kFirst)}, {{kSecond, 0}, {kFirst, 1'000'000}},
                     std::numeric_limits<double>::infinity()),
            "1 least weighed end");
}

TEST(DeviceSelection, ListsEndsAndOperandsOfAllDevices) {
  std::vector<Device> devices{{.node = kSecond, .load_ns = 30, .estimate_ns = 20},
                              {.node = kFirst, .load_ns = 0, .estimate_ns = 60}};
  const std::vector<Flow> flows{read_from(kFirst)};
  const Selection selection = select_device(flows, devices);
  EXPECT_EQ(selection.device, 0U);
  EXPECT_EQ(devices[0].node, kFirst);  // looked at first
  EXPECT_EQ(devices[0].end_ns, 60);
  EXPECT_EQ(devices[0].weighed_ns, 50);
  EXPECT_EQ(devices[1].weighed_ns, 50);  // a tie
  EXPECT_FALSE(devices[0].operand.has_value());
  const std::vector<Flow> more{read_from(kFirst), written_on(kSecond)};
  EXPECT_EQ(devices[select_device(more, devices).device].operand, 0U);
}

}  // namespace
}  // namespace vicinal::sched::placement
