#include "drivers/cpu/worker_thread.hpp"

#include <string>

#include "base/start_thread.hpp"
#include "drivers/cpu/binding.hpp"

namespace vicinal::drivers {

void WorkerThread::start(engine::Completions& completions) {
  thread_ = base::start_thread("of worker " + std::to_string(worker_.value),
                               [this, &completions] { run(completions); });
}

// Relaxed: the wake behind it releases it.
void WorkerThread::leave() {
  stopping_.store(true, std::memory_order_relaxed);
  gate_.wake();
}

void WorkerThread::stop() {
  if (!thread_.joinable()) return;
  leave();
  thread_.join();
}

void WorkerThread::run(engine::Completions& completions) {
  name_this_thread("worker " + std::to_string(worker_.value));
  if (bind_this_thread(processors_)) set_openmp_threads(processors_.size());
  for (;;) {
    const std::uint32_t epoch = gate_.epoch();
    // Relaxed: a stop that is not seen here has not yet woken the gate, so wait returns at once.
    do {
      if (stopping_.load(std::memory_order_relaxed)) return;
    } while (completions.advance(worker_));
    gate_.wait(epoch);
  }
}

}  // namespace vicinal::drivers
