// Who is woken by what.
#include "engine/sleepers.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "engine/errors.hpp"
#include "support/holding_driver.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {
namespace {

constexpr NodeId kSleepersDevice{1};
constexpr NodeId kOtherDevice{2};

// Two cores on RAM and an accelerator of one worker on each of two nodes.
MachineDescription machine() {
  return {.nodes = {{kRam, "ram", NodeKind::ram, {}},
                    {kSleepersDevice, "device0", NodeKind::device, {}},
                    {kOtherDevice, "device1", NodeKind::device, {}}},
          .links = {},
          .workers = {{WorkerId{0}, ProcessorKind::cpu, kRam},
                      {WorkerId{1}, ProcessorKind::cpu, kRam},
                      {WorkerId{2}, ProcessorKind::emulated, kSleepersDevice},
                      {WorkerId{3}, ProcessorKind::emulated, kOtherDevice}}};
}

class SleepersTest : public ::testing::Test {
 protected:
  SleepersTest() {
    drivers_.attach({&driver_[0], &driver_[2], &driver_[3]},
                    {&driver_[0], &driver_[1], &driver_[2], &driver_[3]});
    for (std::uint32_t i = 0; i < 4; ++i) sleepers_.fall_asleep(WorkerId{i});
  }
  void push(std::size_t tasks) { sleepers_.wake_for(tasks, false, kNoWorker, Releaser::goes_on); }
  // Since the last time, by worker.
  std::vector<int> wakes() {
    std::vector<int> counts;
    for (auto& driver : driver_) counts.push_back(std::exchange(driver.wakes, 0));
    return counts;
  }
  using Counts = std::vector<int>;

  const MachineDescription machine_ = machine();
  const std::vector<NodeWorkers> nodes_ = workers_by_node(machine_, true);
  std::array<testing::HoldingDriver, 4> driver_;
  DriverTable drivers_;
  Sleepers sleepers_{machine_, nodes_, drivers_, true};
};

TEST_F(SleepersTest, APushWakesOnePerTaskOnEachNode) {
  push(1);
  EXPECT_EQ(wakes(), (Counts{1, 0, 1, 1}));
  push(1);
  EXPECT_EQ(wakes(), (Counts{0, 1, 0, 0}));  // the others are awake
}

TEST_F(SleepersTest, AWorkerThatReleasesATaskAndAsksNextTakesIt) {
  sleepers_.rouse(WorkerId{0});
  sleepers_.wake_for(1, false, WorkerId{0}, Releaser::asks);
  EXPECT_EQ(wakes(), (Counts{0, 0, 1, 1}));
  // The releasing worker goes on with its own task: the other core is for the pushed task.
  sleepers_.wake_for(1, false, WorkerId{0}, Releaser::goes_on);
  EXPECT_EQ(wakes(), (Counts{0, 1, 0, 0}));
}

TEST_F(SleepersTest, ABoundTaskWakesAllForItMayBeAnyones) {
  sleepers_.wake_for(1, true, kNoWorker, Releaser::goes_on);
  EXPECT_EQ(wakes(), (Counts{1, 1, 1, 1}));
}

TEST_F(SleepersTest, ASatisfiedNodeIsPassedOverByPushesAndPeersButNotByItsCopies) {
  sleepers_.set_satisfied(kOtherDevice, true);
  push(1);
  EXPECT_EQ(wakes(), (Counts{1, 0, 1, 0}));
  sleepers_.wake_a_peer_of(kSleepersDevice);
  EXPECT_EQ(wakes(), (Counts{0, 0, 0, 0}));
  EXPECT_TRUE(sleepers_.wake_node(kOtherDevice));
  EXPECT_EQ(wakes(), (Counts{0, 0, 0, 1}));
  sleepers_.fall_asleep(WorkerId{3});
  sleepers_.set_satisfied(kOtherDevice, false);
  sleepers_.wake_a_peer_of(kSleepersDevice);
  EXPECT_EQ(wakes(), (Counts{0, 0, 0, 1}));
}

TEST_F(SleepersTest, WhatIsForAWorkerWithoutAThreadIsForWhoeverSleeps) {
  sleepers_.leave(WorkerId{1});
  EXPECT_TRUE(sleepers_.all_asleep_or_away());
  sleepers_.wake(WorkerId{1});
  EXPECT_EQ(wakes(), (Counts{1, 0, 1, 1}));
  sleepers_.come(WorkerId{1});
  sleepers_.fall_asleep(WorkerId{1});
  sleepers_.wake(WorkerId{1});
  EXPECT_EQ(wakes(), (Counts{0, 1, 0, 0}));
}

// --- errors wake the workers that end cancelled tasks

TEST_F(SleepersTest, TheFirstErrorIsKeptAndEachCancellationWakesAll) {
  Errors errors(sleepers_);
  errors.report(std::make_exception_ptr(Error("first")));
  EXPECT_FALSE(errors.cancelling());
  EXPECT_EQ(wakes(), (Counts{0, 0, 0, 0}));
  errors.cancel(std::make_exception_ptr(Error("second")));
  EXPECT_TRUE(errors.cancelling());
  EXPECT_EQ(wakes(), (Counts{1, 1, 1, 1}));
  const Errors::Taken taken = errors.take();
  EXPECT_FALSE(taken.broken);
  try {
    std::rethrow_exception(taken.error);
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
  EXPECT_FALSE(errors.cancelling());
  EXPECT_FALSE(errors.any());
}

TEST_F(SleepersTest, AFailedWriteBackIsToldOnceUntilTheErrorsAreTaken) {
  Errors errors(sleepers_);
  const auto broken = std::make_exception_ptr(DeviceError("disk full"));
  for (int i = 0; i < 2; ++i) {
    errors.cancel_broken(broken);
    EXPECT_EQ(wakes(), (Counts{1, 1, 1, 1}));
    for (std::uint32_t w = 0; w < 4; ++w) sleepers_.fall_asleep(WorkerId{w});
    errors.cancel_broken(broken);
    EXPECT_EQ(wakes(), (Counts{0, 0, 0, 0}));
    EXPECT_TRUE(errors.take().broken);
  }
}

TEST(NodeWorkers, PeersAreTheOtherNodesOfTheSameKindIfThePolicyMovesTasks) {
  const auto nodes = workers_by_node(machine(), true);
  EXPECT_TRUE(nodes[kRam.value].peers.empty());
  EXPECT_EQ(nodes[kSleepersDevice.value].peers, std::vector{kOtherDevice});
  EXPECT_EQ(nodes[kOtherDevice.value].peers, std::vector{kSleepersDevice});
  EXPECT_TRUE(workers_by_node(machine(), false)[kSleepersDevice.value].peers.empty());
}

}  // namespace
}  // namespace vicinal::engine
