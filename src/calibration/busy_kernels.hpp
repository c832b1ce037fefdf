// Times kernels, or something beside them, while all workers are busy with kernels: shared caches,
// memory and clocks are what a run of the runtime finds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "calibration/calibrate.hpp"

namespace vicinal::calibration {

// From what a run took in several rounds, one at least.
MeasuredKernel rate_of(const KernelSet& set, const KernelSet::Kernel& kernel,
                       std::vector<double> seconds);

// `threads` run each kernel at the same time, the i-th on processors[i] if there are so many. Throws
// what a kernel throws.
std::vector<MeasuredKernel> measure_busy(std::span<const KernelSet> sets, std::uint32_t threads,
                                         std::span<const std::uint32_t> processors);

// Threads that run the last kernel of the set again and again, the i-th on processors[i] if there are so
// many, until they are stopped. The set outlives this.
class RunningKernels {
 public:
  RunningKernels(const KernelSet& set, std::uint32_t threads,
                 std::span<const std::uint32_t> processors);
  RunningKernels(const RunningKernels&) = delete;
  RunningKernels& operator=(const RunningKernels&) = delete;
  ~RunningKernels();
  // Calls `what`. The mean of the kernels that began and ended meanwhile, of all threads; 0: none did.
  double mean_seconds_during(const std::function<void()>& what);
  // The same while each thread calls `after` after each kernel, which says how often it has done something; the time
  // that this takes counts as the kernel's.
  struct Stretch {
    double seconds = 0;
    std::uint64_t kernels = 0;
    std::uint64_t done = 0;
  };
  using After = std::function<std::uint64_t()>;
  Stretch stretch_with(const After& after, const std::function<void()>& what);
  // Throws what a kernel threw.
  void stop();

 private:
  struct Shared;
  Stretch next_stretch();
  void run_one(const std::function<double()>& run, std::uint32_t thread);

  std::unique_ptr<Shared> shared_;     // outlives the threads
  std::vector<std::jthread> threads_;  // their destruction asks them to stop
};

}  // namespace vicinal::calibration
