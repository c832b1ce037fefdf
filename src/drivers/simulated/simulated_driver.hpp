// A machine that one does not have: all of its nodes and workers, in simulated time. Tasks take the
// time their codelet expects, copies share the links (simulated_links.hpp).
//
// Of an accelerator a thread of the host is simulated too: it spends some microseconds before each
// kernel and each copy, one after the other, while the kernels it has launched run in their order.
//
// The template for a new driver (docs/write-a-driver.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/sure_memory.hpp"
#include "drivers/simulated/simulated_links.hpp"
#include "engine/driver.hpp"
#include "sim/event_queue.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::drivers {

class SimulatedDriver final : public engine::Driver {
 public:
  explicit SimulatedDriver(const MachineDescription& machine);
  // 36 years. What a run's tasks take altogether, and the end of each copy, is kept below it; so sums of some
  // times are in range.
  static constexpr Time kEndOfTime{std::int64_t{1} << 60};

  Time now() const { return now_.load(std::memory_order_relaxed); }  // any thread
  // Lets idle workers look for work, or else advances to the next event. False: nothing is left to
  // do. The caller's thread is the only one there is.
  bool step();
  // A task has been started that has not ended.
  bool any_running() const { return running_ > 0; }
  // The application does something else for so long: all that happens meanwhile.
  void pass(Time duration);

  void start(engine::Completions& completions) override;
  std::byte* reserve(NodeId node, Bytes bytes) override;
  std::byte* allocate(NodeId node, Bytes bytes) override;
  void release(NodeId node, std::byte* address, Bytes bytes) override;
  void relocate(NodeId, std::byte*, const std::byte*, Bytes) override {}
  void start_copy(const memory::Copy& copy) override;
  void start_task(graph::Task& task, WorkerId worker) override;
  void wake(WorkerId worker) override;
  std::optional<Time> busy(WorkerId worker) const override;
  void stop() override {}

 private:
  struct Kernel {
    Time start;
    Time time;
    Time lost_before;  // lost_to_copies_ when it was launched or last made longer
  };
  struct Worker {
    bool woken = true;                 // is to look for work
    bool will_look = false;            // there is an event for it
    base::SureVector<Kernel> kernels;  // launched and not ended, in their order
    Time thread_free;                  // the thread that drives it
    Time processor_free;
    // Both are read by whoever asks for statistics.
    std::atomic<std::int64_t> ended_ns{0};          // time of the kernels that have ended
    std::atomic<std::int64_t> start_ns{kNoKernel};  // of the first of those that have not
  };
  static constexpr std::int64_t kNoKernel = INT64_MAX;
  struct Event {
    enum class Kind : std::uint8_t { task_end, copy_start, look } kind;
    WorkerId worker;
    graph::Task* task = nullptr;
    SimulatedLinks::Copy copy = {};
  };

  bool look_for_work();
  // Up to the next event, if that is not after `until`.
  bool next_event(Time until);
  void handle(const Event& event);
  // By what copies that have ended meanwhile took from it. False: by nothing.
  bool prolong_kernel(const Event& end);
  void end_kernel(WorkerId worker);
  void end_copy(const SimulatedLinks::Copy& copy);
  void set_woken(WorkerId worker, bool woken);
  void note_whether_it_looks(WorkerId worker);
  Time task_time(const graph::Task& task, WorkerId worker) const;
  // Throws DeviceError that names data and link.
  void require_ends_in_time(const memory::Copy& copy, std::uint32_t link, Time start) const;
  std::optional<WorkerId> driven_by(const memory::Copy& copy) const;

  const MachineDescription machine_;
  engine::Completions* completions_ = nullptr;
  std::atomic<Time> now_{};
  sim::EventQueue<Event> events_;
  SimulatedLinks links_{machine_};
  std::vector<Worker> workers_;
  std::vector<std::uint64_t> look_;  // bit per worker: it is woken and may launch a kernel
  std::uint64_t running_ = 0;        // kernels launched and not ended
  std::vector<std::optional<WorkerId>> first_worker_;  // by node: of an accelerator
  std::uint32_t cpu_workers_ = 0;
  Time cpu_copy_overhead_;  // of all CPU workers together, per copy to the disk or from it
  Time lost_to_copies_;     // by each CPU worker that has been in a kernel all the time
};

}  // namespace vicinal::drivers
