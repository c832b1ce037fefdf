// Copies and runs that are put on the queues of a device without a runtime, and when they ended: for measurements.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "base/function_ref.hpp"
#include "drivers/queued/queued_device.hpp"
#include "vicinal/units.hpp"

namespace vicinal::drivers {

// One thread puts them there and waits; the device's threads say that they have ended.
class TimedFlights {
 public:
  using Clock = std::function<Time()>;
  // The clock is read by all threads of the device.
  TimedFlights(QueuedDevice& device, Clock clock);
  // Waits.
  ~TimedFlights();
  TimedFlights(const TimedFlights&) = delete;
  TimedFlights& operator=(const TimedFlights&) = delete;

  Time now() const { return clock_(); }
  // Throw what the device throws.
  void copy_in(std::byte* to, const std::byte* from, const Layout& layout);
  void copy_out(std::byte* to, const std::byte* from, const Layout& layout);
  // One run: what `work` puts on the queue.
  void run(QueuedDevice::Queue queue, base::FunctionRef<void()> work);

  // When all that was put there has ended: the time of the last end. Throws DeviceError if one has failed.
  Time wait();

 private:
  struct One final : Flight {
    void ended(int failure) noexcept override { all->note(failure); }
    TimedFlights* all = nullptr;
  };
  One& begin();
  void notify(QueuedDevice::Queue queue, One& flight);
  void note(int failure) noexcept;
  void await_all();

  QueuedDevice& device_;
  const Clock clock_;
  std::deque<One> flights_;
  std::size_t put_ = 0;  // that the device tells of
  std::mutex mutex_;     // guards what follows
  std::condition_variable changed_;
  std::size_t ended_ = 0;
  Time last_;
  int failure_ = 0;  // the first
};

}  // namespace vicinal::drivers
