// Gives the simulated driver tasks and copies, and notes when they end, for tests that work the times out by hand.
// Bandwidths are 1 byte per nanosecond, so that a copy takes as many nanoseconds as it has bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drivers/simulated/simulated_driver.hpp"
#include "graph/task.hpp"

namespace vicinal::drivers {

inline constexpr BytesPerSecond kBytePerNs{1e9};
inline constexpr NodeId kFirstGpu{1};
inline constexpr NodeId kSecondGpu{2};

// RAM and two accelerators with a worker each; links: 0 RAM to first, 1 back, 2 RAM to second, 3 back,
// 4 first to second, 5 back.
inline MachineDescription two_accelerators() {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}},
                   {kFirstGpu, "gpu0", NodeKind::device, {}},
                   {kSecondGpu, "gpu1", NodeKind::device, {}}};
  for (const auto& [a, b] : {std::pair(kRam, kFirstGpu), std::pair(kRam, kSecondGpu),
                             std::pair(kFirstGpu, kSecondGpu)}) {
    machine.links.push_back({a, b, kBytePerNs, Time{0}});
    machine.links.push_back({b, a, kBytePerNs, Time{0}});
  }
  machine.workers = {{WorkerId{0}, ProcessorKind::gpu, kFirstGpu},
                     {WorkerId{1}, ProcessorKind::gpu, kSecondGpu}};
  return machine;
}

inline Codelet kernel_of(std::int64_t ns, bool synchronous = false) {
  Codelet codelet{.name = "kernel"};
  codelet.expected[static_cast<std::size_t>(ProcessorKind::gpu)] = Time{ns};
  codelet.synchronous = synchronous;
  return codelet;
}

// Gives each worker its tasks in their order, and notes when tasks and copies end.
class SimulatedPlayer final : public engine::Completions {
 public:
  explicit SimulatedPlayer(const MachineDescription& machine)
      : driver(machine, world), waiting_(machine.workers.size()) {
    driver.start(*this);
  }

  void task(const Codelet& codelet, std::uint32_t worker = 0) {
    graph::Task& task = tasks_.emplace_back();
    task.codelet = &codelet;
    waiting_[worker].push_back(&task);
    driver.wake(WorkerId{worker});
  }
  void copy(std::uint32_t id, NodeId from, NodeId to, std::uint64_t bytes,
            graph::Handle* handle = nullptr) {
    memory::Copy copy;
    copy.id.slot = id;
    copy.handle = handle;
    copy.from.node = from;
    copy.from.layout = {bytes, 1, bytes, 1};
    copy.to.node = to;
    driver.start_copy(copy);
  }
  void run() {
    while (world.step()) after_step();
  }

  void copy_done(memory::CopyId id, std::exception_ptr) override {
    copies[id.slot] = driver.now().ns;
    ends.emplace_back("copy");
  }
  bool advance(WorkerId worker) override {
    auto& own = waiting_[worker.value];
    if (own.empty()) return false;
    graph::Task* const task = own.front();
    own.pop_front();
    driver.start_task(*task, worker);
    return true;
  }
  void task_done(graph::Task&, WorkerId worker, std::exception_ptr, std::optional<Time>) override {
    task_ends[worker.value].push_back(driver.now().ns);
    ends.emplace_back("task");
  }

  sim::World world;
  SimulatedDriver driver;
  std::map<std::uint32_t, std::vector<std::int64_t>> task_ends;  // by worker
  std::map<std::uint64_t, std::int64_t> copies;
  std::vector<std::string> ends;
  std::function<void()> after_step = [] {};

 private:
  std::list<graph::Task> tasks_;
  std::vector<std::deque<graph::Task*>> waiting_;
};

}  // namespace vicinal::drivers
