#include "drivers/cpu/cpu_driver.hpp"

#include <cstdlib>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "drivers/run_kernel.hpp"
#include "vicinal/error.hpp"

namespace vicinal::drivers {

namespace {

// Below, the allocator's lists are faster than the kernel; above, what is freed goes back to it.
constexpr std::uint64_t kMapFrom = (64 << 10) + 1;
constexpr std::size_t kLineBytes = 64;

std::vector<std::uint32_t> processors_of(const CpuConfig& config, std::uint32_t worker) {
  const std::size_t each = config.worker_processors;
  if (config.processors.size() < config.workers * each) return {};
  const auto own = std::span(config.processors).subspan(worker * each, each);
  return {own.begin(), own.end()};
}

}  // namespace

CpuDriver::CpuDriver(CpuConfig config)
    : DeviceDriver("the CPU driver"), config_(std::move(config)) {
  const std::uint32_t threads = config_.workers - (config_.submitter_works ? 1 : 0);
  for (std::uint32_t i = 0; i < threads; ++i) {
    threads_.push_back(std::make_unique<WorkerThread>(WorkerId{config_.first_worker.value + i},
                                                      processors_of(config_, i)));
  }
}

CpuDriver::~CpuDriver() {
  stop();
}

void CpuDriver::start(engine::Completions& completions) {
  completions_ = &completions;
  for (auto& thread : threads_) thread->start(completions);
}

std::byte* CpuDriver::reserve(NodeId /*node*/, Bytes bytes) {
  arena_ = MappedMemory(bytes, "the memory limit in RAM (option memory)");
  return arena_.address();
}

std::byte* CpuDriver::allocate(NodeId /*node*/, Bytes bytes) {
  if (bytes.value == 0) return nullptr;
  const std::size_t unit = config_.whole_pages ? kPageBytes : kLineBytes;
  std::byte* const address =
      bytes.value >= kMapFrom
          ? map_memory(bytes)
          : static_cast<std::byte*>(std::aligned_alloc(unit, round_up(bytes.value, unit)));
  if (address == nullptr) {
    throw CapacityError(fmt::format(
        "no {} of RAM left for a replica: set the option memory to less than the RAM and "
        "the option disk to a folder for what does not fit",
        base::format_bytes(bytes)));
  }
  return address;
}

void CpuDriver::release(NodeId /*node*/, std::byte* address, Bytes bytes) {
  if (address == nullptr) return;
  if (bytes.value >= kMapFrom) {
    unmap_memory(address, bytes);
  } else {
    std::free(address);
  }
}

// Flat: of an empty task's call a third is what a call of run_kernel would take.
[[gnu::flatten]] void CpuDriver::start_task(graph::Task& task, WorkerId worker) {
  completions_->task_done(
      task, worker,
      run_kernel(task, {.worker = worker, .node = kRam, .check_reads = config_.check_reads}),
      std::nullopt);
}

void CpuDriver::wake(WorkerId worker) {
  const std::uint32_t index = worker.value - config_.first_worker.value;
  if (index < threads_.size()) {
    threads_[index]->wake();
  } else {
    submitter_gate_.wake();
  }
}

void CpuDriver::leave() {
  for (auto& thread : threads_) thread->leave();
}

void CpuDriver::stop() {
  for (auto& thread : threads_) thread->stop();
}

}  // namespace vicinal::drivers
