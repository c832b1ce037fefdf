// An allocation is refused inside one call, each in turn: the call throws with nothing changed, or does what it is
// for; it may be repeated, and nobody hangs.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/sure_memory.hpp"
#include "sched/policies/darts_speeds.hpp"
#include "support/refusal.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using vicinal::testing::Refusal;
using vicinal::testing::RefusalOfLarge;
using vicinal::testing::TemporaryFolder;
using vicinal::testing::Watchdog;

constexpr Bytes kTile = 8_KiB;
// Longer than what a string holds without an allocation.
const std::string kName = "a name that is too long to lie in the string itself";

void set_kernel(KernelContext& k) {
  k.data<std::int64_t>(0)[0] = k.parameter<std::int64_t>();
}
void call_kernel(KernelContext& k) {
  (*k.parameter<const std::function<void()>*>())();
}
const Codelet kSet{.name = "set", .cpu = set_kernel};
const Codelet kSetOnDevice{.name = "set there", .kernels = {{ProcessorKind::emulated, set_kernel}}};
const Codelet kCall{.name = "call", .cpu = call_kernel};

Options options() {
  Options options;
  options.workers = 2;
  options.bind = false;
  options.models = "none";
  return options;
}
Options with_device() {
  Options with_device = options();
  with_device.accelerators = 1;
  with_device.accelerator_memory = 64_KiB;
  return with_device;
}
Options with_disk(const TemporaryFolder& folder) {
  Options with_disk = options();
  with_disk.disk = folder.path();
  return with_disk;
}

void set(Runtime& runtime, const Codelet& codelet, Handle handle, std::int64_t value) {
  runtime.submit({.codelet = &codelet, .operands = {W(handle)}, .parameters = value});
}
std::int64_t value_of(Runtime& runtime, Handle handle) {
  return *runtime.acquire(handle, AccessMode::R).data<std::int64_t>();
}

// Refuses the allocation of one number inside a call.
class RefusedAllocation {
 public:
  explicit RefusedAllocation(long number) : number_(number) {}

  long number() const { return number_; }
  // What it throws, if anything, is not for lack of memory alone.
  void in(const std::function<void()>& call) {
    const Refusal refusal(number_);
    try {
      call();
    } catch (const std::bad_alloc&) {
    } catch (const Error&) {
    }
    refused_ = Refusal::happened();
  }
  // An unregistration that was refused is repeated.
  void in_unregister(Runtime& runtime, Handle handle) {
    bool done = false;
    in([&] {
      runtime.unregister(handle);
      done = true;
    });
    if (!done) runtime.unregister(handle);
  }
  // There was an allocation of that number.
  bool refused() const { return refused_; }

 private:
  const long number_;
  bool refused_ = false;
};

void for_each_allocation(const std::function<void(RefusedAllocation&)>& once) {
  for (long nth = 0; !::testing::Test::HasFailure(); ++nth) {
    const std::string label = "allocation " + std::to_string(nth);
    SCOPED_TRACE(label);
    const Watchdog watchdog(label, 20);
    RefusedAllocation allocation(nth);
    once(allocation);
    if (!allocation.refused()) break;
  }
}

TEST(RefusedCalls, ASubmissionThatCannotEvenSayWhyItIsRefusedLeavesItsHandlesUsable) {
  for (const bool several : {false, true}) {
    for_each_allocation([&](RefusedAllocation& refused) {
      Runtime runtime(options());
      const Handle unwritten = runtime.register_empty(kTile, kName);
      const Handle other = runtime.register_empty(kTile);
      refused.in([&] {
        std::vector<Operand> operands{R(unwritten)};
        if (several) operands.push_back(W(other));
        runtime.submit({.codelet = &kSet, .operands = operands, .parameters = std::int64_t{1}});
      });
      set(runtime, kSet, unwritten, 7);
      set(runtime, kSet, other, 8);
      EXPECT_EQ(value_of(runtime, unwritten), 7);
      EXPECT_EQ(value_of(runtime, other), 8);
    });
  }
}

TEST(RefusedCalls, ToNameAHandleThatIsGoneLeavesItsPlaceUsable) {
  for_each_allocation([&](RefusedAllocation& refused) {
    Runtime runtime(options());
    const Handle gone = runtime.register_empty(kTile, kName);
    runtime.unregister(gone);
    refused.in([&] { set(runtime, kSet, gone, 1); });
    const Handle next = runtime.register_empty(kTile);
    set(runtime, kSet, next, 7);
    EXPECT_EQ(value_of(runtime, next), 7);
  });
}

TEST(RefusedCalls, AReportOfWhatWaitsLeavesItWaiting) {
  for_each_allocation([&](RefusedAllocation& refused) {
    Runtime runtime(options());
    const Handle handle = runtime.register_empty(kTile, kName);
    {
      const Acquired held = runtime.acquire(handle, AccessMode::W);
      set(runtime, kSet, handle, 7);
      refused.in([&] { static_cast<void>(runtime.stall_report()); });
    }
    EXPECT_EQ(value_of(runtime, handle), 7);
  });
}

TEST(RefusedCalls, TheWatcherOutlivesAReportWithoutMemory) {
  Options watched = options();
  watched.stall_seconds = 0.01;
  Runtime runtime(watched);
  const Handle handle = runtime.register_empty(kTile, kName);
  {
    const Acquired held = runtime.acquire(handle, AccessMode::W);
    set(runtime, kSet, handle, 7);
    ::testing::internal::CaptureStderr();
    for (long nth = 0; nth < 8; ++nth) {
      const Refusal refusal(nth);
      for (int wait = 0; wait < 100 && !Refusal::happened(); ++wait) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      EXPECT_TRUE(Refusal::happened());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // for a report with memory
  }
  EXPECT_EQ(value_of(runtime, handle), 7);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find(kName), std::string::npos);
}

TEST(RefusedCalls, UnregisterWritesHomeOrMayBeRepeated) {
  for_each_allocation([&](RefusedAllocation& refused) {
    std::vector<std::int64_t> home(kTile.value / sizeof(std::int64_t));
    Runtime runtime(with_device());
    const Handle handle = runtime.register_buffer(home.data(), kTile, kName);
    set(runtime, kSetOnDevice, handle, 7);
    runtime.wait();
    refused.in_unregister(runtime, handle);
    EXPECT_EQ(home[0], 7);
  });
}

TEST(RefusedCalls, UnregisterWritesToTheFileOrMayBeRepeated) {
  const TemporaryFolder folder("refused");
  const std::string path = folder.path() + "/data";
  for_each_allocation([&](RefusedAllocation& refused) {
    Runtime runtime(with_disk(folder));
    const Handle handle = runtime.register_file({path, 0}, kTile, kName);
    set(runtime, kSet, handle, 100 + refused.number());
    runtime.wait();
    refused.in_unregister(runtime, handle);
    std::int64_t first = 0;
    std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&first), sizeof(first));
    EXPECT_EQ(first, 100 + refused.number());
  });
}

TEST(RefusedCalls, WhatCouldNotBeRegisteredMayBeRegisteredAgain) {
  const TemporaryFolder folder("refused");
  const std::string path = folder.path() + "/data";
  for_each_allocation([&](RefusedAllocation& refused) {
    Runtime runtime(with_disk(folder));
    std::vector<std::int64_t> home(kTile.value / sizeof(std::int64_t));
    Handle buffer;
    Handle file;
    refused.in([&] {
      buffer = runtime.register_buffer(home.data(), kTile, kName);
      file = runtime.register_file({path, 0}, kTile, kName);
    });
    if (buffer == Handle{}) buffer = runtime.register_buffer(home.data(), kTile, kName);
    if (file == Handle{}) file = runtime.register_file({path, 0}, kTile, kName);
    set(runtime, kSet, buffer, 7);
    set(runtime, kSet, file, 8);
    EXPECT_EQ(value_of(runtime, buffer), 7);
    EXPECT_EQ(value_of(runtime, file), 8);
  });
}

TEST(RefusedCalls, TheEndOfTheRuntimeWritesEverythingHome) {
  constexpr std::size_t kBuffers = 5;
  for_each_allocation([&](RefusedAllocation& refused) {
    std::vector<std::vector<std::int64_t>> homes(
        kBuffers, std::vector<std::int64_t>(kTile.value / sizeof(std::int64_t)));
    auto runtime = std::make_unique<Runtime>(with_device());
    for (std::size_t i = 0; i < kBuffers; ++i) {
      const Handle handle = runtime->register_buffer(homes[i].data(), kTile, kName);
      set(*runtime, kSetOnDevice, handle, 10 + static_cast<std::int64_t>(i));
    }
    refused.in([&] { runtime.reset(); });
    for (std::size_t i = 0; i < kBuffers; ++i) {
      EXPECT_EQ(homes[i][0], 10 + static_cast<std::int64_t>(i));
    }
  });
}

// What a policy notes of a task is noted, or it would look for it in vain.
TEST(RefusedCalls, DartsNotesHowLongTasksTake) {
  base::map_reserve();
  for_each_allocation([](RefusedAllocation& refused) {
    sched::darts::SpeedTable table;
    sched::darts::TaskRecord record;
    record.nodes.resize(3);
    for (auto& here : record.nodes) here = {.duration_ns = 5, .can_run = true};
    record.least_ns = 5;
    refused.in([&] { table.enter_main(table.of(record)); });
    const sched::darts::Speeds& speeds = table.of(record);
    EXPECT_EQ(speeds.duration_ns.size(), record.nodes.size());
    EXPECT_EQ(table.in_main().size(), 1);
  });
}

// As many as are planned before half of them go into the graph.
TEST(RefusedCalls, PlannedTasksAreNotLost) {
  constexpr int kTasks = 1 << 16;
  Options planned = options();
  planned.compute_priorities = true;
  Runtime runtime(planned);
  std::atomic<int> ran{0};
  const std::function<void()> count = [&] { ++ran; };
  const TaskSpec task{.codelet = &kCall, .parameters = &count};
  for (int i = 1; i < kTasks; ++i) runtime.submit(task);
  const Watchdog watchdog(&runtime, "planned tasks", 20);
  {
    const RefusalOfLarge refusal(500'000);
    runtime.submit(task);
  }
  runtime.wait();
  EXPECT_EQ(ran, kTasks);
}

// A task of one waits for a second, where a task waits for a third: what could not be noted then must not make a
// wait of the third for the second, later, look like a circle.
TEST(RefusedCalls, AWaitBetweenRuntimesThatWasNotNotedIsForgotten) {
  for_each_allocation([&](RefusedAllocation& refused) {
    Options one = options();
    one.workers = 1;
    one.submitter_works = true;
    Runtime first(one);
    Runtime second(one);
    Runtime third(one);
    const std::function<void()> nothing = [] {};
    const auto submit = [](Runtime& runtime, const std::function<void()>& what) {
      runtime.submit({.codelet = &kCall, .parameters = &what});
    };
    const std::function<void()> in_second = [&] {
      submit(third, nothing);
      refused.in([&] { third.wait(); });
    };
    const std::function<void()> in_first = [&] {
      submit(second, in_second);
      second.wait();
    };
    submit(first, in_first);
    first.wait();
    third.wait();
    const std::function<void()> in_third = [&] {
      submit(second, nothing);
      second.wait();
    };
    submit(third, in_third);
    EXPECT_NO_THROW(third.wait());
  });
}

}  // namespace
}  // namespace vicinal
