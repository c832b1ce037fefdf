// A device with queues of known speed, in virtual time: its clock moves when something is put on a queue, and when
// somebody waits for what is there. Nothing is copied.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "drivers/queued/queued_device.hpp"
#include "vicinal/error.hpp"
#include "vicinal/units.hpp"

namespace vicinal::testing {

struct DeviceModel {
  BytesPerSecond in{1e9};
  BytesPerSecond out{2e9};
  bool one_way = false;     // copies of both directions wait for one another
  double pinned = 0;        // so many times faster; 0: nothing is pinned
  Time put{500};            // of the thread that puts something on a queue
  Time delivery{3000};      // from the end of a copy or run until that is told
  Time run{1000};           // of a run with nothing in it
  std::uint64_t fails = 0;  // the copy of this number, from 1; 0: none
};

class ModelDevice final : public drivers::QueuedDevice {
 public:
  // Its memory and the host's are [memory, memory + bytes) for it: checked, and not touched.
  ModelDevice(const DeviceModel& model, std::byte* memory, Bytes bytes)
      : model_(model), memory_(memory), bytes_(bytes) {}

  Time now() const { return told_.value_or(now_); }
  std::uint64_t copies() const { return copies_; }
  std::uint64_t outside() const { return outside_; }  // copies beyond its memory
  int pinned() const { return pinned_; }
  std::size_t unended() const { return ends_.size(); }

  std::string name() const override { return "model"; }
  std::byte* allocate(Bytes bytes) override {
    if (bytes > bytes_) throw CapacityError("the model has no such memory");
    return memory_;
  }
  bool pins() const override { return model_.pinned > 0; }
  void pin(std::byte* /*address*/, Bytes /*bytes*/) override { ++pinned_; }
  void unpin(std::byte* /*address*/) noexcept override { --pinned_; }
  void copy_in(Queue queue, drivers::Flight& /*flight*/, std::byte* to, const std::byte* /*from*/,
               const Layout& layout) override {
    copy(queue, to, layout.bytes(), model_.in);
  }
  void copy_out(Queue queue, drivers::Flight& /*flight*/, std::byte* /*to*/, const Layout& layout,
                const std::byte* from) override {
    copy(queue, from, layout.bytes(), model_.out);
  }
  void begin_run(Queue queue, drivers::Flight& /*flight*/) override { take(queue, model_.run); }
  void notify(Queue queue, drivers::Flight& flight) override {
    const Time end = free_[lane(queue)] + model_.delivery;
    ends_[&flight] = end;
    told_ = end;
    flight.ended(model_.fails != 0 && copies_ == model_.fails ? 7 : 0);
    told_.reset();
  }
  std::optional<Time> finish(drivers::Flight& flight) override {
    now_ = std::max(now_, ends_.at(&flight));
    ends_.erase(&flight);
    return std::nullopt;
  }
  void* native(Queue /*queue*/) override { return this; }
  void call(Queue /*queue*/, drivers::Flight& /*flight*/) override {}
  std::string failure_text(int failure) const override {
    return "failure " + std::to_string(failure);
  }
  void drain() noexcept override {}

  // A kernel puts so much on the queue of its run.
  void take(Queue queue, Time time) {
    now_ += model_.put;
    Time& free = free_[lane(queue)];
    free = std::max(free, now_) + time;
  }

 private:
  std::size_t lane(Queue queue) const { return model_.one_way && queue == kOut ? kIn : queue; }
  void copy(Queue queue, const std::byte* at, Bytes bytes, BytesPerSecond rate) {
    ++copies_;
    if (at < memory_ || at + bytes.value > memory_ + bytes_.value) ++outside_;
    if (pinned_ > 0) rate.value *= model_.pinned;
    take(queue, duration(bytes, rate));
  }

  const DeviceModel model_;
  std::byte* const memory_;
  const Bytes bytes_;
  Time now_;
  std::optional<Time> told_;    // while the end of a flight is told
  std::array<Time, 8> free_{};  // by queue: when what is on it is done
  std::map<drivers::Flight*, Time> ends_;
  std::uint64_t copies_ = 0;
  std::uint64_t outside_ = 0;
  int pinned_ = 0;
};

}  // namespace vicinal::testing
