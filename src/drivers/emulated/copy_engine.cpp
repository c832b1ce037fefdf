#include "drivers/emulated/copy_engine.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/start_thread.hpp"
#include "drivers/clock.hpp"
#include "drivers/cpu/binding.hpp"
#include "engine/strided_copy.hpp"

namespace vicinal::drivers {

namespace {

void sleep_until(Time when) {
  const timespec at = to_timespec(when);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

}  // namespace

void CopyEngine::start(engine::Completions& completions) {
  thread_ =
      base::start_thread("that copies (" + name_ + ")", [this, &completions] { run(completions); });
}

void CopyEngine::submit(const memory::Copy& copy) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({copy, monotonic_now()});
  }
  changed_.notify_one();
}

void CopyEngine::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void CopyEngine::run(engine::Completions& completions) {
  name_this_thread(name_);
  // When the emulated link is free again. The next copy starts then, or when it was submitted, not
  // when this thread has woken from its sleep: else each copy would also take the time of a wake-up.
  Time free_at = monotonic_now();
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Waiting next = waiting_.front();
    waiting_.pop_front();
    lock.unlock();

    const memory::Copy& copy = next.copy;
    engine::strided_copy(copy.to.address, copy.to.layout, copy.from.address, copy.from.layout);
    if (bandwidth_.value > 0) {
      free_at = std::max(free_at, next.since) + duration(copy.bytes(), bandwidth_);
      sleep_until(free_at);
    }
    completions.copy_done(copy.id, nullptr);
  }
}

}  // namespace vicinal::drivers
