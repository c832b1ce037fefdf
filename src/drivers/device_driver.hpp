// A device has some of: memory with addresses, links, workers. By default it has none of them, and a driver
// overrides what is asked of those that its device has.
#pragma once

#include <string>
#include <utility>

#include "engine/driver.hpp"

namespace vicinal::drivers {

class DeviceDriver : public engine::Driver {
 public:
  // Replicas without addresses.
  std::byte* reserve(NodeId /*node*/, Bytes /*bytes*/) override { return nullptr; }
  std::byte* allocate(NodeId /*node*/, Bytes /*bytes*/) override { return nullptr; }
  void release(NodeId /*node*/, std::byte* /*address*/, Bytes /*bytes*/) override {}
  // All three throw logic_error.
  void start_copy(const memory::Copy& copy) override;
  void start_task(graph::Task& task, WorkerId worker) override;
  void wake(WorkerId worker) override;

 protected:
  // The name is for messages: "the disk".
  explicit DeviceDriver(std::string name) : name_(std::move(name)) {}
  // Throws logic_error: not a copy between what the device has. `why` may say more.
  [[noreturn]] void refuse(const memory::Copy& copy, const char* why = "") const;

 private:
  const std::string name_;
};

}  // namespace vicinal::drivers
