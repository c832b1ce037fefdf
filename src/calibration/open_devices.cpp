#include "calibration/open_devices.hpp"

#include <algorithm>
#include <utility>

#include "calibration/busy_kernels.hpp"
#include "drivers/clock.hpp"
#include "drivers/queued/queue_measurements.hpp"

namespace vicinal::calibration {

namespace {

Options devices_alone(Options options) {
  options.disk.clear();
  options.accelerators = 0;
  return options;
}

}  // namespace

OpenDevices::OpenDevices(const Options& options) {
  runtime::MachineSetup setup(devices_alone(options));
  for (auto& [config, device] : setup.take_devices()) {
    const NodeDescription& node = setup.machine.nodes[config.node.value];
    Open& open = open_.emplace_back();
    open.device = std::move(device);
    open.measured = {.kind = config.kind,
                     .name = open.device->name(),
                     .memory = node.limit.value_or(Bytes{0}),
                     .tasks_in_flight = config.most_runs,
                     // Without a limit RAM for data comes piece by piece, and is not pinned.
                     .pinned = config.pin && options.memory && open.device->pins(),
                     .queues = {}};
    open.bench = std::make_unique<DeviceBench>(*open.device, config, open.measured.memory,
                                               drivers::monotonic_now);
  }
}

void OpenDevices::measure_queues(const std::function<void(std::string_view)>& progress) {
  for (Open& open : open_) {
    progress(open.measured.name);
    open.measured.queues = drivers::measure_queues(*open.device, open.bench->memory(),
                                                   open.bench->bytes(), drivers::monotonic_now);
  }
}

void OpenDevices::measure_kernels(std::span<const KernelSet> sets, std::uint32_t threads,
                                  std::span<const std::uint32_t> processors) {
  const bool any =
      std::ranges::any_of(open_, [&](const Open& open) { return open.bench->can_run_any(sets); });
  if (!any) return;
  RunningKernels beside(sets.front(), threads, processors);
  for (Open& open : open_) open.measured.kernels = open.bench->measure(sets);
  beside.stop();
}

void OpenDevices::keep_busy_during(std::span<const KernelSet> sets,
                                   const std::function<void()>& measure) {
  std::deque<BusyDevice> busy;
  for (Open& open : open_) busy.emplace_back(*open.bench, sets);
  measure();
  for (BusyDevice& device : busy) device.stop();
}

std::vector<MeasuredDevice> OpenDevices::measured() const {
  std::vector<MeasuredDevice> all;
  for (const Open& open : open_) all.push_back(open.measured);
  return all;
}

std::vector<MeasuredDevice> measure_devices(const Options& options) {
  OpenDevices devices(options);
  devices.measure_queues([](std::string_view) {});
  return devices.measured();
}

}  // namespace vicinal::calibration
