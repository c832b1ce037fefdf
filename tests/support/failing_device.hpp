// A device with queues of a real API whose calls fail now and then.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "drivers/queued/queued_device.hpp"
#include "support/host_device.hpp"
#include "vicinal/error.hpp"

namespace vicinal::testing {

class FailingDevice final : public drivers::QueuedDevice {
 public:
  FailingDevice(std::string name, std::unique_ptr<drivers::QueuedDevice> device,
                HostDeviceFaults faults)
      : name_(std::move(name)), device_(std::move(device)), faults_(faults) {}

  std::string name() const override { return name_; }
  std::byte* allocate(Bytes bytes) override { return device_->allocate(bytes); }
  void copy_in(Queue queue, drivers::Flight& flight, std::byte* to, const std::byte* from,
               const Layout& layout) override {
    faults_.fail_at_once();
    device_->copy_in(queue, flight, to, from, layout);
  }
  void copy_out(Queue queue, drivers::Flight& flight, std::byte* to, const Layout& layout,
                const std::byte* from) override {
    faults_.fail_at_once();
    device_->copy_out(queue, flight, to, layout, from);
  }
  void begin_run(Queue queue, drivers::Flight& flight) override {
    faults_.fail_at_once();
    device_->begin_run(queue, flight);
  }
  void call(Queue queue, drivers::Flight& flight) override {
    faults_.fail_at_once();
    device_->call(queue, flight);
  }
  // What is on the queue is done all the same.
  void notify(Queue queue, drivers::Flight& flight) override {
    faults_.fail_at_once();
    device_->notify(queue, flight);
  }
  std::optional<Time> finish(drivers::Flight& flight) override { return device_->finish(flight); }
  void* native(Queue queue) override { return device_->native(queue); }
  std::string failure_text(int failure) const override { return device_->failure_text(failure); }
  void drain() noexcept override { device_->drain(); }

 private:
  const std::string name_;
  const std::unique_ptr<drivers::QueuedDevice> device_;
  RandomFaults faults_;
};

}  // namespace vicinal::testing
