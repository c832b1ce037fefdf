#include "drivers/simulated/simulated_driver.hpp"

namespace vicinal::drivers {

namespace {
// Of a task whose codelet says nothing.
constexpr Time kUnknownTask{1000};
}  // namespace

SimulatedDriver::SimulatedDriver(const MachineDescription& machine)
    : machine_(machine),
      woken_(machine.workers.size(), true),
      busy_(machine.workers.size(), false) {}

void SimulatedDriver::start(engine::Completions& completions) {
  completions_ = &completions;
}

std::byte* SimulatedDriver::reserve(NodeId /*node*/, Bytes /*bytes*/) {
  return nullptr;
}
std::byte* SimulatedDriver::allocate(NodeId /*node*/, Bytes /*bytes*/) {
  return nullptr;
}
void SimulatedDriver::release(NodeId /*node*/, std::byte* /*address*/, Bytes /*bytes*/) {}

bool SimulatedDriver::step() {
  for (std::uint32_t w = 0; w < woken_.size(); ++w) {
    if (!woken_[w] || busy_[w]) continue;
    woken_[w] = false;
    completions_->advance(WorkerId{w});
    return true;
  }
  if (events_.empty()) return false;
  const auto [at, event] = events_.take();
  now_.store(at, std::memory_order_relaxed);
  if (event.task != nullptr) {
    busy_[event.worker.value] = false;
    woken_[event.worker.value] = true;
    completions_->task_done(*event.task, event.worker, nullptr);
  } else {
    completions_->copy_done(event.copy_id, nullptr);
  }
  return true;
}

void SimulatedDriver::start_task(graph::Task& task, WorkerId worker) {
  Time time{0};
  if (task.codelet != nullptr) {
    const ProcessorKind kind = machine_.workers[worker.value].kind;
    time = task.codelet->expected[static_cast<std::size_t>(kind)];
    if (time.ns == 0) time = kUnknownTask;
  }
  busy_[worker.value] = true;
  events_.schedule(now() + time, {&task, worker, 0});
}

void SimulatedDriver::start_copy(const memory::Copy& copy) {
  events_.schedule(now() + copy_time(copy), {nullptr, {}, copy.id});
}

Time SimulatedDriver::copy_time(const memory::Copy& copy) const {
  for (const LinkDescription& link : machine_.links) {
    if (link.from == copy.from.node && link.to == copy.to.node) {
      return link.latency + duration(copy.bytes(), link.bandwidth);
    }
  }
  return {0};
}

void SimulatedDriver::wake(WorkerId worker) {
  woken_[worker.value] = true;
}

}  // namespace vicinal::drivers
