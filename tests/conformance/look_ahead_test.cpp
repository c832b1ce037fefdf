// How far the runtime looks ahead where times are known: far enough to hide copies, and no further.
#include <cstdint>
#include <string_view>

#include <gtest/gtest.h>

#include "support/machines.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

// A core, and two accelerators that copy at 1 GB/s. All run a task in the same time.
MachineDescription core_and_accelerators() {
  return testing::around_ram({{kRam, "ram", NodeKind::ram, {}},
                              {NodeId{1}, "device0", NodeKind::device, 1_GiB},
                              {NodeId{2}, "device1", NodeKind::device, 1_GiB}},
                             {{WorkerId{0}, ProcessorKind::cpu, kRam},
                              {WorkerId{1}, ProcessorKind::emulated, NodeId{1}},
                              {WorkerId{2}, ProcessorKind::emulated, NodeId{2}}});
}

// Seconds of so many independent tasks, each of which reads a datum of its own.
double seconds(std::string_view policy, int tasks, Time time, Bytes bytes) {
  Options options;
  options.policy = policy;
  Runtime runtime(core_and_accelerators(), options);
  const Codelet codelet{.name = "search", .expected = {time, time}};
  for (int i = 0; i < tasks; ++i) {
    const Handle part = runtime.register_simulated(bytes, kRam, "part");
    runtime.submit({.codelet = &codelet, .operands = {R(part)}});
  }
  runtime.wait();
  return runtime.statistics().now.seconds();
}

constexpr std::string_view kSharing[] = {"lws", "eager", "prio", "belady"};

TEST(LookAhead, LongTasksOnSmallDataAreLeftToWhoeverIsFree) {
  // 30 tasks of 100 s on three workers: 1000 s. Each reads 1 MB, 1 ms.
  for (const std::string_view policy : kSharing) {
    EXPECT_LT(seconds(policy, 30, Time{100'000'000'000}, Bytes{1'000'000}), 1001) << policy;
  }
}

TEST(LookAhead, CopiesAreStillMadeWhileOtherTasksRun) {
  // 300 tasks of 2 ms on three workers are 0.2 s; the copy of each takes 1 ms, and would make it 0.3 s.
  for (const std::string_view policy : kSharing) {
    EXPECT_LT(seconds(policy, 300, Time{2'000'000}, Bytes{1'000'000}), 0.215) << policy;
  }
}

}  // namespace
}  // namespace vicinal
