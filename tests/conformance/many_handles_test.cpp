// What very many small data and acquisitions cost, and that they work.
#include <cstdint>
#include <malloc.h>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using vicinal::testing::Watchdog;

void set_one_kernel(KernelContext& k) {
  k.data<std::int64_t>(0)[0] = k.parameter<std::int64_t>();
}
const Codelet kSetOne{.name = "set", .cpu = set_one_kernel};

Options two_workers() {
  Options options;
  options.workers = 2;
  options.bind = false;
  return options;
}

// Bytes of the heap in use. Not what is resident: the system takes back pages that nobody has touched for long.
// Sanitizers have a heap of their own, which is not counted.
std::uint64_t heap_bytes() {
  const auto heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// A count of 16 bits ended here.
TEST(Runtime, MoreThan65535AcquisitionsOfOneHandleForReadingAreGranted) {
  Options options = two_workers();
  options.memory = 64_KiB;
  Runtime runtime(options);
  const Watchdog watchdog(&runtime, "acquisitions", 120);
  const Handle x = runtime.register_empty(8_KiB, "x");
  runtime.submit({.codelet = &kSetOne, .operands = {W(x)}, .parameters = std::int64_t{5}});
  runtime.wait();
  {
    std::vector<Acquired> held;
    for (int i = 0; i < 65'540; ++i) held.push_back(runtime.acquire(x, AccessMode::R));
    EXPECT_EQ(held.front().data<std::int64_t>()[0], 5);
    EXPECT_EQ(held.back().data<std::int64_t>()[0], 5);
    while (!held.empty()) held.pop_back();
  }
  runtime.submit({.codelet = &kSetOne, .operands = {W(x)}, .parameters = std::int64_t{6}});
  EXPECT_EQ(runtime.acquire(x, AccessMode::R).data<std::int64_t>()[0], 6);
}

TEST(Runtime, DataThatStartEmptyTakeMemoryWhenTheyAreFirstWritten) {
  Runtime runtime(two_workers());
  const std::uint64_t before = heap_bytes();
  std::vector<Handle> handles;
  constexpr int kHandles = 50'000;
  for (int i = 0; i < kHandles; ++i) handles.push_back(runtime.register_empty(Bytes{8}));
  EXPECT_EQ(runtime.statistics().nodes[0].resident, Bytes{0});
  EXPECT_LT((heap_bytes() - before) / kHandles, 1024U);  // what says that they are there
  for (int i = 0; i < kHandles; ++i) {
    runtime.submit(
        {.codelet = &kSetOne, .operands = {W(handles[i])}, .parameters = std::int64_t{i}});
  }
  runtime.wait();
  EXPECT_EQ(runtime.statistics().nodes[0].resident, Bytes{8} * kHandles);
  EXPECT_LT((heap_bytes() - before) / kHandles, 2048U);  // with tasks
  for (int i = 0; i < kHandles; i += 999) {
    EXPECT_EQ(runtime.acquire(handles[i], AccessMode::R).data<std::int64_t>()[0], i);
  }
}

TEST(Runtime, TwoThreadsThatAreTheFirstToWriteOneHandleWriteTheSameMemory) {
  for (int round = 0; round < 200; ++round) {
    Runtime runtime(two_workers());
    const Watchdog watchdog(&runtime, "two first writers");
    const Handle x = runtime.register_empty(Bytes{64}, "x");
    const auto write = [&](std::int64_t value) {
      runtime.submit({.codelet = &kSetOne, .operands = {W(x)}, .parameters = value});
    };
    std::thread other([&] { write(1); });
    write(1);
    other.join();
    runtime.wait();
    EXPECT_EQ(runtime.acquire(x, AccessMode::R).data<std::int64_t>()[0], 1);
    EXPECT_EQ(runtime.statistics().nodes[0].resident, Bytes{64});
  }
}

TEST(Runtime, AcquiringEmptyDataToWriteThemGivesThemMemory) {
  Runtime runtime(two_workers());
  const Handle x = runtime.register_empty(Bytes{64}, "x");
  { runtime.acquire(x, AccessMode::W).data<std::int64_t>()[0] = 3; }
  EXPECT_EQ(runtime.acquire(x, AccessMode::R).data<std::int64_t>()[0], 3);
}

}  // namespace
}  // namespace vicinal
