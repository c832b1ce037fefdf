#include "drivers/emulated/emulated_driver.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "drivers/run_kernel.hpp"
#include "vicinal/error.hpp"

namespace vicinal::drivers {

EmulatedDriver::EmulatedDriver(const EmulatedConfig& config)
    : DeviceDriver(fmt::format("accelerator node {}", config.node.value)),
      config_(config),
      in_(config.bandwidth, fmt::format("copy in {}", config.node.value)),
      out_(config.bandwidth, fmt::format("copy out {}", config.node.value)),
      thread_(config.worker) {}

EmulatedDriver::~EmulatedDriver() {
  stop();
}

void EmulatedDriver::start(engine::Completions& completions) {
  completions_ = &completions;
  in_.start(completions);
  out_.start(completions);
  thread_.start(completions);
}

std::byte* EmulatedDriver::reserve(NodeId /*node*/, Bytes bytes) {
  arena_ = MappedMemory(bytes, "the memory of an emulated accelerator (option accelerator_memory)");
  return arena_.address();
}

std::byte* EmulatedDriver::allocate(NodeId node, Bytes bytes) {
  throw CapacityError(fmt::format(
      "{} asked on node {}, an emulated accelerator, outside its memory: give it a limit",
      base::format_bytes(bytes), node.value));
}

void EmulatedDriver::start_copy(const memory::Copy& copy) {
  if (copy.to.node == config_.node) {
    in_.submit(copy);
  } else if (copy.from.node == config_.node && copy.to.node == kRam) {
    out_.submit(copy);
  } else {
    refuse(copy);
  }
}

void EmulatedDriver::start_task(graph::Task& task, WorkerId worker) {
  completions_->task_done(task, worker,
                          run_kernel(task, {.worker = worker,
                                            .node = config_.node,
                                            .kind = ProcessorKind::emulated,
                                            .check_reads = config_.check_reads}),
                          std::nullopt);
}

void EmulatedDriver::wake(WorkerId /*worker*/) {
  thread_.wake();
}

void EmulatedDriver::leave() {
  thread_.leave();
}

void EmulatedDriver::stop() {
  thread_.stop();
  in_.stop();
  out_.stop();
}

}  // namespace vicinal::drivers
