// Which numbers data and submissions have, data that a runtime has only declared, and many runtimes in one world.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/runtime_impl.hpp"
#include "support/queue_policy.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/error.hpp"
#include "vicinal/partition.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests
using graph::DataNumber;
using graph::SubmissionNumber;
using runtime::MachineSetup;
using runtime::RuntimeImpl;

const Codelet kSome{.name = "some", .cpu = nothing_kernel, .expected = {Time{1000}, Time{1000}}};
constexpr Layout kShape{4096, 1, 4096, 1};

// RAM, a disk and so many devices, each with room for few data.
MachineDescription machine_of(std::uint32_t devices, std::uint32_t cores = 1,
                              std::vector<SegmentDescription> segments = {}) {
  const BytesPerSecond bandwidth{4.096e9};
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, kPage * 16},
                   {NodeId{1}, "disk", NodeKind::disk, {}}};
  for (std::uint32_t c = 0; c < cores; ++c) {
    machine.workers.push_back({WorkerId{c}, ProcessorKind::cpu, kRam});
  }
  const auto join = [&](NodeId other) {
    machine.links.push_back({kRam, other, bandwidth, Time{0}});
    machine.links.push_back({other, kRam, bandwidth, Time{0}});
  };
  join(NodeId{1});
  for (std::uint32_t d = 0; d < devices; ++d) {
    const NodeId node{2 + d};
    machine.nodes.push_back({node, "device" + std::to_string(d), NodeKind::device, kPage * 4});
    machine.workers.push_back({WorkerId{static_cast<std::uint32_t>(machine.workers.size())},
                               ProcessorKind::emulated, node});
    join(node);
  }
  for (LinkDescription& link : machine.links) {
    for (std::uint32_t s = 0; s < segments.size(); ++s) link.segments.push_back(s);
  }
  machine.segments = std::move(segments);
  return machine;
}

Handle registered(RuntimeImpl& impl, const std::string& name) {
  return impl.add(kShape, {}, false, name);
}

// --- numbers

struct Identities {
  std::vector<DataNumber> data;
  std::vector<SubmissionNumber> submissions;
  std::vector<HandleId> ids;
  std::vector<TaskId> tasks;
};

// The same registrations and submissions whatever `pauses` is: then what the runtime makes for itself comes and goes
// at other times.
Identities run_program(RuntimeImpl& impl, bool pauses) {
  Identities seen;
  impl.application().submissions.number_all();
  std::vector<Handle> data;
  const auto add = [&] {
    data.push_back(registered(impl, "d" + std::to_string(data.size())));
    seen.data.push_back(data.back().impl()->number);
    seen.ids.push_back(data.back().impl()->id);
  };
  const auto submit = [&](const TaskSpec& spec) {
    seen.tasks.push_back(impl.submit(spec));
    seen.submissions.push_back(impl.application().numbers.last_submission());
  };
  for (int round = 0; round < 4; ++round) {
    add();
    submit({.codelet = &kSome, .operands = {W(data.back()), Scratch(Bytes{100})}});
    submit({.codelet = &kSome, .operands = {R(data.back()), Scratch(Bytes{100})}});
    if (pauses) {
      impl.wait();
      impl.release(*impl.acquire(data.back(), AccessMode::R));
      impl.application().prefetches.submit(data.back(), kRam);
    }
    add();
    impl.set_reduction(data.back(), {&kSome, &kSome});
    submit({.codelet = &kSome, .operands = {Reduce(data.back())}});
    add();
    submit({.codelet = &kSome, .operands = {W(data.back())}});
    if (pauses) {
      const Parts parts =
          impl.application().partitions.partition(data.back(), pieces(1024), PartAccess::writable);
      submit({.codelet = &kSome, .operands = {RW(data.front())}});
      impl.application().partitions.unpartition(parts);
    } else {
      submit({.codelet = &kSome, .operands = {RW(data.front())}});
    }
  }
  impl.wait();
  return seen;
}

TEST(Identity, RuntimesThatRunTheSameProgramAgree) {
  // More cores and devices: more private copies.
  RuntimeImpl one({}, MachineSetup(machine_of(1)));
  RuntimeImpl other({}, MachineSetup(machine_of(3, 4)));
  const Identities a = run_program(one, false);
  const Identities b = run_program(other, true);
  EXPECT_EQ(a.data, b.data);
  EXPECT_EQ(a.submissions, b.submissions);
  ASSERT_EQ(a.data.size(), 12U);
  ASSERT_EQ(a.submissions.size(), 20U);
  for (std::uint64_t i = 0; i < a.data.size(); ++i) EXPECT_EQ(a.data[i], DataNumber{i + 1});
  for (std::uint64_t i = 0; i < a.submissions.size(); ++i) {
    EXPECT_EQ(a.submissions[i], SubmissionNumber{i + 1});
  }
  EXPECT_NE(a.ids, b.ids);  // what these numbers are for
  const auto slots = [](const Identities& of) {
    std::vector<std::uint64_t> values;
    for (const TaskId id : of.tasks) values.push_back(id.value);
    return values;
  };
  EXPECT_NE(slots(a), slots(b));
}

TEST(Identity, WhatTasksRegisterAndSubmitHasNoNumber) {
  RuntimeImpl impl(small_options(), MachineSetup(small_options()));
  impl.application().submissions.number_all();
  const Handle before = registered(impl, "before");
  Handle inner;
  const auto register_one = [&](KernelContext& /*context*/) {
    inner = registered(impl, "inner");
    impl.submit({.codelet = &kNothing, .operands = {W(inner)}});
  };
  const Codelet registers{.name = "registers", .cpu = Kernel::bind(register_one)};
  impl.submit({.codelet = &registers, .operands = {W(before)}});
  impl.wait();
  EXPECT_EQ(inner.impl()->number, DataNumber{});
  EXPECT_EQ(impl.application().numbers.last_submission(), SubmissionNumber{1});
  EXPECT_EQ(registered(impl, "after").impl()->number, DataNumber{2});
}

// Notes which submissions come, in their order.
class Noting final : public sched::QueuePolicy {
 public:
  explicit Noting(std::vector<std::uint64_t>& numbers) : numbers_(numbers) {}
  void push(graph::Task& task, WorkerId releasing) override {
    numbers_.push_back(task.extension ? task.extension->number.value : 0);
    QueuePolicy::push(task, releasing);
  }

 private:
  std::vector<std::uint64_t>& numbers_;
};

TEST(Identity, ATaskKnowsItsSubmission) {
  std::vector<std::uint64_t> numbers;
  RuntimeImpl impl({}, MachineSetup(machine_of(0)), nullptr, std::make_unique<Noting>(numbers));
  const Handle data = registered(impl, "data");
  impl.submit({.codelet = &kSome, .operands = {W(data)}});
  impl.wait();
  impl.application().submissions.number_all();
  impl.submit({.codelet = &kSome, .operands = {W(data)}});
  EXPECT_THROW(impl.submit({.codelet = nullptr}), UsageError);  // which counts
  impl.submit({.codelet = &kSome, .operands = {W(data)}});
  impl.wait();
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{0, 1, 3}));
}

TEST(Identity, NobodyCountsUnlessAsked) {
  RuntimeImpl impl(small_options(), MachineSetup(small_options()));
  impl.submit({.codelet = &kNothing, .operands = {W(registered(impl, "data"))}});
  EXPECT_EQ(impl.application().numbers.last_submission(), SubmissionNumber{});
  EXPECT_EQ(impl.application().numbers.last_data(), DataNumber{1});
}

// --- data that a runtime has declared

class DeclaredData : public ::testing::Test {
 protected:
  Handle declare(const std::string& name) {
    return impl.application().declared.declare({8, 1, 8, 1}, name);
  }
  std::int64_t value_of(Handle handle) {
    const auto held = impl.acquire(handle, AccessMode::R);
    std::int64_t value = 0;
    std::memcpy(&value, memory::view(*held->handle, kRam).address, sizeof(value));
    impl.release(*held);
    return value;
  }
  void set(Handle handle, std::int64_t value) {
    impl.submit({.codelet = &kSet, .operands = {W(handle)}, .parameters = value});
  }

  RuntimeImpl impl{small_options(), MachineSetup(small_options())};
};

TEST_F(DeclaredData, TheFirstUseMakesADatumOfIt) {
  const Handle a = declare("a");
  const Handle b = declare("b");
  EXPECT_NE(a, b);
  EXPECT_FALSE(impl.application().declared.used(a));
  set(a, 7);
  EXPECT_TRUE(impl.application().declared.used(a));
  EXPECT_FALSE(impl.application().declared.used(b));
  impl.submit({.codelet = &kNext, .operands = {R(a), W(b)}});
  impl.wait(b);
  EXPECT_EQ(value_of(a), 7);
  EXPECT_EQ(value_of(b), 8);
  const Handle local = impl.application().declared.used(b);
  EXPECT_EQ(local.impl()->name, "b");
  EXPECT_EQ(local.impl()->number, DataNumber{2});
  EXPECT_EQ(impl.application().declared.used(b), local);  // the same at every use
}

TEST_F(DeclaredData, NumbersCountThemAmongAllRegistrations) {
  const Handle a = registered(impl, "a");
  const Handle b = declare("b");
  const Handle c = registered(impl, "c");
  set(b, 1);
  EXPECT_EQ(a.impl()->number, DataNumber{1});
  EXPECT_EQ(impl.application().declared.used(b).impl()->number, DataNumber{2});
  EXPECT_EQ(c.impl()->number, DataNumber{3});
}

TEST_F(DeclaredData, ATaskNamesThemBesideOthersAndTwice) {
  const Handle a = declare("a");
  const Handle b = registered(impl, "b");
  set(b, 3);
  impl.submit({.codelet = &kNext, .operands = {R(b), W(a)}});
  impl.submit({.codelet = &kAdd, .operands = {RW(a), R(a)}, .parameters = std::int64_t{10}});
  EXPECT_EQ(value_of(a), 14);
}

TEST_F(DeclaredData, WhatIsReadAndWasNeverWrittenIsRefused) {
  const Handle a = declare("a");
  EXPECT_THAT(
      message_of<UsageError>([&] { impl.submit({.codelet = &kNothing, .operands = {R(a)}}); }),
      AllOf(HasSubstr("handle a"), HasSubstr("never written")));
}

TEST_F(DeclaredData, AfterItsEndEachIsRefused) {
  const Handle unused = declare("unused");
  const Handle used = declare("used");
  set(used, 1);
  EXPECT_EQ(impl.application().declared.size(), 2U);
  for (const Handle handle : {unused, used}) {
    impl.unregister(handle, WriteBack::no);
    const auto refused = [&](const auto& call) {
      EXPECT_THAT(message_of<UsageError>(call), HasSubstr("not registered"));
    };
    refused([&] { set(handle, 1); });
    refused([&] { impl.unregister(handle, WriteBack::no); });
    refused([&] { impl.wait(handle); });
    refused([&] { impl.application().declared.local(handle, "invalidate"); });
  }
  EXPECT_EQ(impl.application().declared.size(), 0U);
}

TEST_F(DeclaredData, AnotherRuntimeRefusesThem) {
  RuntimeImpl other(small_options(), MachineSetup(small_options()));
  const Handle a = declare("a");
  const auto submit = [&] { other.submit({.codelet = &kNothing, .operands = {W(a)}}); };
  EXPECT_THAT(message_of<UsageError>(submit), HasSubstr("not registered with this runtime"));
  other.application().declared.declare({8, 1, 8, 1}, "b");  // which has the same number there
  EXPECT_THAT(message_of<UsageError>(submit), HasSubstr("not registered with this runtime"));
}

TEST_F(DeclaredData, AllCallsTakeThem) {
  const Handle a = declare("a");
  engine::Application& application = impl.application();
  application.invalidations.submit(application.declared.local(a, "invalidate"));
  set(a, 1);
  EXPECT_TRUE((impl.wait(a), impl.is_ready(a, "ready")));
  const Parts parts = application.partitions.partition(application.declared.local(a, "partition"),
                                                       pieces(4), PartAccess::writable);
  impl.application().partitions.unpartition(parts);
  EXPECT_EQ(value_of(a), 1);
  const Handle b = declare("b");
  impl.release_later(b);
  EXPECT_THROW(set(b, 1), UsageError);
}

TEST_F(DeclaredData, AShapeThatCannotBeIsRefused) {
  EXPECT_THROW(
      impl.application().declared.declare({kLargestData.value, 2, kLargestData.value, 1}, "huge"),
      UsageError);
}

TEST(DeclaredDataInAWindow, TheWindowCountsThem) {
  Options options = small_options();
  options.window_bytes = Bytes{64};
  options.window_tasks = 4;
  RuntimeImpl impl(options, MachineSetup(options));
  std::vector<Handle> data;
  for (int i = 0; i < 100; ++i)
    data.push_back(impl.application().declared.declare({8, 1, 8, 1}, {}));
  for (int round = 0; round < 3; ++round) {
    for (const Handle each : data) {
      impl.submit({.codelet = &kSet, .operands = {W(each)}, .parameters = std::int64_t{round}});
    }
  }
  impl.wait();
  EXPECT_EQ(impl.statistics().tasks_done, 300U);
}

// --- many runtimes in one world

// 400 memory nodes in all: what a runtime knows by a bit for each node is of its own nodes.
TEST(ManyRuntimes, HundredOfFourNodesShareAWorld) {
  constexpr std::size_t kRuntimes = 100;
  const auto is_recorded = [](std::size_t runtime) { return runtime % 30 == 0; };
  const TemporaryFolder folder("world");
  SimulatedWorld world;
  const SegmentDescription network = world.add_segment("network", BytesPerSecond{100e9});
  std::vector<std::unique_ptr<Runtime>> runtimes;
  for (std::size_t r = 0; r < kRuntimes; ++r) {
    Options options;
    options.policy = "dmdas";
    runtimes.push_back(std::make_unique<Runtime>(machine_of(2, 1, {network}), options, world));
    if (is_recorded(r)) {
      runtimes.back()->start_trace(folder.path() + "/" + std::to_string(r) + ".vtrace");
    }
  }
  std::vector<std::vector<Handle>> data(kRuntimes);
  for (std::size_t r = 0; r < kRuntimes; ++r) {
    for (int i = 0; i < 12; ++i) {
      data[r].push_back(runtimes[r]->register_simulated(kPage, NodeId{1}, "x"));
    }
  }
  for (int i = 0; i < 12; ++i) {
    for (std::size_t r = 0; r < kRuntimes; ++r) {
      runtimes[r]->submit(
          {.codelet = &kSome, .operands = {RW(data[r][i])}, .node = NodeId{2 + i % 2U}});
    }
  }
  for (std::size_t r = 0; r < kRuntimes; ++r) {
    SCOPED_TRACE(r);
    runtimes[r]->wait();
    const Statistics statistics = runtimes[r]->statistics();
    EXPECT_EQ(statistics.tasks_done, 12U);
    ASSERT_EQ(statistics.nodes.size(), 4U);
    EXPECT_GT(statistics.nodes[2].peak.value, 0U);
    EXPECT_GT(statistics.nodes[3].peak.value, 0U);
    EXPECT_LE(statistics.nodes[2].peak, kPage * 4);
    EXPECT_GT(statistics.nodes[2].evictions + statistics.nodes[3].evictions, 0U);
    if (!is_recorded(r)) continue;
    const TraceSummary summary = runtimes[r]->stop_trace();
    EXPECT_GT(summary.written.value, 0U);
    EXPECT_EQ(summary.events_lost, 0U);
  }
}

}  // namespace
}  // namespace vicinal
