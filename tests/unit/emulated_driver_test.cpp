#include "drivers/emulated/emulated_driver.hpp"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <future>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "engine/strided_copy.hpp"
#include "unit/driver_fakes.hpp"
#include "vicinal/error.hpp"

namespace vicinal::drivers {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr NodeId kDevice{1};
constexpr NodeId kPeer{2};

std::vector<std::byte> random_bytes(std::size_t count, base::Random& random) {
  std::vector<std::byte> result(count);
  for (std::byte& byte : result) byte = static_cast<std::byte>(random.next() & 0xff);
  return result;
}

memory::Copy make_copy(std::uint32_t id, memory::Endpoint from, memory::Endpoint to) {
  memory::Copy copy;
  copy.id.slot = id;
  copy.from = from;
  copy.to = to;
  return copy;
}

memory::Endpoint on(NodeId node, std::byte* address, Layout layout) {
  return {.node = node, .address = address, .layout = layout};
}

// 3 columns of 4 bytes, 6 apart:  a b c d . . e f g h . . i j k l
constexpr Layout kStrided{.column_bytes = 4, .columns = 3, .stride_bytes = 6, .element_bytes = 1};

TEST(StridedCopy, PacksColumnAfterColumn) {
  std::vector<std::byte> from(16);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i);
  std::vector<std::byte> packed(12);
  engine::strided_copy(packed.data(), kStrided.packed(), from.data(), kStrided);
  const int expected[] = {0, 1, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15};
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(static_cast<int>(packed[i]), expected[i]);
}

TEST(StridedCopy, LeavesWhatLiesBetweenTheColumns) {
  const std::vector<std::byte> packed(12, std::byte{1});
  std::vector<std::byte> to(16, std::byte{9});
  engine::strided_copy(to.data(), kStrided, packed.data(), kStrided.packed());
  const int expected[] = {1, 1, 1, 1, 9, 9, 1, 1, 1, 1, 9, 9, 1, 1, 1, 1};
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(static_cast<int>(to[i]), expected[i]);
}

// Any range of the packed order, compared with the whole.
TEST(StridedCopy, PartsMakeTheWhole) {
  const std::uint64_t seed = 11;
  SCOPED_TRACE(seed);
  base::Random random(seed);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t column = 1 + random.below(9);
    const Layout layout{column, 1 + random.below(6), column + random.below(5), 1};
    const std::uint64_t bytes = layout.bytes().value;
    const auto memory = random_bytes(layout.columns * layout.stride_bytes, random);
    std::vector<std::byte> whole(bytes);
    engine::strided_copy(whole.data(), layout.packed(), memory.data(), layout);
    const std::uint64_t begin = random.below(bytes);
    std::vector<std::byte> part(1 + random.below(bytes - begin));
    engine::gather(part.data(), memory.data(), layout, begin, part.size());
    EXPECT_EQ(std::memcmp(part.data(), whole.data() + begin, part.size()), 0);

    auto copied = std::vector<std::byte>(memory.size());
    engine::scatter(copied.data(), layout, whole.data(), 0, begin);
    engine::scatter(copied.data(), layout, whole.data() + begin, begin, bytes - begin);
    std::vector<std::byte> again(bytes);
    // Strided to strided, with another distance between the columns.
    const Layout wider{layout.column_bytes, layout.columns, layout.stride_bytes + 3, 1};
    std::vector<std::byte> wide(wider.columns * wider.stride_bytes);
    engine::strided_copy(wide.data(), wider, copied.data(), layout);
    engine::strided_copy(again.data(), wider.packed(), wide.data(), wider);
    EXPECT_EQ(again, whole);
  }
}

class EmulatedDriverTest : public ::testing::Test {
 protected:
  std::byte* start(EmulatedDriver& driver, NodeId node, std::uint64_t bytes = 1 << 20) {
    std::byte* const arena = driver.reserve(node, Bytes{bytes});
    driver.start(engine_);
    return arena;
  }
  FakeEngine engine_;
  FakeReplicas replicas_;
};

TEST_F(EmulatedDriverTest, StridedDataArePackedOnTheDeviceAndUnpackedOnTheirWayBack) {
  base::Random random(3);
  EmulatedDriver driver({.node = kDevice, .worker = WorkerId{1}});
  std::byte* const arena = start(driver, kDevice);
  auto user = random_bytes(16, random);
  const auto original = user;
  driver.start_copy(
      make_copy(1, on(kRam, user.data(), kStrided), on(kDevice, arena, kStrided.packed())));
  ASSERT_EQ(engine_.copy_error(1), "");
  EXPECT_EQ(std::memcmp(arena + 4, user.data() + 6, 4), 0);
  for (const std::size_t column : {0, 6, 12}) std::memset(user.data() + column, 0, 4);
  driver.start_copy(
      make_copy(2, on(kDevice, arena, kStrided.packed()), on(kRam, user.data(), kStrided)));
  ASSERT_EQ(engine_.copy_error(2), "");
  EXPECT_EQ(user, original);
}

TEST_F(EmulatedDriverTest, ACopyFromAPeerIsDoneByTheDestinationsDriver) {
  base::Random random(4);
  EmulatedDriver driver({.node = kDevice, .worker = WorkerId{1}});
  EmulatedDriver peer({.node = kPeer, .worker = WorkerId{2}});
  std::byte* const arena = start(driver, kDevice);
  std::byte* const peers_arena = start(peer, kPeer);
  const auto content = random_bytes(5000, random);
  std::memcpy(peers_arena, content.data(), content.size());
  driver.start_copy(make_copy(1, on(kPeer, peers_arena, packed_layout(5000)),
                              on(kDevice, arena + 4096, packed_layout(5000))));
  ASSERT_EQ(engine_.copy_error(1), "");
  EXPECT_EQ(std::memcmp(arena + 4096, content.data(), content.size()), 0);
  EXPECT_THROW(driver.start_copy(make_copy(2, on(kDevice, arena, packed_layout(1)),
                                           on(kPeer, peers_arena, packed_layout(1)))),
               std::logic_error);
}

// 1 MiB at 10 MiB/s takes 100 ms; five of 20 ms each in one direction take 100 ms too.
TEST_F(EmulatedDriverTest, ACopyTakesAtLeastItsBytesOverTheBandwidth) {
  EmulatedDriver driver(
      {.node = kDevice, .worker = WorkerId{1}, .bandwidth = BytesPerSecond{10.0 * (1 << 20)}});
  std::byte* const arena = start(driver, kDevice);
  std::vector<std::byte> memory(1 << 20);
  const auto begin = FakeEngine::Clock::now();
  for (std::uint64_t i = 0; i < 5; ++i) {
    const Layout fifth = packed_layout(memory.size() / 5);
    driver.start_copy(make_copy(i, on(kRam, memory.data(), fifth), on(kDevice, arena, fifth)));
  }
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(engine_.copy_error(i), "");
  const auto took = duration_cast<milliseconds>(FakeEngine::Clock::now() - begin);
  EXPECT_GE(took.count(), 99);  // 5 / 5 of 1 MiB less 1 byte
}

// The end of the first copy waits for that of the second one, which goes the other way and was
// started later: one queue for both directions would never get there.
TEST_F(EmulatedDriverTest, TheTwoDirectionsCopyAtOnce) {
  EmulatedDriver driver({.node = kDevice, .worker = WorkerId{1}});
  std::byte* const arena = start(driver, kDevice, 2 << 20);
  std::vector<std::byte> memory(2 << 20);
  const Layout layout = packed_layout(1 << 20);
  std::promise<void> second_ended;
  std::future_status seen = std::future_status::timeout;
  engine_.on_copy_done = [&](std::uint64_t copy) {
    if (copy == 2) second_ended.set_value();
    if (copy == 1) seen = second_ended.get_future().wait_for(std::chrono::seconds(20));
  };
  driver.start_copy(make_copy(1, on(kRam, memory.data(), layout), on(kDevice, arena, layout)));
  driver.start_copy(make_copy(2, on(kDevice, arena + (1 << 20), layout),
                              on(kRam, memory.data() + (1 << 20), layout)));
  EXPECT_EQ(engine_.copy_error(1), "");
  EXPECT_EQ(engine_.copy_error(2), "");
  EXPECT_EQ(seen, std::future_status::ready);
}

TEST_F(EmulatedDriverTest, StopWaitsForAllCopies) {
  EmulatedDriver driver({.node = kDevice, .worker = WorkerId{1}, .bandwidth = BytesPerSecond{1e6}});
  std::byte* const arena = start(driver, kDevice);
  std::vector<std::byte> memory(1000);
  const Layout layout = packed_layout(memory.size());
  for (std::uint64_t i = 0; i < 20; ++i) {
    driver.start_copy(make_copy(i, on(kRam, memory.data(), layout), on(kDevice, arena, layout)));
  }
  driver.stop();
  EXPECT_EQ(engine_.copies_ended(), 20U);
}

TEST_F(EmulatedDriverTest, ItsWorkerRunsTheEmulatedKernelOnTheDevicesReplica) {
  const Codelet codelet{.name = "fill",
                        .cpu = [](KernelContext& k) { *k.data<int>(0) = 1; },
                        .kernels = {{ProcessorKind::emulated, [](KernelContext& k) {
                                       *k.data<int>(0) = 100 + static_cast<int>(k.worker().value);
                                     }}}};
  graph::Handle handle;
  graph::Task task;
  task.codelet = &codelet;
  task.access_count = 1;
  task.inline_accesses[0].handle = &handle;

  EmulatedDriver driver({.node = kDevice, .worker = WorkerId{5}});
  std::byte* const arena = driver.reserve(kDevice, Bytes{4096});
  replicas_.set(handle, kDevice, {arena, packed_layout(sizeof(int))});
  std::atomic<bool> runnable{false};
  engine_.on_advance = [&](WorkerId worker) {
    if (!runnable.exchange(false)) return false;
    driver.start_task(task, worker);
    return true;
  };
  driver.start(engine_);
  runnable = true;
  driver.wake(WorkerId{5});
  EXPECT_EQ(engine_.task_error(task), "");
  EXPECT_EQ(*reinterpret_cast<int*>(arena), 105);
}

TEST_F(EmulatedDriverTest, MemoryOutsideTheArenaIsRefused) {
  EmulatedDriver driver({.node = kDevice, .worker = WorkerId{1}});
  EXPECT_THROW(driver.allocate(kDevice, Bytes{1}), CapacityError);
}

}  // namespace
}  // namespace vicinal::drivers
