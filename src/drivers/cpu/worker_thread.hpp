// The thread of one worker: asks for work while there is some, sleeps in the kernel otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "drivers/cpu/wake_gate.hpp"
#include "engine/driver.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::drivers {

class WorkerThread {
 public:
  // `processors`: the operating system's numbers of those to stay on (see binding.hpp); empty: anywhere.
  explicit WorkerThread(WorkerId worker, std::vector<std::uint32_t> processors = {})
      : worker_(worker), processors_(std::move(processors)) {}
  ~WorkerThread() { stop(); }
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  WorkerId worker() const { return worker_; }
  void start(engine::Completions& completions);
  // advance() is called after it, unless the thread is stopped. Any thread, any locks.
  void wake() { gate_.wake(); }
  // It takes no further task, and nobody joins it: the process ends.
  void leave();
  // Returns when the thread has ended: after the current advance(), without a further one.
  void stop();

 private:
  void run(engine::Completions& completions);

  const WorkerId worker_;
  const std::vector<std::uint32_t> processors_;
  WakeGate gate_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace vicinal::drivers
