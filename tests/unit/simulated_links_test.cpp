// How copies of a simulated machine share links, and exclude each other.
#include "drivers/simulated/simulated_links.hpp"

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/simulated_player.hpp"

namespace vicinal::drivers {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

using Ends = std::map<std::uint64_t, std::int64_t>;

Ends ends_of_copies(const MachineDescription& machine,
                    const std::vector<std::pair<NodeId, NodeId>>& copies) {
  SimulatedPlayer player(machine);
  for (std::size_t c = 0; c < copies.size(); ++c) {
    player.copy(c, copies[c].first, copies[c].second, 1000);
  }
  player.run();
  return player.copies;
}

TEST(SimulatedLinks, CopiesOfALinkShareItsBandwidth) {
  EXPECT_THAT(ends_of_copies(two_accelerators(), {{kRam, kFirstGpu}, {kRam, kFirstGpu}}),
              ElementsAre(Pair(0, 2000), Pair(1, 2000)));
}

TEST(SimulatedLinks, CopiesOfASerialisedLinkRunOneAfterTheOther) {
  MachineDescription machine = two_accelerators();
  machine.links[0].serialised = {0};
  machine.links[0].latency = Time{5};  // of each, before it
  EXPECT_THAT(ends_of_copies(machine, {{kRam, kFirstGpu}, {kRam, kFirstGpu}, {kFirstGpu, kRam}}),
              ElementsAre(Pair(0, 1005), Pair(1, 2010), Pair(2, 1000)));
}

TEST(SimulatedLinks, ALinkThatIsSerialisedWithItsReverseWaitsForItsCopies) {
  // Said of one of the two it holds of both; copies of the same direction still share.
  MachineDescription machine = two_accelerators();
  machine.links[0].serialised = {1};
  EXPECT_THAT(ends_of_copies(machine, {{kFirstGpu, kRam}, {kRam, kFirstGpu}, {kRam, kFirstGpu}}),
              ElementsAre(Pair(0, 1000), Pair(1, 3000), Pair(2, 3000)));
}

TEST(SimulatedLinks, ArrivalsThatExcludeEachOtherRunInTheOrderOfTheirStart) {
  // Into the first from RAM (0) and from the second (5), each one at a time. The last goes elsewhere.
  MachineDescription machine = two_accelerators();
  machine.links[0].serialised = {0};
  machine.links[5].serialised = {5, 0};
  EXPECT_THAT(ends_of_copies(machine, {{kSecondGpu, kFirstGpu},
                                       {kRam, kFirstGpu},
                                       {kSecondGpu, kFirstGpu},
                                       {kRam, kSecondGpu}}),
              ElementsAre(Pair(0, 1000), Pair(1, 2000), Pair(2, 3000), Pair(3, 1000)));
}

TEST(SimulatedLinks, TwoLinksShareASegment) {
  // 1.5 bytes/ns for both, of 1 byte/ns each: 1000 bytes at 0.75 take 1333.33 ns, rounded up.
  MachineDescription machine = two_accelerators();
  machine.segments = {{"bridge", BytesPerSecond{1.5e9}}};
  machine.links[0].segments = machine.links[2].segments = {0};
  EXPECT_THAT(
      ends_of_copies(machine, {{kRam, kFirstGpu}, {kRam, kSecondGpu}, {kFirstGpu, kSecondGpu}}),
      ElementsAre(Pair(0, 1334), Pair(1, 1334), Pair(2, 1000)));
  EXPECT_THAT(ends_of_copies(machine, {{kRam, kFirstGpu}}), ElementsAre(Pair(0, 1000)));
}

TEST(SimulatedLinks, WhatWaitsForItsLatencyTakesNoBandwidth) {
  // The second copy begins to flow as the first ends.
  MachineDescription machine = two_accelerators();
  machine.segments = {{"bridge", kBytePerNs}};
  machine.links[0].segments = machine.links[2].segments = {0};
  machine.links[2].latency = Time{1000};
  EXPECT_THAT(ends_of_copies(machine, {{kRam, kFirstGpu}, {kRam, kSecondGpu}}),
              ElementsAre(Pair(0, 1000), Pair(1, 2000)));
}

TEST(SimulatedLinks, ALinkOfUnknownBandwidthWithoutSegmentsTakesItsLatency) {
  MachineDescription machine = two_accelerators();
  machine.links[0].bandwidth = BytesPerSecond{0};
  machine.links[0].latency = Time{7};
  EXPECT_THAT(ends_of_copies(machine, {{kRam, kFirstGpu}}), ElementsAre(Pair(0, 7)));
}

TEST(SimulatedLinks, ACopyThatNoLinkCarriesIsRefusedNamingItsEnds) {
  MachineDescription machine = two_accelerators();
  machine.links.pop_back();
  SimulatedPlayer player(machine);
  try {
    player.copy(1, kSecondGpu, kFirstGpu, 1);
    FAIL() << "not refused";
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(),
                ::testing::AllOf(::testing::HasSubstr("gpu1"), ::testing::HasSubstr("gpu0")));
  }
}

}  // namespace
}  // namespace vicinal::drivers
