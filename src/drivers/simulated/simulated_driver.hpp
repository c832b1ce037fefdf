// A machine that one does not have: all of its nodes and workers, in a simulated world, whose time may be that of
// other machines, too. Tasks take the time their codelet expects, copies share the links (simulated_links.hpp).
//
// Of an accelerator a thread of the host is simulated too: it spends some microseconds before each
// kernel and each copy, one after the other, while the kernels it has launched run in their order.
//
// A kernel that draws on resources (simulated_resources.hpp) is a flow: its amount is its time, its rate 1 at most. Its end
// is not known before it ends, nor is the start of a kernel behind it. A kernel that draws on nothing and stands behind no
// such kernel is an event at a time known at its launch.
//
// The template for a new driver (docs/write-a-driver.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/sure_memory.hpp"
#include "drivers/simulated/simulated_links.hpp"
#include "drivers/simulated/simulated_resources.hpp"
#include "engine/driver.hpp"
#include "sim/world.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::drivers {

class SimulatedDriver final : public engine::Driver, private sim::Actor {
 public:
  // The world outlives the driver.
  SimulatedDriver(const MachineDescription& machine, sim::World& world);
  ~SimulatedDriver() override;
  SimulatedDriver(const SimulatedDriver&) = delete;
  SimulatedDriver& operator=(const SimulatedDriver&) = delete;

  // Before anything starts: an accelerator takes one kernel at a time, and what is copied to it comes by page faults.
  // Throws UsageError if the machine does not say what a fault costs.
  void use_unified_memory();

  // How cores and transfers share RAM; null: the machine does not say it. Of messages, too.
  const std::shared_ptr<sim::HostMemory>& memory() const { return resources_.memory(); }

  Time now() const { return world_.now(); }  // any thread
  // A task has been started that has not ended.
  bool any_running() const { return running_ > 0; }

  void start(engine::Completions& completions) override;
  std::byte* reserve(NodeId node, Bytes bytes) override;
  std::byte* allocate(NodeId node, Bytes bytes) override;
  void release(NodeId node, std::byte* address, Bytes bytes) override;
  void relocate(NodeId, std::byte*, const std::byte*, Bytes) override {}
  bool takes_addresses() const override { return true; }
  void start_copy(const memory::Copy& copy) override;
  void start_task(graph::Task& task, WorkerId worker) override;
  void wake(WorkerId worker) override;
  std::optional<Time> busy(WorkerId worker) const override;
  void stop() override {}

 private:
  struct Kernel {
    graph::Task* task;
    Time launched;
    Time start;  // kNotKnown: before the kernels in front of it have ended
    Time time;   // at full speed; when a kernel that draws has ended, the time taken
    bool draws;  // on resources
  };
  struct Worker {
    bool woken = true;                 // is to look for work
    bool asleep = false;               // has looked in vain
    bool will_look = false;            // there is an event for it
    base::SureVector<Kernel> kernels;  // launched and not ended, in their order
    Time thread_free;     // the thread that drives it; kNotKnown: it waits for a kernel
    Time processor_free;  // kNotKnown: after the end of a kernel whose end is not known
    base::SureVector<SimulatedLinks::Copy> behind_kernel;  // copies that wait for the thread
    // Both are read by whoever asks for statistics.
    std::atomic<std::int64_t> ended_ns{0};          // time of the kernels that have ended
    std::atomic<std::int64_t> start_ns{kNoKernel};  // of the first of those that have not
  };
  static constexpr std::int64_t kNoKernel = INT64_MAX;
  static constexpr Time kNotKnown{INT64_MAX};
  // What a token in the world says: of a worker (look, kernel_start, task_end), or of a copy that its thread starts then.
  enum class Kind : std::uint8_t { look, kernel_start, task_end, copy_start };
  static std::uint64_t token(Kind kind, std::uint32_t number);

  // An idle worker looks for work.
  bool act() override;
  void happened(std::uint64_t token) override;
  void flow_ended(std::uint64_t token) override;
  void end_task(WorkerId worker);
  void start_copy_by(WorkerId driver, const SimulatedLinks::Copy& copy);
  void start_later(const SimulatedLinks::Copy& copy, Time at);
  // The first of the worker's kernels, whose start was not known, when all before it have ended.
  void await_start(WorkerId worker);
  void start_kernel(WorkerId worker);
  void end_kernel(WorkerId worker);
  bool is_first_write(const memory::Copy& copy, const LinkDescription& link);  // and notes it
  bool cores_busy() const;  // a kernel runs on every CPU worker
  void free_thread(WorkerId worker);
  void set_woken(WorkerId worker, bool woken);
  void look_at(WorkerId worker, Time at);
  void note_whether_it_looks(WorkerId worker);
  Time task_time(const graph::Task& task, WorkerId worker) const;
  // Throws DeviceError that names data and link.
  void require_ends_in_time(const memory::Copy& copy, std::uint32_t link, Time start) const;
  double fault_time(const memory::Copy& copy) const;  // in ns
  std::optional<WorkerId> driven_by(const memory::Copy& copy) const;

  MachineDescription machine_;
  PageFaults faults_;  // none unless memory is unified
  engine::Completions* completions_ = nullptr;
  sim::World& world_;
  const sim::World::Place place_;
  const SimulatedResources resources_;
  SimulatedLinks links_;
  base::SureVector<SimulatedLinks::Copy> later_;  // by the number in their token
  base::SureVector<std::uint32_t> free_later_;
  std::vector<Worker> workers_;
  std::vector<std::uint64_t> look_;  // bit per worker: it is woken and may launch a kernel
  std::uint64_t running_ = 0;        // kernels launched and not ended
  base::SureVector<bool> on_disk_;   // by id of the handle: it has been written to the disk
  std::vector<std::optional<WorkerId>> first_worker_;  // by node: of an accelerator
  base::SureVector<sim::Demand> demands_;              // of a kernel that starts: to keep the room
};

}  // namespace vicinal::drivers
