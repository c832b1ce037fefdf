// The accelerators with queues that a runtime would have, opened to be measured.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "calibration/calibrate.hpp"
#include "calibration/device_bench.hpp"
#include "runtime/machine_setup.hpp"
#include "vicinal/options.hpp"

namespace vicinal::calibration {

class OpenDevices {
 public:
  // Throws what Runtime throws.
  explicit OpenDevices(const Options& options);

  void measure_queues(const std::function<void(std::string_view)>& progress);
  // Device after device, beside so many threads that run the kernels of the first set, see RunningKernels.
  void measure_kernels(std::span<const KernelSet> sets, std::uint32_t threads,
                       std::span<const std::uint32_t> processors);
  // What `measure` measures is measured while the devices run kernels.
  void keep_busy_during(std::span<const KernelSet> sets, const std::function<void()>& measure);

  std::vector<MeasuredDevice> measured() const;

 private:
  struct Open {
    std::unique_ptr<drivers::QueuedDevice> device;
    std::unique_ptr<DeviceBench> bench;  // ends before the device
    MeasuredDevice measured;
  };
  std::deque<Open> open_;
};

}  // namespace vicinal::calibration
