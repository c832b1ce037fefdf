// Simulated machines and times that cannot be are refused when they are given, naming the part.
#include <cstdint>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/machines.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const NodeId kDisk{1};
const NodeId kDevice{2};

MachineDescription with_disk_and_device() {
  return testing::around_ram(
      {{kRam, "ram", NodeKind::ram, {}},
       {kDisk, "disk", NodeKind::disk, {}},
       {kDevice, "dev", NodeKind::device, 1_MiB}},
      {{WorkerId{0}, ProcessorKind::cpu, kRam}, {WorkerId{1}, ProcessorKind::gpu, kDevice}});
}

template <typename Thrown, typename Function>
std::string message_of_simulation(const Function& function) {
  try {
    function();
  } catch (const Thrown& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another: ") + error.what();
  }
  return "nothing was thrown";
}

std::string refusal_of(const MachineDescription& machine) {
  return message_of_simulation<UsageError>([&] { Runtime runtime(machine, Options{}); });
}

TEST(SimulatedLimits, AMachineWithoutALinkThatItNeedsIsRefusedNamingBothEnds) {
  EXPECT_EQ(refusal_of(with_disk_and_device()), "nothing was thrown");
  const char* const expected[] = {"node 1 (disk): there is no link to it from node 0",
                                  "node 1 (disk): there is no link from it to node 0",
                                  "node 2 (dev): there is no link to it from node 0",
                                  "node 2 (dev): there is no link from it to node 0"};
  for (std::ptrdiff_t link = 0; link < 4; ++link) {
    MachineDescription machine = with_disk_and_device();
    machine.links.erase(machine.links.begin() + link);
    EXPECT_THAT(refusal_of(machine), HasSubstr(expected[link]));
  }
  MachineDescription unused = with_disk_and_device();  // a device that nobody uses needs none
  unused.workers.pop_back();
  unused.links.resize(2);
  EXPECT_EQ(refusal_of(unused), "nothing was thrown");
}

TEST(SimulatedLimits, AMachineHasNoMoreWorkersThanARealOne) {
  MachineDescription machine = with_disk_and_device();
  for (std::uint32_t w = 2; w < 100'000; ++w) {
    machine.workers.push_back({WorkerId{w}, ProcessorKind::cpu, kRam});
  }
  EXPECT_THAT(refusal_of(machine), HasSubstr("100000 workers; there are at most 4128"));
}

TEST(SimulatedLimits, TimesAndRatesOutOfRangeAreRefusedNamingThePart) {
  constexpr Time kFar{std::int64_t{1} << 62};
  MachineDescription latency = with_disk_and_device();
  latency.links[2].latency = kFar;
  EXPECT_THAT(refusal_of(latency), HasSubstr("link 2: its latency"));
  MachineDescription overhead = with_disk_and_device();
  overhead.workers[1].copy_overhead = kFar;
  EXPECT_THAT(refusal_of(overhead), HasSubstr("worker 1: its overheads"));
  MachineDescription submission = with_disk_and_device();
  submission.submit_overhead = kFar;
  EXPECT_THAT(refusal_of(submission), HasSubstr("submit_overhead"));
  MachineDescription slow = with_disk_and_device();
  slow.links[2].bandwidth = BytesPerSecond{1e-300};
  EXPECT_THAT(refusal_of(slow), HasSubstr("link 2: its bandwidth"));
  MachineDescription segment = with_disk_and_device();
  segment.segments = {{"bus", BytesPerSecond{1e-300}}};
  EXPECT_THAT(refusal_of(segment), HasSubstr("segment bus"));
}

// 2^59 ns each: the third would end after 2^60.
TEST(SimulatedLimits, ATaskThatWouldEndAfterTimeDoesIsRefusedAndNamed) {
  for (const char* const policy : {"eager", "dmdas", "darts", "heft"}) {
    Options options;
    options.policy = policy;
    Runtime runtime(with_disk_and_device(), options);
    constexpr Time kLong{(std::int64_t{1} << 59) - 1};
    const Codelet age{.name = "age", .expected = {kLong, kLong, kLong}};
    const Codelet endless{.name = "endless", .expected = {Time{INT64_MAX}, Time{1}, Time{1}}};
    EXPECT_THAT(message_of_simulation<UsageError>([&] { runtime.submit({.codelet = &endless}); }),
                AllOf(HasSubstr("endless"), HasSubstr("36 years")));
    for (int i = 0; i < 2; ++i) runtime.submit({.codelet = &age});
    EXPECT_THAT(message_of_simulation<UsageError>(
                    [&] { runtime.submit({.codelet = &age, .name = "third"}); }),
                AllOf(HasSubstr("third"), HasSubstr("36 years")));
    runtime.wait();
    EXPECT_GE(runtime.statistics().now, kLong) << policy;
  }
}

// 2^50 bytes at 1000 bytes per second: 35,000 years.
TEST(SimulatedLimits, ACopyThatWouldEndAfterTimeDoesEndsTheRunNamingDataAndLink) {
  MachineDescription machine = with_disk_and_device();
  machine.nodes[kDevice.value].limit = Bytes{1ULL << 51};
  machine.links[2].bandwidth = BytesPerSecond{1000};
  Runtime runtime(machine, Options{});
  const Handle vast = runtime.register_simulated(Bytes{1ULL << 50}, kRam, "vast");
  const Codelet on_gpu{.name = "on_gpu", .expected = {Time{0}, Time{0}, Time{1000}}};
  runtime.submit({.codelet = &on_gpu, .operands = {R(vast)}});
  EXPECT_THAT(message_of_simulation<DeviceError>([&] { runtime.wait(); }),
              AllOf(HasSubstr("vast"), HasSubstr("from ram to dev"), HasSubstr("years")));
  runtime.wait();
}

}  // namespace
}  // namespace vicinal
