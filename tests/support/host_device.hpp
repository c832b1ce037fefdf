// A device with queues that is this process: a thread per queue does what is on it, and queues overtake each other.
// Copies and runs fail now and then, if that is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/random.hpp"
#include "drivers/queued/queued_device.hpp"
#include "engine/strided_copy.hpp"
#include "support/host_queue.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/error.hpp"

namespace vicinal::testing {

struct HostDeviceFaults {
  std::uint64_t seed = 1;
  std::uint64_t one_in = 0;      // copies and runs end in an error, or cannot be begun; 0: none
  std::uint64_t lost_after = 0;  // so many; then each fails; 0: never
};

// Says when a call fails. One thread.
class RandomFaults {
 public:
  explicit RandomFaults(HostDeviceFaults faults) : faults_(faults), random_(faults.seed) {}
  bool fails() {
    if (faults_.lost_after != 0 && ++calls_ > faults_.lost_after) return true;
    return faults_.one_in != 0 && random_.below(faults_.one_in) == 0;
  }
  void fail_at_once() {
    if (fails()) throw DeviceError("cannot be begun");
  }

 private:
  const HostDeviceFaults faults_;
  base::Random random_;
  std::uint64_t calls_ = 0;
};

// What a kernel for it is given: its function puts work there.
inline HostQueue& host_queue(const KernelContext& k) {
  return *static_cast<HostQueue*>(k.native());
}

class HostDevice final : public drivers::QueuedDevice {
 public:
  HostDevice(std::string name, std::uint32_t run_queues, HostDeviceFaults faults = {})
      : name_(std::move(name)), faults_(faults) {
    for (std::uint32_t i = 0; i < kFirstRun + run_queues; ++i) queues_.emplace_back();
  }

  std::string name() const override { return name_; }
  std::byte* allocate(Bytes bytes) override {
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, bytes.value)));
    if (memory_ == nullptr) throw CapacityError("no memory for " + name_);
    return memory_.get();
  }
  void copy_in(Queue queue, drivers::Flight& /*flight*/, std::byte* to, const std::byte* from,
               const Layout& layout) override {
    faults_.fail_at_once();
    queues_[queue].put([=] { engine::strided_copy(to, layout.packed(), from, layout); });
  }
  void copy_out(Queue queue, drivers::Flight& /*flight*/, std::byte* to, const Layout& layout,
                const std::byte* from) override {
    faults_.fail_at_once();
    queues_[queue].put([=] { engine::strided_copy(to, layout, from, layout.packed()); });
  }
  void begin_run(Queue /*queue*/, drivers::Flight& /*flight*/) override { faults_.fail_at_once(); }
  void notify(Queue queue, drivers::Flight& flight) override {
    const int failure = faults_.fails() ? 7 : 0;
    queues_[queue].put([&flight, failure] { flight.ended(failure); });
  }
  std::optional<Time> finish(drivers::Flight& /*flight*/) override { return Time{1000}; }
  void* native(Queue queue) override { return &queues_[queue]; }
  void call(Queue queue, drivers::Flight& flight) override {
    queues_[queue].put([&flight] { flight.run_here(0); });
  }
  std::string failure_text(int failure) const override {
    return "failure " + std::to_string(failure);
  }
  void drain() noexcept override {
    for (HostQueue& queue : queues_) queue.drain();
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  const std::string name_;
  RandomFaults faults_;  // the device's thread alone
  std::unique_ptr<std::byte, Free> memory_;
  std::deque<HostQueue> queues_;
};

}  // namespace vicinal::testing
