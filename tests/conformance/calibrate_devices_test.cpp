// Devices of OpenCL and of the library that stands in for CUDA, measured: what the machine file has of them, and that
// it can be simulated.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/calibrate.hpp"
#include "cuda_stand_in/cuda_stand_in.hpp"
#include "drivers/opencl/opencl_device.hpp"
#include "graph/graph.hpp"
#include "machine/machine_model.hpp"
#include "play/play.hpp"
#include "support/small_runs.hpp"
#include "vicinal/cuda.hpp"

#if VICINAL_HAVE_OPENCL
#include "vicinal/opencl.hpp"
#endif

namespace vicinal::calibration {
namespace {

constexpr std::uint64_t kBytes = 4096;

// Of kernels "here", which the device has, and "elsewhere", which it has not.
KernelSet set_of(const Codelet& here) {
  const auto call = [](const Codelet& codelet) {
    return KernelSet::Call{.codelet = std::make_shared<const Codelet>(codelet),
                           .operands = {{.column_bytes = kBytes, .stride_bytes = kBytes}},
                           .parameters = {}};
  };
  const Codelet elsewhere{.name = "elsewhere", .cpu = [](KernelContext&) {}};
  return {.precision = "double",
          .kernels = {{{"here"}, 1e6, {call(here)}}, {{"elsewhere"}, 1e6, {call(elsewhere)}}},
          .prepare = [] { return [](std::size_t) { return 1e-3; }; },
          .fill = [](std::byte* to, Bytes bytes) { std::fill_n(to, bytes.value, std::byte{1}); }};
}

void expect_measured(const Options& options, const Codelet& here, ProcessorKind kind,
                     const std::string& node) {
  const KernelSet sets[] = {set_of(here)};
  const Calibration found = calibrate(options, sets, 4_MiB, [](std::string_view) {});
  ASSERT_EQ(found.devices.size(), 1U);
  const MeasuredDevice& device = found.devices[0];
  EXPECT_EQ(device.kind, kind);
  EXPECT_EQ(device.memory, options.device_memory);
  for (const BytesPerSecond rate : {device.rates().in, device.rates().out, device.rates().both}) {
    EXPECT_GT(rate.value, 0);
  }
  ASSERT_EQ(device.kernels.size(), 1U);
  EXPECT_EQ(device.kernels[0].names.front(), "here");

  const machine::MachineModel model = machine::parse_machine(machine_file(found), "this.toml", {});
  const MachineDescription& machine = model.description;
  ASSERT_EQ(machine.nodes.size(), 2U);
  EXPECT_EQ(machine.nodes[1].name, node);
  EXPECT_EQ(machine.nodes[1].device, device.name);
  ASSERT_EQ(machine.links.size(), 2U);
  EXPECT_GT(machine.links[0].bandwidth.value, 0);
  EXPECT_EQ(machine.workers.back().kind, kind);
  EXPECT_TRUE(model.seconds("here", "double", 1e6, kind).has_value());
  EXPECT_FALSE(model.seconds("elsewhere", "double", 1e6, kind).has_value());
  EXPECT_THAT(calibration_text(found), ::testing::HasSubstr("on " + device.name));

  graph::Graph graph;
  graph.application() = {.name = "test", .precision = "double"};
  const auto kernel = graph.add_kernel({.name = "here", .flops = 1e6});
  for (int i = 0; i < 20; ++i) {
    const auto datum = graph.add_datum({.bytes = Bytes{kBytes}, .home = NodeKind::ram});
    graph.add_task(kernel, std::vector{graph::Graph::Access{datum, AccessMode::RW}});
  }
  Options simulated;
  simulated.policy = "eager";
  EXPECT_EQ(play::play(graph, model, simulated).after.tasks_done, 20U);
}

TEST(CalibrateDevices, TheStandInIsMeasuredPinnedAndNot) {
  const cuda_stand_in::Settings settings;
  vicinal_stand_in_set(&settings);
  const auto nothing = [](KernelContext& k) {
    vicinal_stand_in_launch(
        cuda::stream(k), [](void* /*data*/, bool /*lost*/) {}, nullptr);
  };
  const Codelet here{.name = "here", .kernels = {{ProcessorKind::cuda, nothing}}};
  Options options = testing::small_options(1);
  options.memory = 64_MiB;
  options.cuda_devices = 1;
  options.cuda_library = VICINAL_CUDA_STAND_IN;
  options.device_memory = 4_MiB;
  expect_measured(options, here, ProcessorKind::cuda, "cuda0");
  const auto devices = measure_devices(options);
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_TRUE(devices[0].pinned);
  EXPECT_TRUE(devices[0].queues.pinned.has_value());
  options.memory.reset();
  EXPECT_FALSE(measure_devices(options).at(0).pinned);
  EXPECT_EQ(vicinal_stand_in_left(), 0U);
}

TEST(CalibrateDevices, ADeviceThatFailsEndsTheMeasurement) {
  const cuda_stand_in::Settings settings{.fail_one_in = 50};
  vicinal_stand_in_set(&settings);
  Options options = testing::small_options(1);
  options.cuda_devices = 1;
  options.cuda_library = VICINAL_CUDA_STAND_IN;
  EXPECT_THROW(measure_devices(options), DeviceError);
  EXPECT_EQ(vicinal_stand_in_left(), 0U);
  const cuda_stand_in::Settings whole;
  vicinal_stand_in_set(&whole);
}

#if VICINAL_HAVE_OPENCL
TEST(CalibrateDevices, AnOpenClDeviceIsMeasured) {
  if (drivers::opencl_devices().empty()) GTEST_SKIP() << "OpenCL knows no device here";
  const auto add = [](KernelContext& k) {
    constexpr const char* kSource =
        "__kernel void add(__global long* x) { x[get_global_id(0)] += 1; }";
    const cl_kernel kernel = opencl::kernel(k, kSource, "add");
    opencl::set_arguments(kernel, opencl::buffer(k, 0));
    opencl::launch(k, kernel, {kBytes / 8});
  };
  const Codelet here{.name = "here", .kernels = {{ProcessorKind::opencl, add}}};
  Options options = testing::small_options(1);
  options.opencl_devices = 1;
  options.device_memory = 4_MiB;
  expect_measured(options, here, ProcessorKind::opencl, "opencl0");
}
#endif

}  // namespace
}  // namespace vicinal::calibration
