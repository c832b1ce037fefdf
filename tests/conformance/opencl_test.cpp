// OpenCL devices: kernels in OpenCL C, data larger than the device's memory, and what goes wrong there.
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/opencl/opencl_device.hpp"
#include "support/policy_names.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

#if VICINAL_HAVE_OPENCL
#include "vicinal/opencl.hpp"

namespace vicinal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kPage;
using testing::message_of;
using testing::TemporaryFolder;
using testing::Watchdog;
using testing::Watched;

constexpr std::size_t kLengthOnDevice = 512;  // of 64-bit numbers: a page

constexpr const char* kSource = R"(
  __kernel void add(__global long* x, long by) { x[get_global_id(0)] += by; }
  __kernel void sum(__global const long* a, __global const long* b, __global long* c) {
    size_t i = get_global_id(0);
    c[i] = a[i] + b[i];
  })";

void add_on_device(KernelContext& k) {
  const cl_kernel kernel = opencl::kernel(k, kSource, "add");
  opencl::set_arguments(kernel, opencl::buffer(k, 0), k.parameter<std::int64_t>());
  opencl::launch(k, kernel, {k.count<std::int64_t>(0)});
}
void sum_on_device(KernelContext& k) {
  const cl_kernel kernel = opencl::kernel(k, kSource, "sum");
  opencl::set_arguments(kernel, opencl::buffer(k, 0), opencl::buffer(k, 1), opencl::buffer(k, 2));
  opencl::launch(k, kernel, {k.count<std::int64_t>(2)});
}
void sum_on_core(KernelContext& k) {
  for (std::size_t i = 0; i < k.count<std::int64_t>(2); ++i) {
    k.data<std::int64_t>(2)[i] = k.data<std::int64_t>(0)[i] + k.data<std::int64_t>(1)[i];
  }
}
const Codelet kAddOnDevice{.name = "add", .kernels = {{ProcessorKind::opencl, add_on_device}}};
const Codelet kSumOnDevice{.name = "sum", .kernels = {{ProcessorKind::opencl, sum_on_device}}};
const Codelet kSumAnywhere{
    .name = "sum", .cpu = sum_on_core, .kernels = {{ProcessorKind::opencl, sum_on_device}}};

class OpenCl : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (drivers::opencl_devices().empty()) GTEST_SKIP() << "OpenCL knows no device here";
    options_.workers = 2;
    options_.opencl_devices = 1;
    options_.device_memory = kPage * 4;
    options_.policy = GetParam();
    options_.models = "none";
  }
  Options options_;
  TemporaryFolder folder_{"opencl"};
  Watchdog watchdog_{::testing::UnitTest::GetInstance()->current_test_info()->name(), 60};
};

TEST_P(OpenCl, AddsOnTheDeviceAlsoWhatDoesNotFitThere) {
  Runtime runtime(options_);
  const Watched watched(watchdog_, runtime);
  std::vector<std::vector<std::int64_t>> content(20, std::vector<std::int64_t>(kLengthOnDevice));
  std::vector<Handle> handles;
  for (std::vector<std::int64_t>& x : content) {
    std::iota(x.begin(), x.end(), 0);
    handles.push_back(runtime.register_buffer(x.data(), kPage));
  }
  for (std::int64_t round = 1; round <= 3; ++round) {
    for (const Handle handle : handles) {
      runtime.submit({.codelet = &kAddOnDevice, .operands = {RW(handle)}, .parameters = round});
    }
  }
  for (const Handle handle : handles) runtime.unregister(handle);
  for (const std::vector<std::int64_t>& x : content) {
    for (std::size_t i = 0; i < kLengthOnDevice; ++i) {
      ASSERT_EQ(x[i], static_cast<std::int64_t>(i) + 6);
    }
  }
}

// Fibonacci numbers, each from the two before it, on cores and on the device: 90 pages with room for 5 in RAM.
TEST_P(OpenCl, SharesAChainWithCoresOutOfCore) {
  options_.memory = kPage * 5;
  options_.disk = folder_.path();
  Runtime runtime(options_);
  const Watched watched(watchdog_, runtime);
  std::vector<Handle> f;
  for (int i = 0; i < 90; ++i) {
    f.push_back(runtime.register_empty(kPage));
    if (i < 2) {
      runtime.submit(testing::set(f.back(), 1));
    } else {
      runtime.submit({.codelet = i % 3 == 0 ? &kSumOnDevice : &kSumAnywhere,
                      .operands = {R(f[i - 2]), R(f[i - 1]), W(f[i])}});
    }
  }
  std::int64_t before = 0;
  std::int64_t now = 1;
  for (const Handle handle : f) {
    const Acquired acquired = runtime.acquire(handle, AccessMode::R);
    for (std::size_t i = 0; i < kLengthOnDevice; ++i)
      ASSERT_EQ(acquired.data<std::int64_t>()[i], now);
    before = std::exchange(now, before + now);
  }
}

// Columns of 100 numbers, 128 apart.
TEST_P(OpenCl, PacksAStridedTile) {
  Runtime runtime(options_);
  const Watched watched(watchdog_, runtime);
  std::vector<std::int64_t> matrix(128 * 5, 7);
  const Handle tile = runtime.register_tile(
      matrix.data(), {.rows = 100, .columns = 5, .leading_dimension = 128, .element_bytes = 8});
  runtime.submit({.codelet = &kAddOnDevice, .operands = {RW(tile)}, .parameters = std::int64_t{1}});
  runtime.unregister(tile);
  for (std::size_t i = 0; i < matrix.size(); ++i) ASSERT_EQ(matrix[i], i % 128 < 100 ? 8 : 7) << i;
}

TEST_P(OpenCl, AProgramThatIsWrongFailsTheTaskWithTheCompilersWords) {
  const auto wrong = [](KernelContext& k) {
    opencl::kernel(k, "__kernel void f() { x = 1; }", "f");
  };
  const Codelet codelet{.name = "typo", .kernels = {{ProcessorKind::opencl, wrong}}};
  Runtime runtime(options_);
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(kPage);
  const Handle y = runtime.register_empty(kPage);
  runtime.submit(testing::set(y, 3));
  runtime.wait();
  runtime.submit({.codelet = &codelet, .operands = {W(x)}});
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(); }),
              AllOf(HasSubstr("typo"), HasSubstr("CL_BUILD_PROGRAM_FAILURE"), HasSubstr("'x'")));
  EXPECT_EQ(*runtime.acquire(y, AccessMode::R).data<std::int64_t>(), 3);
}

TEST_P(OpenCl, OfAKernelOfACoreSaysWhereItBelongs) {
  const auto astray = [](KernelContext& k) { opencl::queue(k); };
  const Codelet codelet{.name = "astray", .cpu = astray};
  Runtime runtime(options_);
  runtime.submit({.codelet = &codelet, .operands = {W(runtime.register_empty(kPage))}});
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(); }), HasSubstr("ProcessorKind::opencl"));
}

INSTANTIATE_TEST_SUITE_P(Policies, OpenCl, ::testing::ValuesIn(testing::policy_names_of_each_way()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace vicinal
#endif
