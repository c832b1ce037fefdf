#include "calibration/device_bench.hpp"

#include <algorithm>
#include <utility>

#include "base/start_thread.hpp"
#include "calibration/busy_kernels.hpp"
#include "drivers/mapped_memory.hpp"

namespace vicinal::calibration {

namespace {

constexpr Bytes kMostMemory = 256_MiB;

constexpr double kKernelSeconds = 0.25;  // of each kernel, about
constexpr std::size_t kMostRounds = 15;

std::uint64_t padded(const Layout& layout) {
  return drivers::round_up(std::max<std::uint64_t>(layout.bytes().value, 1), drivers::kPageBytes);
}

// Of all operands of a run.
std::uint64_t bytes_of(const KernelSet::Kernel& kernel) {
  std::uint64_t bytes = 0;
  for (const KernelSet::Call& call : kernel.calls) {
    for (const Layout& operand : call.operands) bytes += padded(operand);
  }
  return bytes;
}

}  // namespace

DeviceBench::DeviceBench(drivers::QueuedDevice& device, const drivers::QueuedConfig& config,
                         Bytes memory, drivers::TimedFlights::Clock clock)
    : device_(device),
      config_(config),
      bytes_(std::min(memory, kMostMemory)),
      memory_(device.allocate(bytes_)),
      flights_(device, std::move(clock)) {}

bool DeviceBench::can_run(const KernelSet::Kernel& kernel) const {
  const auto is_there = [this](const KernelSet::Call& call) {
    return static_cast<bool>(call.codelet->implementation(config_.kind));
  };
  return !kernel.calls.empty() && std::ranges::all_of(kernel.calls, is_there) &&
         bytes_of(kernel) <= bytes_.value;
}

bool DeviceBench::can_run_any(std::span<const KernelSet> sets) const {
  return std::ranges::any_of(sets, [this](const KernelSet& set) {
    return std::ranges::any_of(set.kernels,
                               [this](const KernelSet::Kernel& kernel) { return can_run(kernel); });
  });
}

std::size_t DeviceBench::most_runs(const KernelSet::Kernel& kernel) const {
  return std::clamp<std::size_t>(bytes_.value / bytes_of(kernel), 1, config_.most_runs);
}

void DeviceBench::put(const KernelSet::Kernel& kernel, std::byte* operands,
                      drivers::QueuedDevice::Queue on) {
  for (const KernelSet::Call& call : kernel.calls) {
    std::vector<OperandView> views;
    for (const Layout& operand : call.operands) {
      views.push_back({operands, operand});
      operands += padded(operand);
    }
    flights_.run(on, [&](drivers::TimedFlights::Check& check) {
      KernelContext context(views.data(), views.size(), call.parameters.data(),
                            call.parameters.size(), config_.worker, config_.kind,
                            device_.native(on), &check);
      call.codelet->implementation(config_.kind)(context);
    });
  }
}

double DeviceBench::run(const KernelSet& set, const KernelSet::Kernel& kernel, std::size_t runs) {
  const std::uint64_t bytes = bytes_of(kernel);
  const drivers::MappedMemory content(Bytes{bytes}, "the operands of a kernel");
  std::byte* at = content.address();
  for (const KernelSet::Call& call : kernel.calls) {
    for (const Layout& operand : call.operands) {
      set.fill(at, operand.bytes());
      at += padded(operand);
    }
  }
  const Layout all{.column_bytes = bytes, .stride_bytes = bytes};
  for (std::size_t i = 0; i < runs; ++i) {
    flights_.copy_in(memory_ + i * bytes, content.address(), all);
  }
  flights_.wait();
  const Time begin = flights_.now();
  for (std::size_t i = 0; i < runs; ++i) {
    const auto queue = static_cast<drivers::QueuedDevice::Queue>(i % config_.run_queues);
    put(kernel, memory_ + i * bytes, drivers::QueuedDevice::kFirstRun + queue);
  }
  return std::max((flights_.wait() - begin).seconds(), 1e-9) / static_cast<double>(runs);
}

MeasuredKernel DeviceBench::measure(const KernelSet& set, const KernelSet::Kernel& kernel) {
  run(set, kernel, 1);  // compiles it
  const double alone = run(set, kernel, 1);
  // At least one on each queue, since they share the device then.
  const std::size_t wanted = std::max<std::size_t>(
      config_.run_queues, static_cast<std::size_t>(std::min(kKernelSeconds / alone, 1024.0)));
  const std::size_t runs = std::min(most_runs(kernel), wanted);
  std::vector<double> seconds;
  for (double spent = 0; spent < kKernelSeconds && seconds.size() < kMostRounds;) {
    seconds.push_back(run(set, kernel, runs));
    spent += seconds.back() * static_cast<double>(runs);
  }
  return rate_of(set, kernel, std::move(seconds));
}

std::vector<MeasuredKernel> DeviceBench::measure(std::span<const KernelSet> sets) {
  std::vector<MeasuredKernel> measured;
  for (const KernelSet& set : sets) {
    for (const KernelSet::Kernel& kernel : set.kernels) {
      if (can_run(kernel)) measured.push_back(measure(set, kernel));
    }
  }
  return measured;
}

BusyDevice::BusyDevice(DeviceBench& bench, std::span<const KernelSet> sets) {
  const KernelSet* of = nullptr;
  const KernelSet::Kernel* last = nullptr;
  for (const KernelSet& set : sets) {
    for (const KernelSet::Kernel& kernel : set.kernels) {
      if (!bench.can_run(kernel)) continue;
      of = &set;
      last = &kernel;
    }
  }
  if (last == nullptr) return;
  const base::NoSignals none;
  ended_ = std::async(std::launch::async, [this, &bench, of, last] {
    while (!stopping_.load(std::memory_order_relaxed)) bench.run(*of, *last, 2);
  });
}

BusyDevice::~BusyDevice() {
  stopping_.store(true, std::memory_order_relaxed);  // the end of the thread orders all else
}

void BusyDevice::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  if (ended_.valid()) ended_.get();
}

}  // namespace vicinal::calibration
