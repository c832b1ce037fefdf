// Typed tasks on simulated machines: their times, their workers, and the content that is read.
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/machines.hpp"
#include "support/policy_names.hpp"
#include "support/small_runs.hpp"
#include "vicinal/runtime.hpp"
#include "vicinal/slabs.hpp"
#include "vicinal/tiled_matrix.hpp"

namespace vicinal {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;

// A core and an accelerator, of which nothing is said but that gemm runs at 1 GFlop/s and 100 GFlop/s.
MachineDescription core_and_gpu() {
  MachineDescription machine = testing::around_ram(
      {{kRam, "ram", NodeKind::ram, std::nullopt}, {NodeId{1}, "gpu0", NodeKind::device, 1_GiB}},
      {{WorkerId{0}, ProcessorKind::cpu, kRam}, {WorkerId{1}, ProcessorKind::gpu, NodeId{1}}},
      {BytesPerSecond{1e12}});
  machine.speeds = {
      {.kernel = "gemm", .precision = {}, .kind = ProcessorKind::cpu, .flops_per_second = 1e9},
      {.kernel = "gemm",
       .precision = "float",
       .kind = ProcessorKind::gpu,
       .flops_per_second = 2e11},
      {.kernel = "gemm",
       .precision = "double",
       .kind = ProcessorKind::gpu,
       .flops_per_second = 1e11},
      {.kernel = "slow", .precision = {}, .kind = ProcessorKind::cpu, .seconds = 0.5}};
  return machine;
}
MachineDescription core_alone() {
  MachineDescription machine = core_and_gpu();
  machine.nodes.pop_back();
  machine.workers.pop_back();
  machine.links.clear();
  return machine;
}
Options with_eager() {
  Options options;
  options.policy = "eager";
  return options;
}

void never(std::span<double> /*data*/) {
  ADD_FAILURE() << "a kernel was called in a simulation";
}

TEST(TypedSimulation, TasksTakeWhatTheyAreExpectedTo) {
  Runtime runtime(core_alone(), with_eager());
  const auto x = runtime.data<double>(512, "x");
  runtime.task("any", never, out(x), expected(Time{2'000'000}));
  runtime.task("any", never, inout(x), expected(3ms), flops(1e12));  // its own time comes first
  runtime.task("any", never, inout(x), expected(1s), expected(ProcessorKind::cpu, 4ms));
  runtime.wait();
  EXPECT_EQ(runtime.statistics().now.ns, 9'000'000);
  EXPECT_TRUE(runtime.simulated());
}

TEST(TypedSimulation, TasksOfOneKernelTakeWhatEachSays) {
  Options options = with_eager();
  options.compute_priorities = true;
  Runtime runtime(core_alone(), options);
  const auto x = runtime.data<double>(512, "x");
  for (int i = 1; i <= 10; ++i) runtime.task("any", never, out(x), expected(Time{i * 1000}));
  runtime.wait();
  EXPECT_EQ(runtime.statistics().now.ns, 55'000);
}

TEST(TypedSimulation, OperationsGoAtTheSpeedOfTheMachineByNameKindAndPrecision) {
  const auto gpu_time = [](auto element, const char* name) {
    MachineDescription machine = core_and_gpu();
    machine.links[0].bandwidth = machine.links[1].bandwidth = BytesPerSecond{0};
    Runtime runtime(machine, with_eager());
    const auto x = runtime.data<decltype(element)>(512, "x");
    runtime.task(
        name, [](std::span<decltype(element)>) {}, out(x), flops(1e9), on(WorkerId{1}));
    runtime.wait();
    return runtime.statistics().now.ns;
  };
  EXPECT_EQ(gpu_time(1.0, "gemm"), 10'000'000);  // 1e9 at 1e11 a second
  EXPECT_EQ(gpu_time(1.0F, "gemm"), 5'000'000);

  Runtime runtime(core_alone(), with_eager());
  const auto x = runtime.data<double>(512, "x");
  runtime.task("gemm", never, out(x), flops(2e9));
  runtime.task("slow", never, inout(x));  // a time, whatever its operations are
  runtime.wait();
  EXPECT_EQ(runtime.statistics().now.ns, 2'500'000'000);
}

TEST(TypedSimulation, WhatNobodyKnowsTakesItsBytesAtADocumentedRate) {
  Runtime runtime(core_alone(), with_eager());
  const auto x = runtime.data<double>(10'000'000, "x");
  const auto y = runtime.data<double>(10'000'000, "y");
  runtime.task("first", never, out(x));  // 80 MB at 10 GB/s
  runtime.task(
      "second", [](std::span<const double>, std::span<double>) {}, in(x), out(y));  // 160 MB
  runtime.task("third", never, inout(y));  // read and written: 160 MB
  runtime.wait();
  EXPECT_EQ(runtime.statistics().now.ns, 8'000'000 + 16'000'000 + 16'000'000);
  const auto few = runtime.data<double>(1, "few");
  runtime.task("fourth", never, out(few));  // a microsecond at least
  runtime.wait();
  EXPECT_EQ(runtime.statistics().now.ns, 40'001'000);
}

TEST(TypedSimulation, TasksOfWhichNothingIsKnownRunOnEveryKindOfWorker) {
  for (const std::uint32_t worker : {0U, 1U}) {
    Runtime runtime(core_and_gpu(), with_eager());
    const auto x = runtime.data<double>(512, "x");
    runtime.task("unknown", never, out(x), on(WorkerId{worker}));
    runtime.wait();
    EXPECT_EQ(runtime.statistics().workers[worker].tasks, 1U);
  }
}

// Else a core of which nothing is said would seem as fast as its memory.
TEST(TypedSimulation, TasksRunOnlyWhereATimeIsKnownIfOneIs) {
  Runtime runtime(core_and_gpu(), with_eager());
  const auto x = runtime.data<double>(512, "x");
  runtime.task("there", never, out(x), expected(ProcessorKind::gpu, 1ms));
  runtime.wait();
  EXPECT_EQ(runtime.statistics().workers[1].tasks, 1U);
  const std::string message = message_of<UsageError>([&] {
    runtime.task("there", never, out(x), expected(ProcessorKind::gpu, 1ms), on(WorkerId{0}));
  });
  EXPECT_THAT(message, HasSubstr("task there: no worker can run it"));
}

TEST(TypedSimulation, ATimeForAKindThatTheMachineDoesNotHaveHindersNothing) {
  Runtime runtime(core_alone(), with_eager());
  const auto x = runtime.data<double>(512, "x");
  runtime.task("there", never, out(x), expected(ProcessorKind::gpu, 1ms));
  runtime.wait();
  EXPECT_EQ(runtime.statistics().workers[0].tasks, 1U);
}

TEST(TypedSimulation, TimesBelowZeroAndBeyondTheEndOfTimeAreRefused) {
  Runtime runtime(core_alone(), with_eager());
  const auto x = runtime.data<double>(512, "x");
  EXPECT_THAT(message_of<UsageError>([&] { runtime.task("t", never, out(x), expected(-1ms)); }),
              AllOf(HasSubstr("task t"), HasSubstr("-1000000 ns")));
  for (const double many : {1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(message_of<UsageError>([&] { runtime.task("gemm", never, out(x), flops(many)); }),
                HasSubstr("a simulated run lasts"));
  }
  runtime.task("gemm", never, out(x), flops(std::numeric_limits<double>::quiet_NaN()));
  runtime.wait();
}

TEST(TypedSimulation, SpeedsThatCannotBeAreRefused) {
  for (const double rate : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    MachineDescription machine = core_alone();
    machine.speeds[0].flops_per_second = rate;
    EXPECT_THAT(message_of<UsageError>([&] { const Runtime runtime(machine, with_eager()); }),
                HasSubstr("speed of gemm"));
  }
}

TEST(TypedSimulation, EveryPolicyPlaysTheSameProgramOnMachinesOfFiles) {
  for (const std::string& policy : testing::policy_names()) {
    SCOPED_TRACE(policy);
    Options options;
    options.policy = policy;
    Runtime runtime(read_machine("v100", {.gpus = 2, .gpu_memory = 8_MiB}), options);
    const MatrixShape shape{.rows = 2048, .columns = 2048, .tile_rows = 512};
    const TiledMatrix<double> a(runtime, shape, "A");
    const TiledMatrix<double> c(runtime, shape, "C");
    const auto set = [](Tile<double>) {};
    const auto add = [](Tile<const double>, Tile<double>) {};
    for (const TilePlace at : a) {
      runtime.task("fill", set, out(a(at)));
      runtime.task("fill", set, out(c(at)));
    }
    for (const TilePlace at : c) {
      for (std::uint64_t k = 0; k < 4; ++k) {
        runtime.task("gemm", add, in(a(at.row, k)), inout(c(at)), flops(2e9));
      }
    }
    runtime.wait();
    EXPECT_EQ(runtime.statistics().tasks_done, 32U + 64U);
  }
}

TEST(TypedSimulation, ReductionsAndResultsRunOnAccelerators) {
  Runtime runtime(read_machine("v100", {.gpus = 2}), with_eager());
  const auto sum = runtime.data<double>(1000, "sum");
  runtime.set_reduction(sum, std::plus<>());
  runtime.task("zero", never, out(sum));
  for (int i = 0; i < 10; ++i) runtime.task("add", never, reduce(sum));
  const auto first = runtime.task(
      "first", [](std::span<const double> x) { return x[0]; }, in(sum));
  EXPECT_EQ(first.get(), 0);
}

TEST(TypedSimulation, WhatIsReadIsTheApplicationsMemoryOrZeros) {
  std::vector<double> values(1000, 7.0);
  Runtime runtime(read_machine("v100", {.gpus = 1, .ram = 1_GiB}), with_eager());
  const auto own = runtime.data(values, "own");
  const auto made = runtime.data<double>(1000, "made");
  const auto vast = runtime.data<double>(std::size_t{1} << 26, "vast");  // half a GiB
  runtime.task("t", never, inout(own));
  runtime.task("t", never, out(made));
  runtime.task("t", never, out(vast));
  EXPECT_EQ(runtime.read(own)[999], 7);
  EXPECT_EQ(runtime.read(made)[999], 0);
  EXPECT_EQ(runtime.read(vast)[(std::size_t{1} << 26) - 1], 0);
  {
    const auto written = runtime.write(made);
    written[0] = 1;  // is lost
  }
  EXPECT_EQ(runtime.read(made)[0], 0);
  const auto parts = runtime.partition(made, row_blocks(3));
  runtime.task("t", never, inout(parts[2]));
  EXPECT_EQ(runtime.read(parts[2])[0], 0);
  runtime.release(own);
  EXPECT_THAT(values, ::testing::Each(7));
  const Handle simulated = runtime.register_simulated(Bytes{4096}, kRam, "simulated");
  EXPECT_EQ(*runtime.acquire(simulated, AccessMode::R).data<double>(), 0);
}

TEST(TypedSimulation, FilesLieOnTheDiskOfTheMachineAndAreNotOpened) {
  Runtime runtime(read_machine("cpu-disk", {}), with_eager());
  const auto file = runtime.data<double>({.path = "/nowhere/at/all", .writable = false}, 1000, "f");
  runtime.task(
      "read", [](std::span<const double>) {}, in(file));
  runtime.wait();
  EXPECT_EQ(runtime.statistics().nodes[kRam.value].bytes_in.value, 8000U);
  EXPECT_THAT(message_of<UsageError>([&] { runtime.task("t", never, out(file)); }),
              HasSubstr("read-only"));
  Runtime without(read_machine("v100", {}), with_eager());
  EXPECT_THAT(message_of<UsageError>([&] { without.data<double>({.path = "/a/file"}, 3); }),
              AllOf(HasSubstr("/a/file"), HasSubstr("has no disk")));
}

// --- the option machine

TEST(TypedSimulation, TheOptionMachineSimulatesAProgramAsItIs) {
  Options options = with_eager();
  options.machine = "v100,gpus=3,cpus=0,memory=64MiB";
  options.workers = 7;  // of the machine that is there
  Runtime runtime(options);
  EXPECT_TRUE(runtime.simulated());
  ASSERT_EQ(runtime.machine().workers.size(), 3U);
  EXPECT_EQ(runtime.machine().nodes[1].limit, 64_MiB);
  EXPECT_FALSE(Runtime(testing::small_options()).simulated());
}

TEST(TypedSimulation, TheOptionMachineSaysWhatIsWrongWithIt) {
  const std::vector<std::pair<std::string, std::string>> mistakes{
      {"v10", "v100"},
      {"v100,gpu=2", "did you mean gpus=?"},
      {"v100,gpus", "is no choice"},
      {"v100,", "is no choice"},
      {"v100,gpus=-1", "gpus: \"-1\""},
      {"v100,gpus=1e9", "gpus"},
      {"v100,memory=lots", "memory: \"lots\""},
      {"v100,gpus=99", "gpus"},
      {"/no/such/machine.toml", "/no/such/machine.toml"},
      {",gpus=2", "option machine"},
  };
  for (const auto& [text, part] : mistakes) {
    Options options;
    options.machine = text;
    EXPECT_THAT(message_of<UsageError>([&] { const Runtime runtime(options); }),
                AllOf(HasSubstr("option machine"), HasSubstr(part)))
        << text;
  }
}

}  // namespace
}  // namespace vicinal
