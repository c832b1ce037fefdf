// Data: registered, moved and packed, written back, dropped, and prefetched.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/every_way.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

TEST_P(Every, StridedTilesOfOneMatrixArePackedOnTheirWayAndTheRestIsLeftAlone) {
  // A 30 x 20 matrix, column-major, in tiles of 10 x 10 with leading dimension 32: two rows of gap.
  constexpr std::uint64_t kLd = 32;
  Values matrix(kLd * 20, -1);
  {
    Runtime runtime(options());
    const Watched watched(watchdog_, runtime);
    std::vector<Handle> tiles;
    for (std::uint64_t j = 0; j < 2; ++j) {
      for (std::uint64_t i = 0; i < 3; ++i) {
        tiles.push_back(runtime.register_tile(&matrix[j * 10 * kLd + i * 10], {10, 10, kLd}));
      }
    }
    for (int round = 0; round < 3; ++round) {
      for (std::size_t t = 0; t < tiles.size(); ++t) {
        const bool device = GetParam().accelerators > 0 && (t + round) % 2 == 0;
        runtime.submit(round == 0 ? set(tiles[t], static_cast<int>(t), device ? kSetOnDevice : kSet)
                                  : add(tiles[t], 100, device ? kAddOnDevice : kAdd));
      }
    }
    for (const Handle tile : tiles) runtime.unregister(tile);
  }
  for (std::uint64_t j = 0; j < 20; ++j) {
    for (std::uint64_t i = 0; i < kLd; ++i) {
      const std::int64_t expected =
          i >= 30 ? -1 : static_cast<std::int64_t>(200 + j / 10 * 3 + i / 10);
      ASSERT_EQ(matrix[j * kLd + i], expected) << i << ", " << j;
    }
  }
}

std::atomic<std::uint64_t> seen_ld{0};
std::atomic<std::uint64_t> seen_count{0};
void look_kernel(KernelContext& k) {
  seen_ld = k.leading_dimension(0);
  seen_count = k.count<std::int64_t>(0);
}
const Codelet kLook{.name = "look", .cpu = look_kernel};
const Codelet kLookOnDevice{.name = "look", .kernels = {{ProcessorKind::emulated, look_kernel}}};

TEST(Runtime, AKernelSeesTheLeadingDimensionOfTheReplicaItIsGiven) {
  Options options = small_options(1);
  options.accelerators = 1;
  Runtime runtime(options);
  Values matrix(64 * 10);
  const Handle tile = runtime.register_tile(matrix.data(), {10, 10, 64});
  runtime.submit({.codelet = &kLook, .operands = {R(tile)}, .worker = WorkerId{0}});
  runtime.wait();
  EXPECT_EQ(seen_ld, 64U);  // in the user's buffer
  EXPECT_EQ(seen_count, 100U);
  runtime.submit({.codelet = &kLookOnDevice, .operands = {R(tile)}});
  runtime.wait();
  EXPECT_EQ(seen_ld, 10U);  // packed
  EXPECT_EQ(seen_count, 100U);
}

TEST_P(Every, WriteBackNoLeavesTheHomeAsItIs) {
  Options o = options();
  o.accelerators = 1;
  o.accelerator_memory = kPage * 8;
  Values x(512, 1);
  Values y(512, 1);
  Runtime runtime(o);
  const Watched watched(watchdog_, runtime);
  const Handle a = runtime.register_buffer(x.data(), kPage);
  const Handle b = runtime.register_buffer(y.data(), kPage);
  runtime.submit(set(a, 5, kSetOnDevice));
  runtime.submit(set(b, 5, kSetOnDevice));
  runtime.unregister(a, WriteBack::no);
  runtime.unregister(b, WriteBack::yes);
  EXPECT_EQ(x, Values(512, 1));
  EXPECT_EQ(y, Values(512, 5));
}

TEST_P(Every, TheEndOfTheRuntimeWritesBackWhatIsHomedInBuffers) {
  Values x(512, 1);
  {
    Runtime runtime(options());
    const Watched watched(watchdog_, runtime);
    const Handle a = runtime.register_buffer(x.data(), kPage);
    for (int i = 0; i < 5; ++i) {
      runtime.submit(add(a, 1, i % 2 == 0 && GetParam().accelerators > 0 ? kAddOnDevice : kAdd));
    }
  }
  EXPECT_EQ(x, Values(512, 6));
}

TEST(Runtime, OverlappingBuffersAreRefusedAndNamed) {
  Runtime runtime(small_options());
  Values x(1000);
  const Handle a = runtime.register_buffer(x.data(), Bytes{800}, "left");
  EXPECT_THAT(message_of<UsageError>([&] { runtime.register_buffer(&x[99], Bytes{80}, "right"); }),
              AllOf(HasSubstr("left"), HasSubstr("right")));
  const Handle b = runtime.register_buffer(&x[100], Bytes{80}, "right");
  // Interleaved tiles do not overlap; the third would, by one element.
  const Handle c = runtime.register_tile(&x[200], {5, 4, 20}, "upper");
  const Handle d = runtime.register_tile(&x[205], {5, 4, 20}, "lower");
  EXPECT_THAT(message_of<UsageError>([&] {
                runtime.register_tile(&x[209], {5, 4, 20}, "third");
              }),
              AllOf(HasSubstr("lower"), HasSubstr("third")));
  for (const Handle handle : {a, b, c, d}) runtime.unregister(handle);
  runtime.unregister(runtime.register_buffer(x.data(), Bytes{8000}, "whole"));
}

TEST(Runtime, RegionsOfOneFileThatOverlapAreRefused) {
  const TemporaryFolder folder("files");
  Options options = small_options();
  options.memory = kPage * 4;
  options.disk = folder.path();
  Runtime runtime(options);
  const Handle a = runtime.register_file({folder.file("m"), 0}, kPage, "a");
  EXPECT_THAT(message_of<UsageError>([&] {
                runtime.register_file({folder.file("m"), 4095}, kPage, "b");
              }),
              AllOf(HasSubstr("a"), HasSubstr("b")));
  const Handle b = runtime.register_file({folder.file("m"), 4096}, kPage, "b");
  runtime.submit(set(a, 1));
  runtime.submit(set(b, 2));
  runtime.unregister(a);
  runtime.unregister(b);
  std::ifstream file(folder.file("m"), std::ios::binary);
  Values values(1024);
  file.read(reinterpret_cast<char*>(values.data()), 8192);
  EXPECT_EQ(file.gcount(), 8192);
  EXPECT_EQ(std::count(values.begin(), values.begin() + 512, 1), 512);
  EXPECT_EQ(std::count(values.begin() + 512, values.end(), 2), 512);
}

TEST_P(Every, EmptyDataOrderTasksAndCostNothing) {
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle nothing = runtime.register_empty(Bytes{0}, "nothing");
  const Handle empty_buffer = runtime.register_buffer(nullptr, Bytes{0}, "empty buffer");
  const Handle x = runtime.register_empty(kPage, "x");
  runtime.submit({.codelet = &kSet, .operands = {W(x), W(nothing)}, .parameters = std::int64_t{1}});
  for (int i = 0; i < 10; ++i) {
    runtime.submit({.codelet = &kAdd,
                    .operands = {RW(x), RW(nothing), R(empty_buffer)},
                    .parameters = std::int64_t{1}});
  }
  runtime.wait();
  EXPECT_EQ(value_of(runtime, x), 11);
  const Acquired acquired = runtime.acquire(nothing, AccessMode::RW);
  EXPECT_EQ(acquired.view().layout.bytes().value, 0U);
}

TEST(Runtime, DataAboveFourGibibytesAreRegisteredWithoutBeingTouched) {
  static std::atomic<std::uint64_t> count;
  const Codelet ends{.name = "ends", .cpu = [](KernelContext& k) {
                       count = k.count<std::int64_t>(0);
                       k.data<std::int64_t>(0)[0] = 1;
                       k.data<std::int64_t>(0)[k.count<std::int64_t>(0) - 1] = 2;
                     }};
  Runtime runtime(small_options(1));
  const Handle big = runtime.register_empty(5_GiB, "big");
  runtime.submit({.codelet = &ends, .operands = {W(big)}});
  runtime.wait();
  EXPECT_EQ(count, (5ULL << 30) / 8);
  {
    const Acquired acquired = runtime.acquire(big, AccessMode::R);
    EXPECT_EQ(acquired.data<std::int64_t>()[0], 1);
    EXPECT_EQ(acquired.data<std::int64_t>()[(5ULL << 30) / 8 - 1], 2);
  }
  runtime.unregister(big);
  EXPECT_EQ(runtime.statistics().nodes[0].resident.value, 0U);
}

TEST_P(Every, InvalidateDropsTheContentAfterTheTasksBefore) {
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(kPage, "x");
  const Handle y = runtime.register_empty(kPage, "y");
  runtime.submit(set(x, 4));
  runtime.submit({.codelet = &kNext, .operands = {R(x), W(y)}});
  runtime.invalidate(x);
  runtime.submit(set(x, 8));
  runtime.wait();
  EXPECT_EQ(value_of(runtime, y), 5);
  EXPECT_EQ(value_of(runtime, x), 8);
  runtime.invalidate(x);
  runtime.wait();
  if (GetParam().pages > 0) {
    EXPECT_EQ(runtime.statistics().nodes[0].resident, kPage);  // y's alone
  }
}

TEST(Runtime, PrefetchBringsACopyToTheNodeBeforeTheTaskAsksForIt) {
  Options options = small_options(1);
  options.accelerators = 1;
  options.accelerator_memory = kPage * 4;
  Runtime runtime(options);
  const Watchdog watchdog(&runtime, "prefetch");
  Values x(512, 3);
  const Handle a = runtime.register_buffer(x.data(), kPage);
  const NodeId device = runtime.machine().workers[1].node;
  runtime.prefetch(a, device);
  runtime.wait();  // for the order; the copy may still be in flight
  while (runtime.statistics().nodes[device.value].bytes_in != kPage) std::this_thread::yield();
  runtime.submit(add(a, 1, kAddOnDevice));
  runtime.wait();
  EXPECT_EQ(runtime.statistics().nodes[device.value].bytes_in, kPage);  // once
  EXPECT_THAT(message_of<UsageError>([&] { runtime.prefetch(a, NodeId{7}); }), HasSubstr("7"));
  EXPECT_EQ(value_of(runtime, a), 4);
}

}  // namespace
}  // namespace vicinal
