// Keeps the threads of a library inside tasks, so that nothing submitted meanwhile runs.
#pragma once

#include <atomic>
#include <cstdint>

namespace overhead {

class Gate {
 public:
  void close() {
    held_.store(0);
    open_.store(false);
  }
  // What each of the tasks does.
  void pass() {
    held_.fetch_add(1);
    held_.notify_all();
    open_.wait(false);
  }
  void wait_for_held(std::uint32_t threads) const {
    for (std::uint32_t now = held_.load(); now < threads; now = held_.load()) held_.wait(now);
  }
  void open() {
    open_.store(true);
    open_.notify_all();
  }

 private:
  std::atomic<std::uint32_t> held_{0};
  std::atomic<bool> open_{false};
};

}  // namespace overhead
