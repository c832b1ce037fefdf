// Kernels on a device with queues, without a runtime: operands are copied to it, and the codelets' implementations
// for its kind put work on its queues.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <span>
#include <vector>

#include "calibration/calibrate.hpp"
#include "drivers/queued/queued_driver.hpp"
#include "drivers/queued/timed_flights.hpp"

namespace vicinal::calibration {

// One thread at a time uses it.
class DeviceBench {
 public:
  // Takes as much of the device's memory as there is, 256 MiB at most. `config`: its kind, how many queues, and how
  // many runs at once. The clock times the runs.
  DeviceBench(drivers::QueuedDevice& device, const drivers::QueuedConfig& config, Bytes memory,
              drivers::TimedFlights::Clock clock);

  std::byte* memory() const { return memory_; }
  Bytes bytes() const { return bytes_; }

  // There are implementations, and room.
  bool can_run(const KernelSet::Kernel& kernel) const;
  bool can_run_any(std::span<const KernelSet> sets) const;
  // The kernels of the sets that it can run. As many runs are on the queues as in a run of the runtime; a rate is of
  // the device, whatever runs beside. Throws what a kernel's function throws, DeviceError.
  std::vector<MeasuredKernel> measure(std::span<const KernelSet> sets);
  // Puts so many runs on the queues and waits: the mean of their seconds, from the first to the last.
  double run(const KernelSet& set, const KernelSet::Kernel& kernel, std::size_t runs);

 private:
  MeasuredKernel measure(const KernelSet& set, const KernelSet::Kernel& kernel);
  void put(const KernelSet::Kernel& kernel, std::byte* operands, drivers::QueuedDevice::Queue on);
  std::size_t most_runs(const KernelSet::Kernel& kernel) const;

  drivers::QueuedDevice& device_;
  const drivers::QueuedConfig config_;
  const Bytes bytes_;
  std::byte* const memory_;
  drivers::TimedFlights flights_;
};

// A busy device: it repeats the last runnable kernel of the sets until the end of this object. Sets and bench outlive
// this object.
class BusyDevice {
 public:
  BusyDevice(DeviceBench& bench, std::span<const KernelSet> sets);
  ~BusyDevice();
  // Throws what a kernel threw.
  void stop();

 private:
  std::atomic<bool> stopping_{false};
  std::future<void> ended_;
};

}  // namespace vicinal::calibration
