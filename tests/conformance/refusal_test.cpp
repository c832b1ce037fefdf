// What cannot be is refused at once, with an error that names the thing and the remedy.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/failure_fixture.hpp"
#include "support/small_runs.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

// --- what can never fit -----------------------------------------------------------------------

TEST_F(Failure, ATaskThatCanNeverFitIsRefusedAtSubmissionNamingTaskBytesLimitAndOption) {
  Runtime runtime(out_of_core(3));
  const Handle a = runtime.register_empty(kPage * 2, "a");
  const Handle b = runtime.register_empty(kPage * 2, "b");
  runtime.submit(set(a, 1));
  // a and b are 2 pages each: 4 pages at once, 3 there are.
  const std::string message = message_of<CapacityError>([&] {
    runtime.submit({.codelet = &kNext, .operands = {R(a), W(b)}, .name = "next(1,2)"});
  });
  EXPECT_THAT(message, AllOf(HasSubstr("next(1,2)"), HasSubstr("16384"), HasSubstr("12288"),
                             HasSubstr("option memory")));
  runtime.submit(set(b, 7));  // what fits still runs
  runtime.wait();
  EXPECT_EQ(value_of(runtime, a), 1);
  EXPECT_EQ(value_of(runtime, b), 7);
}

TEST_F(Failure, ALimitBelowOnePageIsRefusedAtTheStart) {
  Options options = small_options();
  options.memory = Bytes{100};
  EXPECT_THAT(message_of<UsageError>([&] { Runtime runtime(options); }),
              AllOf(HasSubstr("memory"), HasSubstr("100")));
}

TEST_F(Failure, ALimitBelowOneTileRefusesItsTasksAndItsAcquisition) {
  Runtime runtime(out_of_core(1));
  std::vector<std::int64_t> values(1024, 5);
  const Handle tile = runtime.register_empty(kPage * 2, "tile(0,0)");
  EXPECT_THAT(message_of<CapacityError>([&] { runtime.submit(set(tile, 1)); }),
              AllOf(HasSubstr("set"), HasSubstr("8192"), HasSubstr("4096")));
  EXPECT_THAT(message_of<CapacityError>([&] { runtime.acquire(tile, AccessMode::W); }),
              AllOf(HasSubstr("tile(0,0)"), HasSubstr("8192"), HasSubstr("memory")));
  runtime.wait();
}

TEST_F(Failure, ATaskThatFitsNoAcceleratorNamesItsOption) {
  Options options = out_of_core(100);
  options.accelerators = 2;
  options.accelerator_memory = kPage;
  Runtime runtime(options);
  const Handle a = runtime.register_empty(kPage * 2, "a");
  EXPECT_THAT(message_of<CapacityError>([&] { runtime.submit(set(a, 1, kSetOnDevice)); }),
              AllOf(HasSubstr("set_on_device"), HasSubstr("8192"), HasSubstr("4096"),
                    HasSubstr("accelerator_memory")));
}

TEST_F(Failure, AnOperandOfADeviceThatCannotPassThroughRamNamesTheLimitOfRam) {
  Options options = out_of_core(1);
  options.accelerators = 1;
  options.accelerator_memory = kPage * 10;
  Runtime runtime(options);
  const Handle a = runtime.register_empty(kPage * 2, "a");
  EXPECT_THAT(message_of<CapacityError>([&] { runtime.submit(set(a, 1, kSetOnDevice)); }),
              AllOf(HasSubstr("set_on_device"), HasSubstr("8192"), HasSubstr("ram"),
                    HasSubstr("4096"), HasSubstr("option memory")));
}

TEST_F(Failure, ATaskThatNoWorkerCanRunIsRefused) {
  Runtime runtime(small_options());
  const Handle a = runtime.register_empty(kPage, "a");
  EXPECT_THAT(message_of<UsageError>([&] { runtime.submit(set(a, 1, kSetOnDevice)); }),
              HasSubstr("set_on_device"));
  TaskSpec spec = set(a, 1);
  spec.worker = WorkerId{17};
  EXPECT_THAT(message_of<UsageError>([&] { runtime.submit(spec); }), HasSubstr("set"));
}

// --- no disk ----------------------------------------------------------------------------------

TEST_F(Failure, DirtyDeviceDataBeyondTheLimitOfRamAreRefusedEarlyIfThereIsNoDisk) {
  Options options = small_options();
  options.memory = kPage * 8;
  options.accelerators = 1;
  options.accelerator_memory = kPage;
  Runtime runtime(options);
  const Watched watched(watchdog_, runtime);
  const std::vector<Handle> tiles = empty_tiles(runtime, 9);
  for (int i = 0; i < 8; ++i) runtime.submit(set(tiles[i], i, kSetOnDevice));
  // 9 pages are to be kept, RAM has 8.
  EXPECT_THAT(message_of<CapacityError>([&] { runtime.submit(set(tiles[8], 8, kSetOnDevice)); }),
              AllOf(HasSubstr("tile8"), HasSubstr("36864"), HasSubstr("32768"), HasSubstr("disk")));
  runtime.wait();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(value_of(runtime, tiles[i]), i);
  runtime.unregister(tiles[0]);  // gives its room
  runtime.submit(set(tiles[8], 8, kSetOnDevice));
  runtime.wait();
  EXPECT_EQ(value_of(runtime, tiles[8]), 8);
}

TEST_F(Failure, ARefusedTaskDoesNotCountWhatItWouldHaveWritten) {
  Options options = small_options();
  options.memory = kPage * 4;
  Runtime runtime(options);
  const Handle a = runtime.register_empty(kPage, "a");
  const Handle b = runtime.register_empty(kPage * 4, "b");
  for (int i = 0; i < 5; ++i) {
    EXPECT_THROW(runtime.submit({.codelet = &kNothing, .operands = {W(a), W(b)}}), CapacityError);
  }
  runtime.submit(set(b, 3));  // just fits
  runtime.wait();
  EXPECT_EQ(value_of(runtime, b), 3);
}

// --- folders and files ------------------------------------------------------------------------

TEST_F(Failure, AFileWithoutADiskNodeNamesTheOption) {
  Runtime runtime(small_options());
  EXPECT_THAT(
      message_of<UsageError>([&] { runtime.register_file({folder_.file("matrix")}, kPage, "a"); }),
      AllOf(HasSubstr("matrix"), HasSubstr("disk")));
}

TEST_F(Failure, ADiskFolderThatIsMissingOrNoFolderOrReadOnlyIsNamed) {
  Options options = out_of_core(4);
  options.disk = folder_.file("missing");
  EXPECT_THAT(message_of<UsageError>([&] { Runtime runtime(options); }), HasSubstr(options.disk));
  options.disk = folder_.file("a_file");
  std::ofstream(options.disk) << "x";
  EXPECT_THAT(message_of<UsageError>([&] { Runtime runtime(options); }), HasSubstr(options.disk));
  options.disk = "/proc";  // nobody, root included, may create a file there
  EXPECT_THAT(message_of<UsageError>([&] { Runtime runtime(options); }), HasSubstr("/proc"));
}

TEST_F(Failure, AReadOnlyFileRefusesWritersAtSubmission) {
  {
    std::ofstream file(folder_.file("matrix"), std::ios::binary);
    file << std::string(8192, 'x');
  }
  Runtime runtime(out_of_core(4));
  const FileRegion region{folder_.file("matrix"), 0, false};
  const Handle a = runtime.register_file(region, kPage, "a");
  EXPECT_THAT(message_of<UsageError>([&] { runtime.submit(set(a, 1)); }),
              AllOf(HasSubstr("a"), HasSubstr("read-only")));
  EXPECT_THAT(message_of<UsageError>([&] { runtime.acquire(a, AccessMode::RW); }),
              AllOf(HasSubstr("a"), HasSubstr("read-only")));
  EXPECT_THAT(message_of<UsageError>([&] {
                runtime.register_file({folder_.file("matrix"), 8192, false}, kPage, "behind");
              }),
              AllOf(HasSubstr("matrix"), HasSubstr("behind")));
}

TEST_F(Failure, ASimulatedMachineWithoutADiskRefusesFiles) {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}}};
  machine.workers = {{WorkerId{0}, ProcessorKind::cpu, kRam}};
  Runtime runtime(machine, Options{});
  EXPECT_THAT(message_of<UsageError>([&] { runtime.register_file({"matrix"}, kPage); }),
              AllOf(HasSubstr("matrix"), HasSubstr("register_empty")));
}

// --- misspelt names ---------------------------------------------------------------------------

TEST_F(Failure, AnUnknownPolicyOptionOrVariableOffersTheNearestName) {
  Options options = small_options();
  options.policy = "drats";
  EXPECT_THAT(message_of<UsageError>([&] { Runtime runtime(options); }),
              AllOf(HasSubstr("drats"), HasSubstr("darts")));
  EXPECT_THAT(message_of<UsageError>([&] { options.set("memmory", "1GiB"); }),
              AllOf(HasSubstr("memmory"), HasSubstr("\"memory\"")));
  ASSERT_EQ(setenv("VICINAL_WORKRES", "2", 1), 0);
  EXPECT_THAT(message_of<UsageError>([&] { Runtime runtime; }),
              AllOf(HasSubstr("VICINAL_WORKRES"), HasSubstr("VICINAL_WORKERS")));
  ASSERT_EQ(unsetenv("VICINAL_WORKRES"), 0);
}

// --- misuse -----------------------------------------------------------------------------------

TEST_F(Failure, ReadingWhatNobodyWroteNamesTaskAndHandle) {
  Runtime runtime(small_options());
  const Handle a = runtime.register_empty(kPage, "a");
  const Handle b = runtime.register_empty(kPage, "tile(3,0)");
  EXPECT_THAT(
      message_of<UsageError>([&] {
        runtime.submit({.codelet = &kNothing, .operands = {W(a), R(b)}, .name = "gemm(3,1,0)"});
      }),
      AllOf(HasSubstr("gemm(3,1,0)"), HasSubstr("tile(3,0)"), HasSubstr("never written")));
  // The refused task did not write a, either.
  EXPECT_THROW(runtime.submit({.codelet = &kNothing, .operands = {R(a)}}), UsageError);
  EXPECT_THAT(message_of<UsageError>([&] { runtime.acquire(b, AccessMode::R); }),
              HasSubstr("tile(3,0)"));
  runtime.wait(b);  // nothing to wait for, and it changes nothing
  EXPECT_THROW(runtime.submit({.codelet = &kNothing, .operands = {RW(b)}}), UsageError);
  runtime.wait();
}

TEST_F(Failure, ReadingWhatWasInvalidatedIsRefused) {
  Runtime runtime(small_options());
  const Handle a = runtime.register_empty(kPage, "a");
  runtime.submit(set(a, 1));
  runtime.invalidate(a);
  EXPECT_THAT(message_of<UsageError>([&] { runtime.submit(add(a, 1)); }), HasSubstr("a"));
  runtime.submit(set(a, 2));
  runtime.submit(add(a, 1));
  runtime.wait();
  EXPECT_EQ(value_of(runtime, a), 3);
}

// Set by the tests below, for kernels, which capture nothing.
Runtime* the_runtime = nullptr;
Handle the_handle;
std::string acquire_message;
std::string wait_message;
std::string unregister_message;
std::string handle_message;
void misuse_kernel(KernelContext& /*context*/) {
  acquire_message = message_of<UsageError>([] { the_runtime->acquire(the_handle, AccessMode::R); });
  wait_message = message_of<UsageError>([] { the_runtime->wait(); });
  handle_message = message_of<UsageError>([] { the_runtime->wait(the_handle); });
  unregister_message = message_of<UsageError>([] { the_runtime->unregister(the_handle); });
}
const Codelet kMisuse{
    .name = "misuse", .cpu = misuse_kernel, .kernels = {{ProcessorKind::emulated, misuse_kernel}}};

TEST_F(Failure, AcquireWaitAndUnregisterInsideATaskAreErrors) {
  for (const bool on_device : {false, true}) {
    Options options = out_of_core(8);
    options.accelerators = 1;
    Runtime runtime(options);
    the_runtime = &runtime;
    the_handle = runtime.register_empty(kPage, "a");
    runtime.submit(set(the_handle, 1));
    TaskSpec spec{.codelet = &kMisuse};
    spec.worker = WorkerId{on_device ? 2U : 0U};
    runtime.submit(spec);
    runtime.wait();
    for (const auto& message :
         {acquire_message, wait_message, unregister_message, handle_message}) {
      EXPECT_THAT(message, HasSubstr("inside a task"));
    }
  }
}

TEST_F(Failure, AnUnknownHandleIsRefusedEverywhere) {
  Runtime one(small_options());
  Runtime other(small_options());
  const Handle foreign = other.register_empty(kPage, "foreign");
  const Handle gone = one.register_empty(kPage, "gone");
  one.unregister(gone);
  for (const Handle handle : {foreign, gone, Handle()}) {
    EXPECT_THROW(one.submit(set(handle, 1)), UsageError);
    EXPECT_THROW(one.acquire(handle, AccessMode::W), UsageError);
    EXPECT_THROW(one.unregister(handle), UsageError);
    EXPECT_THROW(one.wait(handle), UsageError);
    EXPECT_THROW(one.prefetch(handle, kRam), UsageError);
    EXPECT_THROW(one.invalidate(handle), UsageError);
    EXPECT_THROW(one.wont_use(handle), UsageError);
  }
}

TEST_F(Failure, ATaskAfterAnIdThatNeverWasIsRefusedAndLeavesNothingBehind) {
  for (const bool planned : {false, true}) {
    Options options = small_options();
    options.compute_priorities = planned;
    Runtime runtime(options);
    const Handle a = runtime.register_empty(kPage, "a");
    const TaskId never{(std::uint64_t{9} << 32) | 0xfffffffU};
    const std::vector<TaskId> after{never};
    TaskSpec spec = set(a, 1);
    spec.after = after;
    EXPECT_THROW(
        {
          runtime.submit(spec);
          runtime.wait();
        },
        UsageError);
    runtime.submit(set(a, 2));
    runtime.wait();
    EXPECT_EQ(value_of(runtime, a), 2);
  }
}

// Ids that nobody returned have the same form: their slots exist.
TEST_F(Failure, ATaskAfterAnIdOfAnotherRuntimeOrOfALaterTaskIsRefused) {
  for (const bool planned : {false, true}) {
    Options options = small_options();
    options.compute_priorities = planned;
    Runtime runtime(options);
    Runtime other(options);
    const Handle a = runtime.register_empty(kPage, "a");
    const Handle there = other.register_empty(kPage, "a");
    const auto refused_after = [&](TaskId id) {
      TaskSpec spec = set(a, 1);
      spec.after = std::span(&id, 1);
      EXPECT_THAT(message_of<UsageError>([&] { runtime.submit(spec); }), HasSubstr("submit"));
    };
    refused_after(other.submit(set(there, 1)));  // its first, as the one below is this one's
    const TaskId own = runtime.submit(set(a, 1));
    for (std::uint64_t step = 1; step < 5; ++step) refused_after({own.value + step, own.runtime});
    refused_after({own.value + (std::uint64_t{1} << 32), own.runtime});  // a later life of the slot
    refused_after({own.value | (std::uint64_t{1} << 63), own.runtime});
    refused_after({own.value});
    refused_after({});
    TaskSpec spec = set(a, 2);
    spec.after = std::span(&own, 1);
    runtime.submit(spec);
    runtime.wait();
    refused_after({own.value + 1000, own.runtime});  // when nothing runs
    // The slot of one that has ended may be the task's own.
    TaskId last = own;
    for (int i = 0; i < 1000; ++i) {
      TaskSpec next = set(a, 2);
      next.after = std::span(&last, 1);
      last = runtime.submit(next);
      if (i % 3 == 0) runtime.wait();
    }
    runtime.submit(spec);
    runtime.wait();
    EXPECT_EQ(value_of(runtime, a), 2);
  }
}

TEST_F(Failure, AStallReportNamesTheTaskThatIsWaitedForWithoutData) {
  Options options = small_options();
  options.workers = 2;
  Runtime runtime(options);
  std::atomic<bool> goes{false};
  const TaskId first = runtime.task("first", [&goes] {
    while (!goes) std::this_thread::yield();
  });
  runtime.task(
      "second", [] {}, after({&first, 1}));
  EXPECT_THAT(runtime.stall_report(),
              HasSubstr("declared after task first, which has not ended: second"));
  goes = true;
  runtime.wait();
  EXPECT_THAT(runtime.stall_report(), ::testing::Not(HasSubstr("declared after")));
}

TEST_F(Failure, ASubmissionWithoutACodeletIsRefused) {
  Runtime runtime(small_options());
  EXPECT_THAT(message_of<UsageError>([&] { runtime.submit({}); }), HasSubstr("codelet"));
}

}  // namespace
}  // namespace vicinal
