// A disk that fails or fills in mid-run ends the run with an error that names data and folder; the
// rest is not lost.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/runtime_impl.hpp"
#include "support/failure_fixture.hpp"
#include "support/planned_faults.hpp"
#include "support/small_runs.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

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
      const auto acquisition = impl.acquire(handle, AccessMode::R);
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
  // Several: a prefetch that fails is nobody's error, whoever needs the data tries again.
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

  // How many pages have their number plus `added`; no error is allowed but that a page cannot be had.
  int right_pages(int added) {
    int right = 0;
    for (int i = 0; i < 10; ++i) {
      const std::int64_t found = value(tiles[i]);
      EXPECT_TRUE(found == i + added || found == -1) << i << ": " << found;
      if (found == i + added) ++right;
    }
    return right;
  }

  PlannedFaults faults;
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
    EXPECT_GE(run.right_pages(0), 3);  // the others were cancelled
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

TEST_F(Failure, ADiskSpaceThatFillsInMidRunEndsTheRunNamingDataAndRemedy) {
  Options options = out_of_core(3);
  options.disk_space = kPage * 3;
  Runtime runtime(options);
  const Watched watched(watchdog_, runtime);
  const std::vector<Handle> tiles = empty_tiles(runtime, 10);
  for (int i = 0; i < 10; ++i) runtime.submit(set(tiles[i], i));
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
  run.right_pages(100);
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
  run.right_pages(100);
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
  EXPECT_THAT(message_of<DeviceError>([&] { run.impl.unregister(file, WriteBack::yes); }),
              AllOf(HasSubstr("matrix"), HasSubstr("disk full")));
  // It is forgotten nevertheless: the same region may be registered again.
  const Handle again = run.impl.add_file({folder_.file("matrix")}, {4096, 1, 4096, 1}, "matrix");
  run.impl.unregister(again, WriteBack::no);
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

}  // namespace
}  // namespace vicinal
