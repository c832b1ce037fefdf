// RAM and the workers that compute on it: one thread per worker, but for the last one if the waiting
// application thread is to work.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "drivers/cpu/wake_gate.hpp"
#include "drivers/cpu/worker_thread.hpp"
#include "drivers/device_driver.hpp"
#include "drivers/mapped_memory.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::drivers {

struct CpuConfig {
  WorkerId first_worker = {};  // its workers are first_worker .. first_worker + workers - 1
  std::uint32_t workers = 1;
  bool submitter_works = false;  // the last of them has no thread: whoever waits drives it
  // From allowed_processors(): worker i stays on the i-th group of `worker_processors` of them. Empty, or too few for
  // the workers: none is bound. The submitter's thread is the application's and is never bound.
  std::vector<std::uint32_t> processors = {};
  std::uint32_t worker_processors = 1;
  // Replicas begin at a page and own all of their last one, as disks like it.
  bool whole_pages = true;
  bool check_reads = false;
};

class CpuDriver final : public DeviceDriver {
 public:
  explicit CpuDriver(CpuConfig config);
  ~CpuDriver() override;

  void start(engine::Completions& completions) override;
  std::byte* reserve(NodeId node, Bytes bytes) override;
  std::byte* allocate(NodeId node, Bytes bytes) override;
  void release(NodeId node, std::byte* address, Bytes bytes) override;
  void start_task(graph::Task& task, WorkerId worker) override;
  void wake(WorkerId worker) override;
  void leave() override;
  void stop() override;

  // For whoever drives the worker that has no thread, one thread at a time:
  //   for (;;) {
  //     const auto epoch = driver.wake_epoch();
  //     while (completions.advance(worker)) {}
  //     if (what it waits for has happened) break;
  //     driver.wait_for_wake(epoch);
  //   }
  // A wake of that worker after wake_epoch() ends the wait at once, so what ends the loop must be
  // followed by a wake, too. False: the time is over.
  std::uint32_t wake_epoch() const { return submitter_gate_.epoch(); }
  bool wait_for_wake(std::uint32_t epoch, std::optional<Time> timeout = std::nullopt) {
    return submitter_gate_.wait(epoch, timeout);
  }

 private:
  const CpuConfig config_;
  engine::Completions* completions_ = nullptr;
  std::vector<std::unique_ptr<WorkerThread>> threads_;
  WakeGate submitter_gate_;
  MappedMemory arena_;
};

}  // namespace vicinal::drivers
