// What goes wrong is said clearly, names the thing and the remedy, hangs nothing and loses nothing.
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/disk/fault_injection.hpp"
#include "runtime/runtime_impl.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Bytes kPage{4096};

class Failure : public ::testing::Test {
 protected:
  TemporaryFolder folder_{"failure"};
  Watchdog watchdog_{::testing::UnitTest::GetInstance()->current_test_info()->name(), 60};

  Options out_of_core(std::uint64_t pages) const {
    Options options = small_options();
    options.memory = kPage * pages;
    options.disk = folder_.path();
    return options;
  }
};

void throw_kernel(KernelContext& /*context*/) {
  throw std::runtime_error("pivot 3 is zero");
}
void throw_number_kernel(KernelContext& /*context*/) {
  throw 42;  // NOLINT(hicpp-exception-baseclass): that is the point
}
const Codelet kThrow{.name = "throws", .cpu = throw_kernel};
const Codelet kThrowOnDevice{.name = "throws_on_device", .emulated = throw_kernel};
const Codelet kThrowNumber{.name = "throws_number", .cpu = throw_number_kernel};

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
  watchdog_.set(&runtime);
  std::vector<Handle> tiles;
  for (int i = 0; i < 9; ++i) {
    tiles.push_back(runtime.register_empty(kPage, "tile" + std::to_string(i)));
  }
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
  watchdog_.set(nullptr);
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

TEST_F(Failure, AFileWithoutADiskNodeNamesTheOption) {
  Runtime runtime(small_options());
  EXPECT_THAT(
      message_of<UsageError>([&] { runtime.register_file({folder_.file("matrix")}, kPage, "a"); }),
      AllOf(HasSubstr("matrix"), HasSubstr("disk")));
}

// --- the disk folder --------------------------------------------------------------------------

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

TEST_F(Failure, ADiskSpaceThatFillsInMidRunEndsTheRunNamingDataAndRemedy) {
  Options options = out_of_core(3);
  options.disk_space = kPage * 3;
  Runtime runtime(options);
  watchdog_.set(&runtime);
  std::vector<Handle> tiles;
  for (int i = 0; i < 10; ++i) {
    tiles.push_back(runtime.register_empty(kPage, "tile" + std::to_string(i)));
    runtime.submit(set(tiles.back(), i));
  }
  // 10 pages, of which 3 and 3 fit.
  EXPECT_THAT(message_of<DeviceError>([&] { runtime.wait(); }),
              AllOf(HasSubstr("disk full"), HasSubstr("tile"), HasSubstr("disk_space")));
  runtime.wait();  // the second returns
  int readable = 0;
  for (int i = 0; i < 10; ++i) {
    try {
      EXPECT_EQ(value_of(runtime, tiles[i]), i);
      ++readable;
    } catch (const Error&) {
    }
  }
  EXPECT_GE(readable, 3);  // what is in RAM stays there
  watchdog_.set(nullptr);
}

// --- faults of the disk -----------------------------------------------------------------------

// A runtime whose disk fails on demand; with pages of one integer value.
class FaultyRun {
 public:
  explicit FaultyRun(const Options& options)
      : impl(options, runtime::MachineSetup(options, &faults)) {}
  Handle empty(const std::string& name) {
    return impl.add({kPage.value, 1, kPage.value, 1}, {}, false, name);
  }
  // The value, or -1 if an error says that it cannot be had.
  std::int64_t value(Handle handle) {
    try {
      const auto acquisition = impl.acquire(*handle.impl(), AccessMode::R);
      const OperandView view = memory::view(*handle.impl(), kRam);
      const std::int64_t value = *reinterpret_cast<std::int64_t*>(view.address);
      for_each_element(view, [&](std::int64_t& x) { EXPECT_EQ(x, value); });
      impl.release(*acquisition);
      return value;
    } catch (const Error& error) {
      last_error = error.what();
      return -1;
    }
  }
  // Several: an early copy that fails is nobody's error, whoever needs the data tries again.
  void fail_reads() {
    for (std::uint64_t i = 1; i <= 8; ++i) faults.fail(drivers::IoKind::read, i, EIO);
  }
  // 10 pages that become 0..9, out of core.
  void fill() {
    for (int i = 0; i < 10; ++i) {
      tiles.push_back(empty("tile" + std::to_string(i)));
      impl.submit(set(tiles.back(), i));
    }
  }

  drivers::FaultInjection faults;
  runtime::RuntimeImpl impl;
  std::vector<Handle> tiles;
  std::string last_error;
};

TEST_F(Failure, ShortReadsAndShortWritesAreContinued) {
  Options options = out_of_core(4);
  FaultyRun run(options);
  for (std::uint64_t i = 1; i < 200; i += 2) {
    run.faults.shorten(drivers::IoKind::write, i, 512);
    run.faults.shorten(drivers::IoKind::read, i, 512);
  }
  run.fill();
  for (int i = 0; i < 10; ++i) run.impl.submit(add(run.tiles[i], 100));
  run.impl.wait();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(run.value(run.tiles[i]), 100 + i);
}

TEST_F(Failure, AWriteThatFailsInMidRunEndsItAndLosesNothing) {
  for (const std::uint64_t nth : {1U, 2U, 5U}) {
    SCOPED_TRACE("write " + std::to_string(nth));
    FaultyRun run(out_of_core(3));
    run.faults.fail(drivers::IoKind::write, nth, EIO);
    run.fill();
    EXPECT_THAT(message_of<DeviceError>([&] { run.impl.wait(); }),
                AllOf(HasSubstr("tile"), HasSubstr(std::strerror(EIO)), HasSubstr(folder_.path())));
    run.impl.wait();
    // Each is there with its value, or was cancelled and says so.
    int right = 0;
    for (int i = 0; i < 10; ++i) {
      const std::int64_t value = run.value(run.tiles[i]);
      EXPECT_TRUE(value == i || value == -1) << value;
      if (value == i) ++right;
    }
    EXPECT_GE(right, 3);
    EXPECT_EQ(run.impl.engine().residency().quiet(), true);
    run.impl.engine().residency().check();
  }
}

TEST_F(Failure, ADiskThatFillsUnderTheRunEndsItNamingTheFolder) {
  FaultyRun run(out_of_core(3));
  run.faults.disk_full_after(kPage * 4);
  run.fill();
  EXPECT_THAT(message_of<DeviceError>([&] { run.impl.wait(); }),
              AllOf(HasSubstr("disk full"), HasSubstr("tile"), HasSubstr(folder_.path())));
  run.impl.wait();
}

TEST_F(Failure, AReadThatFailsEndsTheRunNamesTheDataAndLeavesTheOthersReadable) {
  FaultyRun run(out_of_core(3));
  run.fill();
  run.impl.wait();
  run.fail_reads();
  for (int i = 0; i < 10; ++i) run.impl.submit(add(run.tiles[i], 100));
  EXPECT_THAT(message_of<DeviceError>([&] { run.impl.wait(); }),
              AllOf(HasSubstr("reading"), HasSubstr("tile"), HasSubstr(std::strerror(EIO))));
  run.impl.wait();
  // What was not read keeps its old content on disk, but its task was cancelled; so were others.
  // What was neither failed nor cancelled has its value.
  for (int i = 0; i < 10; ++i) {
    const std::int64_t value = run.value(run.tiles[i]);
    EXPECT_TRUE(value == 100 + i || value == -1) << i << ": " << value;
  }
  for (int i = 0; i < 10; ++i)
    run.impl.submit(set(run.tiles[i], i));  // and all may be written anew
  run.impl.wait();
  for (int i = 0; i < 10; ++i) {
    for (int left = 8; left > 0 && run.value(run.tiles[i]) == -1; --left) {  // of the faults
    }
    EXPECT_EQ(run.value(run.tiles[i]), i);
  }
}

TEST_F(Failure, AReadThatFailsOnItsWayToADeviceEndsTheRun) {
  Options options = out_of_core(2);
  options.accelerators = 1;
  options.accelerator_memory = kPage * 2;
  FaultyRun run(options);
  run.fill();
  run.impl.wait();
  run.fail_reads();
  for (int i = 0; i < 10; ++i) run.impl.submit(add(run.tiles[i], 100, kAddOnDevice));
  EXPECT_THAT(message_of<DeviceError>([&] { run.impl.wait(); }),
              AllOf(HasSubstr("reading"), HasSubstr("tile"), HasSubstr(std::strerror(EIO))));
  run.impl.wait();
  for (int i = 0; i < 10; ++i) {
    const std::int64_t value = run.value(run.tiles[i]);
    EXPECT_TRUE(value == 100 + i || value == -1) << i << ": " << value;
  }
}

TEST_F(Failure, AnAcquisitionWhoseReadFailsThrowsAndMayBeRepeated) {
  FaultyRun run(out_of_core(3));
  run.fill();
  run.impl.wait();
  int failed = 0;
  for (int i = 0; i < 10; ++i) {
    run.faults.fail(drivers::IoKind::read, 1, EIO);
    if (run.value(run.tiles[i]) == -1) {
      ++failed;
      EXPECT_THAT(run.last_error, HasSubstr("tile" + std::to_string(i)));
      EXPECT_EQ(run.value(run.tiles[i]), i);
    }
  }
  EXPECT_GE(failed, 7);  // 3 of 10 pages fit in RAM
}

TEST_F(Failure, AWriteBackToAFileThatFailsIsThrownByUnregister) {
  FaultyRun run(out_of_core(3));
  const Handle file = run.impl.add_file({folder_.file("matrix")}, {4096, 1, 4096, 1}, "matrix");
  run.impl.submit(set(file, 1));
  run.impl.wait();
  run.faults.fail(drivers::IoKind::write, 1, ENOSPC);
  EXPECT_THAT(message_of<DeviceError>([&] { run.impl.unregister(*file.impl(), WriteBack::yes); }),
              AllOf(HasSubstr("matrix"), HasSubstr("disk full")));
  // It is forgotten nevertheless: the same region may be registered again.
  const Handle again = run.impl.add_file({folder_.file("matrix")}, {4096, 1, 4096, 1}, "matrix");
  run.impl.unregister(*again.impl(), WriteBack::no);
}

TEST_F(Failure, AFileThatIsTruncatedDuringTheRunIsNamed) {
  {
    std::ofstream file(folder_.file("matrix"), std::ios::binary);
    file << std::string(8192, 'x');
  }
  Runtime runtime(out_of_core(4));
  const Handle a = runtime.register_file({folder_.file("matrix"), 4096}, kPage, "a");
  const Handle b = runtime.register_file({folder_.file("matrix"), 0}, kPage, "b");
  std::filesystem::resize_file(folder_.file("matrix"), 5000);
  runtime.submit(add(a, 1));
  EXPECT_THAT(message_of<DeviceError>([&] { runtime.wait(); }),
              AllOf(HasSubstr("a"), HasSubstr("matrix"), HasSubstr("truncated")));
  EXPECT_EQ(value_of(runtime, b), 0x7878787878787878);
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

// --- kernels that throw -----------------------------------------------------------------------

class ThrowingKernel : public ::testing::TestWithParam<std::tuple<std::uint32_t, bool>> {
 protected:
  Options options() const {
    Options options = small_options(std::get<0>(GetParam()));
    options.submitter_works = std::get<1>(GetParam());
    return options;
  }
  Watchdog watchdog_{"a kernel that throws", 60};
};

TEST_P(ThrowingKernel, EndsTheRunWithItsErrorAndPoisonsWhatItWouldHaveWritten) {
  Runtime runtime(options());
  std::vector<std::int64_t> kept_values(512, 11);
  const Handle kept = runtime.register_buffer(kept_values.data(), kPage, "kept");
  const Handle lost = runtime.register_empty(kPage, "lost");
  const Handle after = runtime.register_empty(kPage, "after");
  runtime.submit(add(kept, 1));
  runtime.wait();
  std::atomic<int> outcomes[3] = {};
  const auto count = [&](Outcome outcome) { ++outcomes[static_cast<int>(outcome)]; };
  runtime.submit(
      {.codelet = &kThrow, .operands = {R(kept), W(lost)}, .on_end = count, .name = "trsm(4,3)"});
  for (int i = 0; i < 20; ++i) {
    runtime.submit({.codelet = &kNext, .operands = {R(lost), W(after)}, .on_end = count});
  }
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(); }),
              AllOf(HasSubstr("trsm(4,3)"), HasSubstr("pivot 3 is zero")));
  EXPECT_EQ(outcomes[static_cast<int>(Outcome::failed)], 1);
  EXPECT_EQ(outcomes[static_cast<int>(Outcome::cancelled)], 20);
  runtime.wait();  // the second returns
  EXPECT_EQ(value_of(runtime, kept), 12);
  EXPECT_THAT(message_of<PoisonedError>([&] { value_of(runtime, lost); }), HasSubstr("lost"));
  EXPECT_THAT(message_of<PoisonedError>([&] { runtime.wait(after); }), HasSubstr("after"));
  // A task that reads it is cancelled, and says why.
  runtime.submit({.codelet = &kNext, .operands = {R(lost), W(after)}});
  EXPECT_THAT(message_of<PoisonedError>([&] { runtime.wait(); }),
              AllOf(HasSubstr("next"), HasSubstr("lost")));
  // Written anew, it is as good as any.
  runtime.submit(set(lost, 3));
  runtime.submit({.codelet = &kNext, .operands = {R(lost), W(after)}});
  runtime.wait();
  EXPECT_EQ(value_of(runtime, after), 4);
  const Statistics s = runtime.statistics();
  EXPECT_EQ(s.tasks_failed, 1U);
  EXPECT_EQ(s.tasks_cancelled, 21U);
  EXPECT_EQ(s.tasks_submitted, s.tasks_done + s.tasks_failed + s.tasks_cancelled);
}

TEST_P(ThrowingKernel, WhatIsNoStdExceptionIsReportedToo) {
  Runtime runtime(options());
  runtime.submit({.codelet = &kThrowNumber});
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(); }), HasSubstr("throws_number"));
}

TEST_P(ThrowingKernel, TheFirstOfManyErrorsIsThrownAndTheRuntimeGoesOn) {
  Runtime runtime(options());
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 30; ++i) {
      runtime.submit(
          {.codelet = i % 7 == 3 ? &kThrow : &kNothing, .name = "t" + std::to_string(i)});
    }
    EXPECT_THROW(runtime.wait(), TaskError);
    runtime.submit({.codelet = &kNothing});
    runtime.wait();
  }
}

TEST_P(ThrowingKernel, WaitsForAGroupOrAHandleThrowItsError) {
  Runtime runtime(options());
  const Handle lost = runtime.register_empty(kPage, "lost");
  Group group;
  runtime.submit({.codelet = &kThrow, .operands = {W(lost)}, .group = &group, .name = "first"});
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(group); }), HasSubstr("first"));
  EXPECT_EQ(group.pending(), 0U);
  runtime.submit({.codelet = &kThrow, .operands = {W(lost)}, .name = "second"});
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(lost); }), HasSubstr("second"));
  EXPECT_THAT(message_of<PoisonedError>([&] { runtime.wait(lost); }), HasSubstr("lost"));
  runtime.wait();
}

TEST_P(ThrowingKernel, AGroupWhoseTasksReadPoisonedDataThrows) {
  Runtime runtime(options());
  const Handle lost = runtime.register_empty(kPage, "lost");
  runtime.submit({.codelet = &kThrow, .operands = {W(lost)}});
  EXPECT_THROW(runtime.wait(), TaskError);
  Group group;
  runtime.submit({.codelet = &kNothing, .operands = {R(lost)}, .group = &group, .name = "reader"});
  EXPECT_THAT(message_of<PoisonedError>([&] { runtime.wait(group); }),
              AllOf(HasSubstr("reader"), HasSubstr("lost")));
}

TEST_P(ThrowingKernel, UnregisterOfPoisonedDataThrowsAfterForgettingThem) {
  Runtime runtime(options());
  std::vector<std::int64_t> values(512, 1);
  const Handle a = runtime.register_buffer(values.data(), kPage, "a");
  runtime.submit({.codelet = &kThrow, .operands = {RW(a)}});
  EXPECT_THROW(runtime.wait(), TaskError);
  EXPECT_THAT(message_of<PoisonedError>([&] { runtime.unregister(a); }), HasSubstr("a"));
  const Handle again = runtime.register_buffer(values.data(), kPage, "again");
  runtime.submit(set(again, 4));
  runtime.wait();
  EXPECT_EQ(value_of(runtime, again), 4);
}

TEST_P(ThrowingKernel, AnErrorNobodyWaitedForDoesNotDisturbTheEnd) {
  Runtime runtime(options());
  const Handle a = runtime.register_empty(kPage, "a");
  for (int i = 0; i < 10; ++i) runtime.submit({.codelet = &kThrow, .operands = {W(a)}});
}

TEST_P(ThrowingKernel, AnOnEndThatThrowsIsReported) {
  Runtime runtime(options());
  runtime.submit({.codelet = &kNothing,
                  .on_end = [](Outcome) { throw std::runtime_error("the callback failed"); },
                  .name = "t"});
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(); }),
              AllOf(HasSubstr("t"), HasSubstr("the callback failed")));
  runtime.wait();
}

INSTANTIATE_TEST_SUITE_P(Workers, ThrowingKernel,
                         ::testing::Combine(::testing::Values(1U, 3U), ::testing::Bool()));

TEST_F(Failure, AKernelThatThrowsOnADeviceOutOfCorePoisonsAndLeavesTheRest) {
  Options options = out_of_core(3);
  options.accelerators = 2;
  options.accelerator_memory = kPage * 2;
  Runtime runtime(options);
  watchdog_.set(&runtime);
  std::vector<Handle> tiles;
  for (int i = 0; i < 12; ++i) {
    tiles.push_back(runtime.register_empty(kPage, "tile" + std::to_string(i)));
    runtime.submit(set(tiles.back(), i, i % 2 == 0 ? kSetOnDevice : kSet));
  }
  runtime.wait();
  runtime.submit({.codelet = &kThrowOnDevice, .operands = {RW(tiles[4])}});
  EXPECT_THROW(runtime.wait(), TaskError);
  for (int i = 0; i < 12; ++i) {
    if (i == 4) continue;
    EXPECT_EQ(value_of(runtime, tiles[i]), i);
  }
  EXPECT_THROW(value_of(runtime, tiles[4]), PoisonedError);
  watchdog_.set(nullptr);
}

TEST_F(Failure, CancelledTasksPoisonWhatTheyWouldHaveWritten) {
  Runtime runtime(small_options(1));
  const Handle a = runtime.register_empty(kPage, "a");
  runtime.submit(set(a, 1));
  runtime.wait();
  const Handle gate = runtime.register_empty(kPage, "gate");
  {
    const Acquired held = runtime.acquire(gate, AccessMode::W);
    for (int i = 0; i < 5; ++i) {
      runtime.submit({.codelet = &kNothing, .operands = {R(gate), RW(a)}});
    }
    runtime.cancel();
  }
  runtime.wait();
  EXPECT_EQ(runtime.statistics().tasks_cancelled, 5U);
  EXPECT_THROW(value_of(runtime, a), PoisonedError);
  runtime.submit(set(a, 2));
  runtime.wait();
  EXPECT_EQ(value_of(runtime, a), 2);
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
const Codelet kMisuse{.name = "misuse", .cpu = misuse_kernel, .emulated = misuse_kernel};

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

TEST_F(Failure, ASubmissionWithoutACodeletIsRefused) {
  Runtime runtime(small_options());
  EXPECT_THAT(message_of<UsageError>([&] { runtime.submit({}); }), HasSubstr("codelet"));
}

// --- waiting for oneself ----------------------------------------------------------------------

class WaitingForOneself : public ::testing::TestWithParam<std::tuple<std::uint32_t, bool, bool>> {
 protected:
  Options options() const {
    Options options = small_options(std::get<0>(GetParam()));
    options.submitter_works = std::get<1>(GetParam());
    if (std::get<2>(GetParam())) {
      options.memory = kPage * 3;
      options.disk = folder_.path();
    }
    return options;
  }
  TemporaryFolder folder_{"oneself"};
  Watchdog watchdog_{"a wait for oneself", 60};
};

TEST_P(WaitingForOneself, ThrowsAndNamesWhatIsHeld) {
  Runtime runtime(options());
  const Handle a = runtime.register_empty(kPage, "a");
  const Handle b = runtime.register_empty(kPage, "b");
  Group group;
  {
    const Acquired held = runtime.acquire(a, AccessMode::W);
    for_each_element(held.view(), [](std::int64_t& x) { x = 6; });
    runtime.submit({.codelet = &kNext, .operands = {R(a), W(b)}, .group = &group});
    EXPECT_THAT(message_of<UsageError>([&] { runtime.wait(); }), HasSubstr("a"));
    EXPECT_THAT(message_of<UsageError>([&] { runtime.wait(group); }), HasSubstr("a"));
    EXPECT_THAT(message_of<UsageError>([&] { runtime.wait(b); }), HasSubstr("a"));
    EXPECT_THAT(message_of<UsageError>([&] { runtime.acquire(b, AccessMode::R); }), HasSubstr("a"));
    EXPECT_THAT(message_of<UsageError>([&] { runtime.acquire(a, AccessMode::R); }), HasSubstr("a"));
    EXPECT_THAT(runtime.stall_report(),
                AllOf(HasSubstr("next"), HasSubstr("acquired"), HasSubstr("a")));
  }
  runtime.wait();
  EXPECT_EQ(value_of(runtime, b), 7);
  EXPECT_EQ(value_of(runtime, a), 6);
}

TEST_P(WaitingForOneself, DoesNotThrowWhileAnotherThreadHoldsSomethingToo) {
  Runtime runtime(options());
  const Handle a = runtime.register_empty(kPage, "a");
  const Handle b = runtime.register_empty(kPage, "b");
  const Acquired held = runtime.acquire(a, AccessMode::W);
  auto other = std::make_unique<Acquired>(runtime.acquire(b, AccessMode::W));
  std::thread releaser;
  {
    // The main thread's own hold of b passes to another thread, which holds c and lets go of b late.
    const Handle c = runtime.register_empty(kPage, "c");
    std::atomic<bool> has_c{false};
    releaser = std::thread([&] {
      const Acquired mine = runtime.acquire(c, AccessMode::W);
      has_c = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
      other.reset();
    });
    while (!has_c) std::this_thread::yield();
    runtime.submit(set(b, 4));
    runtime.wait(b);  // b is held when this begins
    releaser.join();
  }
  EXPECT_EQ(value_of(runtime, b), 4);
}

INSTANTIATE_TEST_SUITE_P(Workers, WaitingForOneself,
                         ::testing::Combine(::testing::Values(1U, 3U), ::testing::Bool(),
                                            ::testing::Bool()));

TEST_F(Failure, AnAcquisitionThatNeedsTheRoomOfWhatThisThreadHoldsThrowsAndNamesIt) {
  Runtime runtime(out_of_core(2));
  watchdog_.set(&runtime);
  const Handle a = runtime.register_empty(kPage, "first");
  const Handle b = runtime.register_empty(kPage, "second");
  const Handle c = runtime.register_empty(kPage, "third");
  {
    const Acquired one = runtime.acquire(a, AccessMode::W);
    const Acquired two = runtime.acquire(b, AccessMode::W);
    EXPECT_THAT(message_of<UsageError>([&] { runtime.acquire(c, AccessMode::W); }),
                AllOf(HasSubstr("first"), HasSubstr("second"), Not(HasSubstr("third"))));
    runtime.submit(set(c, 3));
    EXPECT_THAT(message_of<UsageError>([&] { runtime.wait(); }),
                AllOf(HasSubstr("first"), HasSubstr("second")));
  }
  runtime.wait();
  EXPECT_EQ(value_of(runtime, c), 3);
  watchdog_.set(nullptr);
}

TEST_F(Failure, ASubmissionHeldBackByTheWindowForWhatThisThreadHoldsThrows) {
  Options options = small_options();
  options.window_tasks = 2;
  Runtime runtime(options);
  watchdog_.set(&runtime);
  const Handle a = runtime.register_empty(kPage, "a");
  {
    const Acquired held = runtime.acquire(a, AccessMode::W);
    EXPECT_THAT(message_of<UsageError>([&] {
                  for (int i = 0; i < 3; ++i) runtime.submit(set(a, i));
                }),
                AllOf(HasSubstr("a"), HasSubstr("window")));
  }
  runtime.wait();
  watchdog_.set(nullptr);
}

TEST_F(Failure, ASimulatedMachineRefusesFiles) {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}}, {NodeId{1}, "disk", NodeKind::disk, {}}};
  machine.workers = {{WorkerId{0}, ProcessorKind::cpu, kRam}};
  Runtime runtime(machine, Options{});
  EXPECT_THAT(message_of<UsageError>([&] { runtime.register_file({"matrix"}, kPage); }),
              AllOf(HasSubstr("matrix"), HasSubstr("register_empty")));
}

TEST_F(Failure, SimulatedWaitsForOneselfThrowToo) {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}}};
  machine.workers = {{WorkerId{0}, ProcessorKind::cpu, kRam}};
  Runtime runtime(machine, Options{});
  const Handle a = runtime.register_empty(kPage, "a");
  const Codelet codelet{.name = "task", .expected = {Time{1000}, Time{0}}};
  {
    const Acquired held = runtime.acquire(a, AccessMode::W);
    runtime.submit({.codelet = &codelet, .operands = {RW(a)}});
    EXPECT_THAT(message_of<UsageError>([&] { runtime.wait(); }), HasSubstr("a"));
  }
  runtime.wait();
}

}  // namespace
}  // namespace vicinal
