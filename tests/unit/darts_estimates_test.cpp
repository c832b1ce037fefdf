// What DARTS takes for the time of a task whose time is not known.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "sched/policies/darts_speeds.hpp"
#include "support/fake_context.hpp"

namespace vicinal::sched::darts {
namespace {

using testing::FakeContext;
using testing::FakeGraph;

struct Durations2 {
  std::int64_t core;
  std::int64_t device;
};

// Of a task whose times, as far as they are known, are these.
Durations2 assessed(ProcessorKind device_kind, Time on_core, Time on_device) {
  FakeContext context;
  context.add_worker();
  context.add_worker(context.add_device(), device_kind);
  FakeGraph graph;
  graph::Task& task = graph.task("task", {}, {});
  Codelet codelet = *task.codelet;
  codelet.kernels[device_kind] = codelet.cpu;
  codelet.expected = {};
  codelet.expected[static_cast<std::size_t>(ProcessorKind::cpu)] = on_core;
  codelet.expected[static_cast<std::size_t>(device_kind)] = on_device;
  task.codelet = &codelet;
  Nodes nodes;
  nodes.start(context);
  Estimates estimates(nodes);
  estimates.start(context);
  TaskRecord record;
  record.task = &task;
  estimates.assess(record);
  EXPECT_EQ(record.least_ns, std::min(record.nodes[0].duration_ns, record.nodes[1].duration_ns));
  return {record.nodes[0].duration_ns, record.nodes[1].duration_ns};
}

TEST(DartsEstimates, WhereNothingIsKnownACoreCountsAsSlowerThanADevice) {
  const Durations2 unknown = assessed(ProcessorKind::cuda, {}, {});
  EXPECT_EQ(unknown.core, 16);
  EXPECT_EQ(unknown.device, 1);
}

TEST(DartsEstimates, AnEmulatedAcceleratorIsAsFastAsACore) {
  const Durations2 unknown = assessed(ProcessorKind::emulated, {}, {});
  EXPECT_EQ(unknown.core, 1);
  EXPECT_EQ(unknown.device, 1);
}

TEST(DartsEstimates, AKnownTimeTellsTheOther) {
  EXPECT_EQ(assessed(ProcessorKind::cuda, {}, Time{1000}).core, 16000);
  EXPECT_EQ(assessed(ProcessorKind::opencl, Time{16000}, {}).device, 1000);
  EXPECT_EQ(assessed(ProcessorKind::opencl, Time{5}, {}).device, 1);
}

TEST(DartsEstimates, KnownTimesStay) {
  const Durations2 known = assessed(ProcessorKind::cuda, Time{300}, Time{700});
  EXPECT_EQ(known.core, 300);
  EXPECT_EQ(known.device, 700);
}

}  // namespace
}  // namespace vicinal::sched::darts
