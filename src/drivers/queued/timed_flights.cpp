#include "drivers/queued/timed_flights.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "vicinal/error.hpp"

namespace vicinal::drivers {

TimedFlights::TimedFlights(QueuedDevice& device, Clock clock)
    : device_(device), clock_(std::move(clock)) {}

TimedFlights::~TimedFlights() {
  await_all();
}

TimedFlights::One& TimedFlights::begin() {
  One& flight = flights_.emplace_back();
  flight.all = this;
  return flight;
}

// A flight that the device does not tell of is not awaited; what it has put on its queue is.
void TimedFlights::notify(QueuedDevice::Queue queue, One& flight) {
  try {
    device_.notify(queue, flight);
  } catch (...) {
    device_.drain();
    throw;
  }
  ++put_;
}

void TimedFlights::copy_in(std::byte* to, const std::byte* from, const Layout& layout) {
  One& flight = begin();
  device_.copy_in(QueuedDevice::kIn, flight, to, from, layout);
  notify(QueuedDevice::kIn, flight);
}

void TimedFlights::copy_out(std::byte* to, const std::byte* from, const Layout& layout) {
  One& flight = begin();
  device_.copy_out(QueuedDevice::kOut, flight, to, layout, from);
  notify(QueuedDevice::kOut, flight);
}

void TimedFlights::run(QueuedDevice::Queue queue, base::FunctionRef<void(Check&)> work) {
  One& flight = begin();
  device_.begin_run(queue, flight);
  try {
    work(flight.check);
  } catch (...) {
    device_.drain();
    throw;
  }
  notify(queue, flight);
}

void TimedFlights::note(int failure) noexcept {
  const Time now = clock_();
  const std::lock_guard lock(mutex_);
  last_ = std::max(last_, now);
  if (failure_ == 0) failure_ = failure;
  ++ended_;
  changed_.notify_one();  // with the lock: the waiting thread may destroy this when it has it
}

void TimedFlights::await_all() {
  while (device_.ask() != 0) std::this_thread::yield();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ == put_; });
    ended_ = 0;
  }
  put_ = 0;
  for (One& flight : flights_) device_.finish(flight);
}

Time TimedFlights::wait() {
  await_all();
  const std::deque<One> ended = std::exchange(flights_, {});
  const Time last = std::exchange(last_, Time{0});
  const int failure = std::exchange(failure_, 0);
  if (failure != 0) throw DeviceError(device_.name() + ": " + device_.failure_text(failure));
  for (const One& flight : ended) {
    if (flight.check) flight.check();
  }
  return last;
}

}  // namespace vicinal::drivers
