// Typed tasks with kernels for several kinds of processors.
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/opencl/opencl_device.hpp"
#include "support/cuda_library.hpp"
#include "support/cuda_stream.hpp"
#include "support/small_runs.hpp"
#include "vicinal/cuda.hpp"
#include "vicinal/runtime.hpp"
#if VICINAL_HAVE_OPENCL
#include "vicinal/opencl.hpp"
#endif

namespace vicinal {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

constexpr std::size_t kElements = 512;
constexpr std::size_t kTileRows = 5;

void add_to(std::span<double> x, double by) {
  for (double& element : x) element += by;
}

Options on_accelerators() {
  Options options = testing::small_options(1);
  options.policy = "eager";
  options.accelerators = 1;
  return options;
}

TEST(TypedDevices, EmulatedAcceleratorsRunTheirOwnKernelIfThereIsOne) {
  Runtime runtime(on_accelerators());
  const auto x = runtime.data<double>(kElements, "x");
  const WorkerId accelerator{1};
  runtime.task(
      "set", [](std::span<double> to) { std::ranges::fill(to, 1.0); }, out(x));
  const auto more = [factor = 100.0](std::span<double> to, double by) { add_to(to, factor * by); };
  runtime.task("add", add_to, on_emulated(more), inout(x), 2.0, on(accelerator));
  runtime.task("add", add_to, on_emulated(more), inout(x), 2.0, on(WorkerId{0}));
  runtime.task("add", add_to, inout(x), 0.5, on(accelerator));  // the core's serves there, too
  EXPECT_EQ(runtime.read(x)[kElements - 1], 1 + 200 + 2 + 0.5);
}

// A second on the core, and microseconds on the accelerator: dmda predicts, and sends all there.
TEST(TypedDevices, PoliciesPredictWithTheTimesOfEachTask) {
  Options options = on_accelerators();
  options.policy = "dmda";
  options.models = "none";
  Runtime runtime(options);
  constexpr std::uint64_t kTasks = 20;
  for (std::uint64_t i = 0; i < kTasks; ++i) {
    runtime.task(
        "set", [](std::span<double> to) { to[0] = 1; }, out(runtime.data<double>(kElements)),
        expected(ProcessorKind::cpu, Time{1'000'000'000}),
        expected(ProcessorKind::emulated, Time{1000}));
  }
  runtime.wait();
  EXPECT_EQ(runtime.statistics().workers[1].tasks, kTasks);
}

TEST(TypedDevices, ATaskMayHaveNoKernelForCores) {
  Runtime runtime(on_accelerators());
  const auto x = runtime.data<double>(kElements, "x");
  const auto owner = std::make_shared<double>(3.0);  // more than fits in a task
  runtime.task("only", on_emulated([owner](std::span<double> to, const std::string& text) {
                 std::ranges::fill(to, *owner + static_cast<double>(text.size()));
               }),
               out(x), std::string("four"), priority(1));
  EXPECT_EQ(runtime.read(x)[0], 7);
  EXPECT_EQ(runtime.statistics().workers[1].tasks, 1U);
  EXPECT_THAT(message_of<UsageError>([&] {
                runtime.task("only", on_cuda([](CUstream_st*, std::span<double>) {}), out(x));
              }),
              HasSubstr("task only: no worker can run it"));
}

TEST(TypedDevices, CudaKernelsGetAStreamAndAddressesOfTheDevice) {
  if (!testing::has_cuda() || testing::on_real_cuda()) GTEST_SKIP() << testing::kNeedsStandIn;
  testing::set_stand_in({.devices = 1, .seed = 1});
  {
    Options options = testing::small_options(1);
    options.policy = "eager";
    options.cuda_devices = 1;
    options.cuda_library = testing::cuda_library();
    Runtime runtime(options);
    const auto x = runtime.data<double>(kElements, "x");
    const auto tile = runtime.tile<float>(kTileRows, 3, "tile");
    runtime.task(
        "set", [](std::span<double> to) { std::ranges::fill(to, 1.0); }, out(x));
    runtime.task(
        "set", [](Tile<float> to) { to(kTileRows - 1, 2) = 4; }, out(tile));
    const WorkerId device{1};
    runtime.task("add", add_to,
                 on_cuda([](const KernelContext& k, std::span<double> to, double by) {
                   testing::put_on_stream(k, [to, by] { add_to(to, 10 * by); });
                 }),
                 inout(x), 2.0, on(device));
    CUstream_st* seen = nullptr;
    runtime.task("look",
                 on_cuda([&seen](CUstream_st* stream, Tile<const float> from,
                                 std::span<double> room, int number) {
                   seen = stream;
                   EXPECT_EQ(from.rows(), kTileRows);
                   EXPECT_EQ(from.columns(), 3U);
                   EXPECT_EQ(from.leading_dimension(), kTileRows);
                   EXPECT_EQ(room.size(), 7U);
                   EXPECT_EQ(number, 9);
                 }),
                 in(tile), scratch<double>(7), 9);
    EXPECT_EQ(runtime.read(x)[0], 21);
    EXPECT_EQ(runtime.read(tile)(kTileRows - 1, 2), 4);
    runtime.wait();
    EXPECT_NE(seen, nullptr);
    EXPECT_EQ(runtime.statistics().workers[1].tasks, 2U);
  }
  testing::expect_all_given_back();
}

#if VICINAL_HAVE_OPENCL
constexpr const char* kTypedSource = R"(
  __kernel void add(__global long* x, long by) { x[get_global_id(0)] += by; }
  __kernel void last(__global const long* tile, long rows, __global long* to) {
    to[0] = tile[rows * get_global_size(0) - 1];
  })";

TEST(TypedDevices, OpenClKernelsGetBuffers) {
  if (drivers::opencl_devices().empty()) GTEST_SKIP() << "OpenCL knows no device here";
  Options options = testing::small_options(1);
  options.policy = "eager";
  options.opencl_devices = 1;
  Runtime runtime(options);
  const auto x = runtime.data<std::int64_t>(kElements, "x");
  const auto tile = runtime.tile<std::int64_t>(kTileRows, 3, "tile");
  runtime.task(
      "set", [](std::span<std::int64_t> to) { std::ranges::fill(to, 1); }, out(x));
  runtime.task(
      "set", [](Tile<std::int64_t> to) { to(kTileRows - 1, 2) = 4; }, out(tile));
  runtime.task(
      "add", [](std::span<std::int64_t>, std::int64_t) {},
      on_opencl([](const KernelContext& k, opencl::Buffer<std::int64_t> to, std::int64_t by) {
        const cl_kernel kernel = opencl::kernel(k, kTypedSource, "add");
        opencl::set_arguments(kernel, to.memory(), by);
        opencl::launch(k, kernel, {to.size()});
      }),
      inout(x), std::int64_t{2}, on(WorkerId{1}));
  EXPECT_EQ(runtime.read(x)[kElements - 1], 3);
  runtime.task("last",
               on_opencl([](cl_command_queue queue, opencl::Buffer<const std::int64_t, 2> from,
                            opencl::Buffer<std::int64_t> to) {
                 EXPECT_NE(queue, nullptr);
                 EXPECT_EQ(from.rows(), kTileRows);
                 EXPECT_EQ(from.columns(), 3U);
                 opencl::check(clEnqueueCopyBuffer(queue, from.memory(), to.memory(),
                                                   (3 * kTileRows - 1) * sizeof(std::int64_t), 0,
                                                   sizeof(std::int64_t), 0, nullptr, nullptr),
                               "clEnqueueCopyBuffer");
               }),
               in(tile), inout(x));
  EXPECT_EQ(runtime.read(x)[0], 4);
}
#endif

}  // namespace
}  // namespace vicinal
