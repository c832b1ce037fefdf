// One accelerator with queues: a thread of this process puts copies and kernels on its queues, several at a time,
// and sleeps until one has ended or there is more to do. The device says that something has ended from a thread of
// its API, which only notes it and wakes that one; or the thread asks the device, less and less often the longer
// nothing ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/sure_memory.hpp"
#include "drivers/cpu/wake_gate.hpp"
#include "drivers/device_driver.hpp"
#include "drivers/queued/pinned_ranges.hpp"
#include "drivers/queued/queued_device.hpp"
#include "drivers/queued/staged_copies.hpp"
#include "memory/copy.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::drivers {

struct QueuedConfig {
  NodeId node;
  WorkerId worker;
  ProcessorKind kind = ProcessorKind::opencl;
  std::uint32_t run_queues = 1;
  std::uint32_t most_runs = 1;  // tasks in flight at once, on all its queues
  bool pin = true;              // RAM, where the device wants it
  struct Peer {
    NodeId node;
    const QueuedDevice* device;
  };
  std::vector<Peer> peers = {};  // from which copies come without RAM
};

class QueuedDriver final : public DeviceDriver {
 public:
  QueuedDriver(const QueuedConfig& config, std::unique_ptr<QueuedDevice> device);
  ~QueuedDriver() override;

  void start(engine::Completions& completions) override;
  std::byte* reserve(NodeId node, Bytes bytes) override;
  // The memory of a device always has a limit: throws CapacityError.
  std::byte* allocate(NodeId node, Bytes bytes) override;
  void pin(std::byte* address, Bytes bytes) override;
  void unpin(std::byte* address) noexcept override;
  bool offer(std::byte* address, Bytes bytes) noexcept override;
  bool takes_addresses() const override { return device_->takes_addresses(); }
  // Between RAM and this node, or from a peer to it. The thread puts it on a queue.
  void start_copy(const memory::Copy& copy) override;
  // Inside advance(), on that thread.
  void start_task(graph::Task& task, WorkerId worker) override;
  void wake(WorkerId worker) override;
  bool runs_any() const override { return runs_.load(std::memory_order_acquire) != 0; }
  std::optional<Time> busy(WorkerId worker) const override;
  void stop() override;

 private:
  struct Operation;
  void run();
  bool take_copies();
  void put_copy(const memory::Copy& copy);
  bool staged(const memory::Copy& copy) const;
  bool pin_offered(const memory::Copy& copy);
  void put_at_once(const memory::Copy& copy, Operation& operation);
  const QueuedDevice* peer_of(NodeId node) const;
  void sleep(std::uint32_t epoch);
  bool end_some();
  void end(Operation& operation);
  void note_ended(Operation& operation) noexcept;
  Operation& new_operation();
  std::exception_ptr outcome_of(Operation& operation) const;
  static std::string text_of(const std::exception_ptr& error);
  std::exception_ptr named(std::exception_ptr error) const;
  std::exception_ptr failed(const Operation& operation) const;
  // `cause`: null, or what it nests.
  std::exception_ptr copy_failed(const memory::Copy& copy, const std::string& why,
                                 const std::exception_ptr& cause = nullptr) const;

  const QueuedConfig config_;
  const std::unique_ptr<QueuedDevice> device_;
  PinnedRanges pinned_;
  PinnedRanges offered_;  // to be pinned by the first copy
  StagedCopies staged_in_;
  StagedCopies staged_out_;
  engine::Completions* completions_ = nullptr;

  WakeGate gate_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;                        // guards the copies
  base::SureDeque<memory::Copy> waiting_;   // not on a queue yet
  std::atomic<bool> any_waits_{false};      // may be; false: none
  std::atomic<Operation*> ended_{nullptr};  // the last first, each with the one before it
  std::atomic<std::uint32_t> runs_{0};      // tasks in flight

  // --- the thread's own
  base::SureDeque<Operation> operations_;
  base::SureVector<Operation*> free_;
  std::uint32_t in_flight_ = 0;          // copies and tasks in flight
  std::vector<std::uint32_t> on_queue_;  // tasks in flight, by queue of runs
  Time busy_since_;
  std::atomic<Time> busy_{};
  std::thread thread_;
};

}  // namespace vicinal::drivers
