// A machine that one does not have: all of its nodes and workers, in simulated time. Tasks take the
// time their codelet expects, copies that of their link alone. The smallest complete driver: the
// template for a new one (docs/write-a-driver.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/driver.hpp"
#include "sim/event_queue.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::drivers {

class SimulatedDriver final : public engine::Driver {
 public:
  explicit SimulatedDriver(const MachineDescription& machine);

  Time now() const { return now_.load(std::memory_order_relaxed); }  // any thread
  // Lets idle workers look for work, or else advances to the next event. False: nothing is left to
  // do. The caller's thread is the only one there is.
  bool step();

  void start(engine::Completions& completions) override;
  std::byte* reserve(NodeId node, Bytes bytes) override;
  std::byte* allocate(NodeId node, Bytes bytes) override;
  void release(NodeId node, std::byte* address, Bytes bytes) override;
  void relocate(NodeId, std::byte*, const std::byte*, Bytes) override {}
  void start_copy(const memory::Copy& copy) override;
  void start_task(graph::Task& task, WorkerId worker) override;
  void wake(WorkerId worker) override;
  void stop() override {}

 private:
  struct Event {
    graph::Task* task = nullptr;  // else a copy
    WorkerId worker;
    std::uint64_t copy_id = 0;
  };
  Time copy_time(const memory::Copy& copy) const;

  const MachineDescription machine_;
  engine::Completions* completions_ = nullptr;
  std::atomic<Time> now_{};
  sim::EventQueue<Event> events_;
  std::vector<bool> woken_;  // by worker: is to look for work
  std::vector<bool> busy_;
};

}  // namespace vicinal::drivers
