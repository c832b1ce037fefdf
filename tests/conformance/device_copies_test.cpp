// How content comes to devices with queues and goes back: pinned, staged in pieces, from a peer; what is left over; and
// that devices with nothing to do do nothing.
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda_stand_in/cuda_stand_in.hpp"
#include "drivers/opencl/opencl_device.hpp"
#include "drivers/queued/pinned_ranges.hpp"
#include "support/cuda_library.hpp"
#include "support/cuda_stream.hpp"
#include "support/small_runs.hpp"
#include "vicinal/cuda.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kPage;
using testing::message_of;

Options with_devices(std::uint32_t devices) {
  const cuda_stand_in::Settings settings{.devices = static_cast<int>(devices)};
  vicinal_stand_in_set(&settings);
  Options options = testing::small_options(1);
  options.cuda_devices = devices;
  options.cuda_library = VICINAL_CUDA_STAND_IN;
  return options;
}

void add_one(KernelContext& k) {
  testing::put_on_stream(k, [x = k.data<std::uint32_t>(0), n = k.count<std::uint32_t>(0)] {
    for (std::size_t i = 0; i < n; ++i) ++x[i];
  });
}
void add_one_there(KernelContext& k) {
  std::uint32_t* const x = k.data<std::uint32_t>(0);
  for (std::size_t i = 0; i < k.count<std::uint32_t>(0); ++i) ++x[i];
}
const Codelet kAddOne{
    .name = "add_one",
    .kernels = {{ProcessorKind::cuda, add_one}, {ProcessorKind::emulated, add_one_there}}};

// A kernel of this program runs on a real device as that of an emulated accelerator, in memory that both reach.
Options with_one_device() {
  if (!testing::on_real_cuda()) return with_devices(1);
  Options options = testing::small_options(1);
  options.accelerators = 1;
  options.accelerator_api = "cuda";
  options.cuda_library = testing::cuda_library();
  return options;
}

std::vector<std::uint32_t> numbers(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761U);
  return values;
}

// Columns with gaps, longer and shorter than the pieces that content is staged in, and an odd end.
struct Shape {
  std::uint64_t rows;
  std::uint64_t columns;
  std::uint64_t stride;
};
class DeviceCopies : public ::testing::TestWithParam<std::tuple<Shape, bool>> {};

TEST_P(DeviceCopies, KeepTheContentAndLeaveTheGaps) {
  const auto [shape, pinned] = GetParam();
  std::vector<std::uint32_t> values = numbers(shape.stride * shape.columns);
  {
    Runtime runtime(with_one_device());
    if (pinned) runtime.pin(values.data(), Bytes{values.size() * 4});
    const Handle tile = runtime.register_tile(values.data(), {.rows = shape.rows,
                                                              .columns = shape.columns,
                                                              .leading_dimension = shape.stride,
                                                              .element_bytes = 4});
    runtime.submit({.codelet = &kAddOne, .operands = {RW(tile)}});
    runtime.unregister(tile);
    if (pinned) runtime.unpin(values.data());
  }
  const std::vector<std::uint32_t> before = numbers(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t added = i % shape.stride < shape.rows ? 1 : 0;
    ASSERT_EQ(values[i], before[i] + added) << i;
  }
  if (testing::on_real_cuda()) return;
  EXPECT_EQ(vicinal_stand_in_unpinned_copies(), 0U) << "a copy that holds the device's thread";
  EXPECT_EQ(vicinal_stand_in_left(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, DeviceCopies,
    ::testing::Combine(::testing::Values(Shape{1, 1, 1}, Shape{1000, 1, 1000},
                                         Shape{(5 << 20) + 3, 1, (5 << 20) + 3},
                                         Shape{(3 << 20) + 1, 2, (3 << 20) + 7},
                                         Shape{1001, 3000, 1024}, Shape{7, 5, 9}),
                       ::testing::Bool()),
    [](const auto& tested) {
      const Shape& shape = std::get<0>(tested.param);
      return std::to_string(shape.rows) + "x" + std::to_string(shape.columns) +
             (std::get<1>(tested.param) ? "Pinned" : "Staged");
    });

TEST(DeviceMemory, UnderTheLimitIsPinnedOnceForAllDevices) {
  Options options = with_devices(3);
  options.memory = kPage * 64;
  {
    const Runtime runtime(options);
    EXPECT_TRUE(vicinal_stand_in_is_pinned(options.memory->value));
  }
  EXPECT_EQ(vicinal_stand_in_left(), 0U);
  options.pin_memory = false;
  {
    const Runtime runtime(options);
    EXPECT_FALSE(vicinal_stand_in_is_pinned(options.memory->value));
  }
  EXPECT_EQ(vicinal_stand_in_left(), 0U);
}

TEST(DeviceMemory, WithoutALimitAReplicaIsPinnedByItsFirstCopy) {
  constexpr std::size_t kCount = (5U << 20) / 4;
  const Codelet fill{.name = "fill", .cpu = [](KernelContext& k) {
                       for (std::size_t i = 0; i < kCount; ++i) {
                         k.data<std::uint32_t>(0)[i] = static_cast<std::uint32_t>(i);
                       }
                     }};
  for (const bool pins : {true, false}) {
    Options options = with_one_device();
    options.pin_memory = pins;
    {
      Runtime runtime(options);
      const Handle data = runtime.register_empty(Bytes{kCount * 4}, "data");
      runtime.submit({.codelet = &fill, .operands = {W(data)}});
      for (int i = 0; i < 3; ++i) {
        runtime.submit({.codelet = &kAddOne, .operands = {RW(data)}});
        const Acquired held = runtime.acquire(data, AccessMode::RW);
        for (std::size_t j = 0; j < kCount; ++j) {
          ASSERT_EQ(held.data<std::uint32_t>()[j], j + static_cast<std::size_t>(i) + 1) << j;
        }
      }
      const bool pinned = !testing::on_real_cuda() && vicinal_stand_in_is_pinned(kCount * 4);
      EXPECT_EQ(pinned, pins && !testing::on_real_cuda());
      runtime.unregister(data, WriteBack::no);
    }
    EXPECT_FALSE(vicinal_stand_in_is_pinned(kCount * 4));
    EXPECT_EQ(vicinal_stand_in_left(), 0U);
  }
}

TEST(DeviceMemory, ThatCannotBePinnedIsSaid) {
  Options options = with_devices(1);
  options.memory = kPage * 64;
  const cuda_stand_in::Settings fails{.fail_one_in = 1};
  vicinal_stand_in_set(&fails);
  EXPECT_THROW(const Runtime runtime(options), Error);
  EXPECT_EQ(vicinal_stand_in_left(), 0U);
}

TEST(Pin, RefusesWhatCannotBe) {
  std::vector<std::byte> memory(4 * kPage.value);
  Runtime runtime(with_devices(2));
  const auto pin = [&](std::size_t at, Bytes bytes) {
    return message_of<UsageError>([&] { runtime.pin(memory.data() + at, bytes); });
  };
  runtime.pin(memory.data() + 4096, kPage);
  EXPECT_THAT(pin(0, kPage * 2), HasSubstr("overlaps what is pinned"));
  EXPECT_THAT(pin(5000, Bytes{1}), HasSubstr("unpin that first"));
  EXPECT_THAT(pin(0, Bytes{0}), HasSubstr("no memory"));
  runtime.pin(memory.data(), kPage);
  runtime.pin(memory.data() + 2 * 4096, kPage);
  EXPECT_THAT(message_of<UsageError>([&] { runtime.unpin(memory.data() + 1); }),
              HasSubstr("unpin: no memory"));
  runtime.unpin(memory.data());
  EXPECT_THAT(message_of<UsageError>([&] { runtime.unpin(memory.data()); }), HasSubstr("unpin"));
}

TEST(Pin, OfTwoRuntimesIsOfOneSize) {
  std::vector<std::byte> memory(2 * kPage.value);
  Runtime one(with_devices(1));
  Runtime other(with_devices(1));
  one.pin(memory.data(), kPage);
  EXPECT_THAT(message_of<DeviceError>([&] { other.pin(memory.data(), kPage * 2); }),
              AllOf(HasSubstr("another runtime has pinned 4 KiB"), HasSubstr("same size")));
  other.pin(memory.data(), kPage);
  one.unpin(memory.data());
  other.unpin(memory.data());
}

TEST(Pin, IsNothingWithoutDevices) {
  std::vector<std::byte> memory(kPage.value);
  Runtime runtime(testing::small_options(1));
  runtime.pin(memory.data(), kPage);
  runtime.unpin(memory.data());
}

// Content that one device has made goes to the other without RAM, if there is a way.
TEST(DevicePeers, CopyWithoutRam) {
  for (const bool peers : {true, false}) {
    SCOPED_TRACE(peers ? "peers" : "no peers");
    Options options = with_devices(2);
    const cuda_stand_in::Settings settings{.devices = 2, .peers = peers};
    vicinal_stand_in_set(&settings);
    std::vector<std::uint32_t> values(1024, 5);
    {
      Runtime runtime(options);
      const Handle x = runtime.register_buffer(values.data(), kPage);
      for (std::uint32_t i = 0; i < 6; ++i) {
        runtime.submit({.codelet = &kAddOne, .operands = {RW(x)}, .worker = WorkerId{1 + i % 2}});
      }
      runtime.wait();
      Bytes direct;
      for (const LinkStatistics& link : runtime.statistics().links) {
        if (link.from != kRam && link.to != kRam) direct += link.bytes;
      }
      EXPECT_EQ(direct, peers ? kPage * 5 : Bytes{0});
    }
    EXPECT_EQ(values, std::vector<std::uint32_t>(1024, 11));
  }
}

TEST(DeviceKernel, ChecksItsResultWhenItHasEnded) {
  const auto checked = [](KernelContext& k) {
    const auto made = std::make_shared<int>(0);
    testing::put_on_stream(k, [made] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      *made = 7;
    });
    k.at_end([made, wanted = k.parameter<int>()] {
      if (*made != wanted) throw TaskError("it made " + std::to_string(*made));
    });
  };
  const Codelet codelet{.name = "checked", .kernels = {{ProcessorKind::cuda, checked}}};
  Runtime runtime(with_devices(1));
  const Handle x = runtime.register_empty(kPage, "x");
  runtime.submit({.codelet = &codelet, .operands = {W(x)}, .parameters = 7});
  runtime.wait();
  runtime.submit({.codelet = &codelet, .operands = {W(x)}, .parameters = 8});
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(); }),
              AllOf(HasSubstr("checked"), HasSubstr("it made 7")));
}

TEST(DeviceKernel, OfACoreChecksAtOnce) {
  const auto checked = [](KernelContext& k) {
    k.at_end([] { throw TaskError("not right"); });
    std::abort();
  };
  const Codelet codelet{.name = "checked", .cpu = checked};
  Runtime runtime(testing::small_options(1));
  runtime.submit({.codelet = &codelet});
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(); }), HasSubstr("not right"));
}

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Below 1 % of a processor, with devices of both APIs that have worked before.
TEST(IdleDevices, SleepDeeply) {
  Options options = with_devices(4);
  if (!drivers::opencl_devices().empty()) options.opencl_devices = 1;
  options.device_memory = kPage * 16;
  Runtime runtime(options);
  const Handle x = runtime.register_empty(kPage);
  const Codelet set{.name = "set", .kernels = {{ProcessorKind::cuda, [](KernelContext&) {}}}};
  runtime.submit({.codelet = &set, .operands = {W(x)}});
  for (int i = 0; i < 20; ++i) runtime.submit({.codelet = &kAddOne, .operands = {RW(x)}});
  runtime.wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_LT(processor_seconds() - before, 0.01);
}

}  // namespace
}  // namespace vicinal
