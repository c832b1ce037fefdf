// What is measured of a device's queues is what a device of known speed has, in virtual time; and kernels on it.
#include "drivers/queued/queue_measurements.hpp"

#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/device_bench.hpp"
#include "drivers/mapped_memory.hpp"
#include "support/model_device.hpp"
#include "support/small_runs.hpp"
#include "vicinal/error.hpp"

namespace vicinal::drivers {
namespace {

using testing::DeviceModel;
using testing::ModelDevice;

// Of 256 MiB.
struct Tested {
  explicit Tested(const DeviceModel& model, Bytes bytes = 256_MiB)
      : memory(bytes, "a test"), device(model, memory.address(), bytes), size(bytes) {}
  QueueMeasurements measure() {
    return measure_queues(device, memory.address(), size, [this] { return device.now(); });
  }
  MappedMemory memory;
  ModelDevice device;
  Bytes size;
};

void expect_about(double value, double expected) {
  EXPECT_NEAR(value / expected, 1, 0.03) << value << " and not " << expected;
}

TEST(QueueMeasurements, RatesAreThoseOfTheDevice) {
  Tested tested({});
  const QueueMeasurements found = tested.measure();
  expect_about(found.plain.in.value, 1e9);
  expect_about(found.plain.out.value, 2e9);
  expect_about(found.plain.both.value, 3e9);  // the directions do not disturb each other
  EXPECT_FALSE(found.pinned.has_value());
  EXPECT_EQ(tested.device.outside(), 0U);
  EXPECT_EQ(tested.device.unended(), 0U);
  EXPECT_LT(tested.device.now(), Time{2'000'000'000});
}

TEST(QueueMeasurements, DirectionsThatShareALinkHaveNoMoreTogether) {
  Tested tested({.in = {1e9}, .out = {1e9}, .one_way = true});
  expect_about(tested.measure().plain.both.value, 1e9);
}

TEST(QueueMeasurements, PinnedMemoryIsMeasuredBesideAndUnpinned) {
  Tested tested({.pinned = 4});
  const QueueMeasurements found = tested.measure();
  expect_about(found.plain.in.value, 1e9);
  ASSERT_TRUE(found.pinned.has_value());
  expect_about(found.pinned->in.value, 4e9);
  expect_about(found.pinned->out.value, 8e9);
  expect_about(found.pinned->both.value, 12e9);
  EXPECT_EQ(tested.device.pinned(), 0);
}

TEST(QueueMeasurements, TimesOfPagesAndRunsTellTheThreadFromTheDevice) {
  Tested tested({});
  const QueueMeasurements found = tested.measure();
  // A page takes 4096 ns in, and is told 3 us later; the thread takes 0.5 us to put it there. Of 64 in a row the
  // device is done after 0.5 + 64 * 4.096 us, and tells 3 us later.
  EXPECT_EQ(found.copy_in.alone, Time{500 + 4096 + 3000});
  EXPECT_EQ(found.copy_in.thread, Time{500});
  EXPECT_EQ(found.copy_in.each, Time{(500 + 64 * 4096 + 3000) / 64});
  EXPECT_EQ(found.copy_out.alone, Time{500 + 2048 + 3000});
  EXPECT_EQ(found.run.alone, Time{500 + 1000 + 3000});
  EXPECT_EQ(found.run.each, Time{(500 + 64 * 1000 + 3000) / 64});
}

TEST(QueueMeasurements, ASlowLinkTakesNoLongerThanAFewCopies) {
  Tested tested({.in = {1e6}, .out = {1e6}});
  const QueueMeasurements found = tested.measure();
  expect_about(found.plain.in.value, 1e6);
  EXPECT_LT(tested.device.now(), Time{2'000'000'000});
}

TEST(QueueMeasurements, ASmallMemorySuffices) {
  for (const std::uint64_t pages : {1U, 2U, 3U, 5U}) {
    Tested tested({}, Bytes{pages * kPageBytes});
    const QueueMeasurements found = tested.measure();
    EXPECT_GT(found.plain.in.value, 0.5e9) << pages;
    EXPECT_EQ(tested.device.outside(), 0U) << pages;
  }
}

TEST(QueueMeasurements, ACopyThatFailsEndsThemWithTheDevicesWords) {
  for (const std::uint64_t number : {1U, 40U, 400U}) {
    Tested tested({.pinned = 2, .fails = number});
    EXPECT_THAT(testing::message_of<DeviceError>([&] { tested.measure(); }),
                ::testing::HasSubstr("model: failure 7"));
    EXPECT_EQ(tested.device.unended(), 0U);
    EXPECT_EQ(tested.device.pinned(), 0);
  }
}

// --- Kernels --------------------------------------------------------------------------------------

constexpr std::uint64_t kOperand = 3 * kPageBytes - 8;

QueuedConfig of_runs(std::uint32_t at_once) {
  QueuedConfig config;
  config.kind = ProcessorKind::cuda;
  config.most_runs = at_once;
  return config;
}

void millisecond(KernelContext& k) {
  static_cast<ModelDevice*>(k.native())->take(QueuedDevice::kFirstRun, Time{1'000'000});
}
void twice_as_long(KernelContext& k) {
  ASSERT_EQ(k.parameter<int>(), 5);
  ASSERT_EQ(k.operands(), 2U);
  millisecond(k);
  millisecond(k);
}

calibration::KernelSet::Call call_of(const Codelet& codelet, std::size_t operands) {
  const int five = 5;
  const auto* const bytes = reinterpret_cast<const std::byte*>(&five);
  return {
      .codelet = std::make_shared<const Codelet>(codelet),
      .operands = std::vector(operands, Layout{.column_bytes = kOperand, .stride_bytes = kOperand}),
      .parameters = {bytes, bytes + sizeof(five)}};
}

// Of a million operations: a kernel for the device, one of two calls, one for cores, one of no calls.
calibration::KernelSet kernels(std::uint64_t& filled) {
  const Codelet one{.name = "one", .kernels = {{ProcessorKind::cuda, millisecond}}};
  const Codelet two{.name = "two", .kernels = {{ProcessorKind::cuda, twice_as_long}}};
  const Codelet core{.name = "core", .cpu = millisecond};
  return {.precision = "double",
          .kernels = {{{"one"}, 1e6, {call_of(one, 1)}},
                      {{"both"}, 1e6, {call_of(one, 3), call_of(two, 2)}},
                      {{"core"}, 1e6, {call_of(core, 1)}},
                      {{"none"}, 1e6, {}}},
          .prepare = {},
          .fill = [&filled](std::byte* /*to*/, Bytes bytes) { filled += bytes.value; }};
}

TEST(DeviceBench, KernelsTakeWhatTheyTakeOnTheDevice) {
  Tested tested({});
  std::uint64_t filled = 0;
  const calibration::KernelSet sets[] = {kernels(filled)};
  calibration::DeviceBench bench(tested.device, of_runs(8), tested.size,
                                 [&] { return tested.device.now(); });
  const auto measured = bench.measure(sets);
  ASSERT_EQ(measured.size(), 2U);  // not what has no implementation
  EXPECT_EQ(measured[0].names.front(), "one");
  expect_about(measured[0].flops_per_second, 1e9);
  EXPECT_EQ(measured[1].precision, "double");
  expect_about(measured[1].flops_per_second, 1e9 / 3);  // a millisecond, and two
  EXPECT_EQ(tested.device.outside(), 0U);
  EXPECT_EQ(filled % kOperand, 0U);
  EXPECT_GT(filled, 0U);
}

TEST(DeviceBench, AKernelThatDoesNotFitIsNotMeasured) {
  Tested tested({}, Bytes{7 * kPageBytes});
  std::uint64_t filled = 0;
  const calibration::KernelSet sets[] = {kernels(filled)};
  calibration::DeviceBench bench(tested.device, of_runs(8), tested.size,
                                 [&] { return tested.device.now(); });
  const auto measured = bench.measure(sets);
  ASSERT_EQ(measured.size(), 1U);  // 3 pages, and 15
  EXPECT_EQ(measured[0].names.front(), "one");
  EXPECT_EQ(tested.device.outside(), 0U);
}

TEST(DeviceBench, WhatAKernelThrowsEndsTheMeasurement) {
  Tested tested({});
  const auto refuse = [](KernelContext& k) { k.at_end([] { throw TaskError("a pivot is 0"); }); };
  const Codelet codelet{.name = "refuses", .kernels = {{ProcessorKind::cuda, refuse}}};
  std::uint64_t filled = 0;
  calibration::KernelSet sets[] = {kernels(filled)};
  sets[0].kernels = {{{"refuses"}, 1, {call_of(codelet, 1)}}};
  calibration::DeviceBench bench(tested.device, of_runs(2), tested.size,
                                 [&] { return tested.device.now(); });
  EXPECT_THROW(bench.measure(sets), TaskError);
  EXPECT_EQ(tested.device.unended(), 0U);
}

}  // namespace
}  // namespace vicinal::drivers
