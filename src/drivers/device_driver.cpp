#include "drivers/device_driver.hpp"

#include <stdexcept>

#include <fmt/format.h>

namespace vicinal::drivers {

void DeviceDriver::start_copy(const memory::Copy& copy) {
  refuse(copy);
}

void DeviceDriver::start_task(graph::Task& task, WorkerId worker) {
  throw std::logic_error(fmt::format("task {} was given to worker {} of {}, which has none",
                                     task.name(), worker.value, name_));
}

void DeviceDriver::wake(WorkerId worker) {
  throw std::logic_error(
      fmt::format("worker {} of {} was to be woken; it has none", worker.value, name_));
}

void DeviceDriver::refuse(const memory::Copy& copy, const char* why) const {
  throw std::logic_error(fmt::format("{} was given copy {} from node {} to node {}{}", name_,
                                     to_string(copy.id), copy.from.node.value, copy.to.node.value,
                                     why));
}

}  // namespace vicinal::drivers
