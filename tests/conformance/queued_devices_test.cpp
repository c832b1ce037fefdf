// Devices with queues, several at once: what they compute under every policy with little memory, and what becomes of a
// run when they fail at random moments. The devices are threads of this process; then the library that stands in for
// CUDA, behind the CUDA backend.
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda_stand_in/cuda_stand_in.hpp"
#include "drivers/cuda/cuda_device.hpp"
#include "drivers/opencl/opencl_device.hpp"
#include "support/cuda_stream.hpp"
#include "support/device_program.hpp"
#include "support/failing_device.hpp"
#include "support/host_device.hpp"
#include "support/policy_names.hpp"
#include "support/sanitized.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/cuda.hpp"

namespace vicinal {
namespace {

using ::testing::AnyOf;
using testing::DeviceProgram;
using ::testing::HasSubstr;
using testing::kPage;
using testing::message_of;
using testing::TemporaryFolder;

struct Faults {
  std::uint64_t seed = 1;
  std::uint64_t one_in = 0;
  std::uint64_t lost_after = 0;
};

// How a program runs on so many devices.
using Play = std::function<bool(Options options, std::uint32_t devices, const Faults& faults,
                                std::size_t tasks, std::string& message)>;

void put_on_thread(const KernelContext& k, std::function<void()> work) {
  testing::host_queue(k).put(std::move(work));
}

bool on_threads(Options options, std::uint32_t devices, const Faults& faults, std::size_t tasks,
                std::string& message) {
  static const testing::PageCodelets<put_on_thread> codelets(ProcessorKind::opencl);
  runtime::MachineSetup setup(options);
  for (std::uint32_t i = 0; i < devices; ++i) {
    const std::string name = "device " + std::to_string(i);
    setup.add_device(
        std::make_unique<testing::HostDevice>(
            name, options.device_queues,
            testing::HostDeviceFaults{faults.seed * 31 + i, faults.one_in, faults.lost_after}),
        ProcessorKind::opencl, name, *options.device_memory, options);
  }
  DeviceProgram program(codelets, options, std::move(setup), faults.seed);
  const bool well = program.run(tasks);
  message = program.message;
  return well;
}

bool on_stand_in(Options options, std::uint32_t devices, const Faults& faults, std::size_t tasks,
                 std::string& message) {
  static const testing::PageCodelets<testing::put_on_stream> codelets(ProcessorKind::cuda);
  cuda_stand_in::Settings settings{.devices = static_cast<int>(devices), .seed = faults.seed};
  vicinal_stand_in_set(&settings);
  options.cuda_devices = devices;
  options.cuda_library = VICINAL_CUDA_STAND_IN;
  bool well = false;
  {
    runtime::MachineSetup setup(options);
    DeviceProgram program(codelets, options, std::move(setup), faults.seed);
    settings.fail_one_in = faults.one_in;
    settings.lost_after = faults.lost_after;
    vicinal_stand_in_set(&settings);
    well = program.run(tasks);
    message = program.message;
  }
  EXPECT_EQ(vicinal_stand_in_left(), 0U) << "not given back";
  return well;
}

void at_once(const KernelContext& /*context*/, std::function<void()> work) {
  work();
}

// Functions of the host, run by the device.
bool on_opencl(Options options, std::uint32_t devices, const Faults& faults, std::size_t tasks,
               std::string& message) {
  static const testing::PageCodelets<at_once> codelets(ProcessorKind::emulated);
  runtime::MachineSetup setup(options);
  for (std::uint32_t i = 0; i < devices; ++i) {
    const std::string name = "device " + std::to_string(i);
    setup.add_device(
        std::make_unique<testing::FailingDevice>(
            name,
            drivers::open_opencl_device(0, options.device_queues, drivers::DeviceKernels::of_host),
            testing::HostDeviceFaults{faults.seed * 31 + i, faults.one_in, faults.lost_after}),
        ProcessorKind::emulated, name, *options.device_memory, options);
  }
  DeviceProgram program(codelets, options, std::move(setup), faults.seed);
  const bool well = program.run(tasks);
  message = program.message;
  return well;
}

struct Way {
  std::string name;
  Play play;
};
void PrintTo(const Way& way, std::ostream* out) {
  *out << way.name;
}

using Tested = std::tuple<Way, std::string>;
class QueuedDevices : public ::testing::TestWithParam<Tested> {
 protected:
  void SetUp() override {
    if (std::get<0>(GetParam()).name == "OpenCl" && drivers::opencl_devices().empty()) {
      GTEST_SKIP() << "OpenCL knows no device here";
    }
  }
  Options small() const {
    Options options = testing::small_options(2);
    options.policy = std::get<1>(GetParam());
    options.memory = kPage * 5;
    options.disk = folder_.path();
    options.device_memory = kPage * 3;    // one task
    options.undelivered_errors = "warn";  // a device may fail when the runtime ends
    return options;
  }
  bool play(const Options& options, std::uint32_t devices, const Faults& faults,
            std::size_t tasks) {
    return std::get<0>(GetParam()).play(options, devices, faults, tasks, message_);
  }
  TemporaryFolder folder_{"queued"};
  std::string message_;
};

TEST_P(QueuedDevices, ComputeWhatTheyShouldWithRoomForOneTask) {
  for (std::uint32_t devices = 1; devices <= 4; ++devices) {
    for (const std::uint32_t in_flight : {1U, 8U}) {
      Options options = small();
      options.device_tasks = in_flight;
      options.device_memory = kPage * (in_flight == 1 ? 3 : 12);
      EXPECT_TRUE(play(options, devices, {.seed = devices}, 120)) << message_;
    }
  }
}

#if TEST_THREAD_SANITIZER || TEST_ADDRESS_SANITIZER
constexpr std::uint64_t kTrials = 40;  // which fail within fewer calls, too
#else
constexpr std::uint64_t kTrials = 100;
#endif

// Trials of each policy: each call fails with the same likelihood, or all do from some moment on.
TEST_P(QueuedDevices, ThatFailEndTheRunWithAnErrorAndPassNothingWrongForRight) {
  std::size_t failed = 0;
  for (std::uint64_t seed = 1; seed <= kTrials; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Faults faults{.seed = seed};
    (seed % 2 == 0 ? faults.one_in : faults.lost_after) = 20 + seed * 2;
    if (play(small(), static_cast<std::uint32_t>(1 + seed % 4), faults, 40)) continue;
    ++failed;
    EXPECT_THAT(message_, AnyOf(HasSubstr("device "), HasSubstr("no content")));
  }
  EXPECT_GT(failed, kTrials / 5);
}

INSTANTIATE_TEST_SUITE_P(
    Policies, QueuedDevices,
    ::testing::Combine(::testing::Values(Way{"Threads", on_threads}, Way{"OpenCl", on_opencl},
                                         Way{"Cuda", on_stand_in}),
                       ::testing::ValuesIn(testing::policy_names_of_each_way())),
    [](const auto& tested) {
      return std::get<0>(tested.param).name + "_" + std::get<1>(tested.param);
    });

TEST(FailingDevice, WhatItThrewIsNestedInTheErrorOfTheCopy) {
  static const testing::PageCodelets<put_on_thread> codelets(ProcessorKind::opencl);
  Options options = testing::small_options(1);
  options.device_memory = kPage * 3;
  options.undelivered_errors = "warn";
  runtime::MachineSetup setup(options);
  setup.add_device(
      std::make_unique<testing::HostDevice>("device 0", options.device_queues,
                                            testing::HostDeviceFaults{.seed = 1, .one_in = 1}),
      ProcessorKind::opencl, "device 0", *options.device_memory, options);
  std::vector<std::uint64_t> numbers(testing::kPageNumbers);
  runtime::RuntimeImpl impl(options, std::move(setup));
  const Handle x = impl.add_memory(kRam, numbers.data(), {kPage.value, 1, kPage.value, 8}, "x", {});
  impl.submit({.codelet = &codelets.count, .operands = {RW(x)}});
  try {
    impl.wait();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the copy of x"));
    try {
      std::rethrow_if_nested(error);
      ADD_FAILURE() << "nothing is nested";
    } catch (const DeviceError& of_device) {
      EXPECT_STREQ(of_device.what(), "cannot be begun");
    }
  }
  impl.close();
}

// --- what CUDA alone has

TEST(Cuda, IsAskedForWhereItIsNot) {
  Options options = testing::small_options(1);
  options.cuda_devices = 1;
  options.cuda_library = "libthere_is_no_such_thing.so";
  EXPECT_THAT(message_of<UsageError>([&] { const Runtime runtime(options); }),
              AllOf(HasSubstr("cuda_devices"), HasSubstr("libthere_is_no_such_thing.so"),
                    HasSubstr("driver")));
  EXPECT_TRUE(drivers::cuda_devices(options.cuda_library).empty());
}

TEST(Cuda, HasFewerDevicesThanAsked) {
  const cuda_stand_in::Settings settings{.devices = 2};
  vicinal_stand_in_set(&settings);
  Options options = testing::small_options(1);
  options.cuda_devices = 3;
  options.cuda_library = VICINAL_CUDA_STAND_IN;
  EXPECT_THAT(message_of<UsageError>([&] { const Runtime runtime(options); }),
              AllOf(HasSubstr("3 asked"), HasSubstr("2 here"), HasSubstr("CUDA_VISIBLE_DEVICES")));
  EXPECT_EQ(vicinal_stand_in_left(), 0U);
}

TEST(Cuda, HasTooLittleMemory) {
  const cuda_stand_in::Settings settings;
  vicinal_stand_in_set(&settings);
  EXPECT_THAT(
      message_of<CapacityError>([&] {
        drivers::open_cuda_device(VICINAL_CUDA_STAND_IN, 0, 1)
            ->allocate(Bytes{cuda_stand_in::kMemory * 2});
      }),
      AllOf(HasSubstr("2 GiB"), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"), HasSubstr("device_memory")));
  EXPECT_EQ(vicinal_stand_in_left(), 0U);
}

// Columns of 100 numbers, 128 apart.
TEST(Cuda, PacksAStridedTile) {
  const cuda_stand_in::Settings settings;
  vicinal_stand_in_set(&settings);
  const auto twice = [](KernelContext& k) {
    testing::put_on_stream(k, [x = k.data<double>(0), n = k.count<double>(0)] {
      for (std::size_t i = 0; i < n; ++i) x[i] *= 2;
    });
  };
  const Codelet codelet{.name = "twice", .kernels = {{ProcessorKind::cuda, twice}}};
  Options options = testing::small_options(1);
  options.cuda_devices = 1;
  options.cuda_library = VICINAL_CUDA_STAND_IN;
  std::vector<double> matrix(128 * 5, 3);
  {
    Runtime runtime(options);
    const Handle tile = runtime.register_tile(
        matrix.data(), {.rows = 100, .columns = 5, .leading_dimension = 128, .element_bytes = 8});
    runtime.submit({.codelet = &codelet, .operands = {RW(tile)}});
    runtime.unregister(tile);
  }
  for (std::size_t i = 0; i < matrix.size(); ++i) ASSERT_EQ(matrix[i], i % 128 < 100 ? 6 : 3) << i;
  EXPECT_EQ(vicinal_stand_in_left(), 0U);
}

}  // namespace
}  // namespace vicinal
