#include "drivers/simulated/simulated_driver.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::drivers {

namespace {
// Of a task whose codelet says nothing.
constexpr Time kUnknownTask{1000};
constexpr double kYear = 365.25 * 86400e9;  // ns
}  // namespace

SimulatedDriver::SimulatedDriver(const MachineDescription& machine)
    : machine_(machine),
      workers_(machine.workers.size()),
      look_(machine.workers.size() / 64 + 1),
      first_worker_(machine.nodes.size()) {
  for (const WorkerDescription& worker : machine.workers) {
    auto& first = first_worker_[worker.node.value];
    if (worker.node != kRam && !first) first = worker.id;
    if (worker.kind == ProcessorKind::cpu) {
      ++cpu_workers_;
      cpu_copy_overhead_ = std::max(cpu_copy_overhead_, worker.copy_overhead);
    }
    note_whether_it_looks(worker.id);
  }
}

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
  return look_for_work() || next_event(SimulatedLinks::kNoTime);
}

void SimulatedDriver::pass(Time duration) {
  const Time until = now() + duration;
  while (look_for_work() || next_event(until)) {
  }
  now_.store(until, std::memory_order_relaxed);
}

bool SimulatedDriver::look_for_work() {
  for (std::size_t word = 0; word < look_.size(); ++word) {
    if (look_[word] == 0) continue;
    const auto bit = static_cast<std::size_t>(std::countr_zero(look_[word]));
    const WorkerId id{static_cast<std::uint32_t>(64 * word + bit)};
    Worker& worker = workers_[id.value];
    set_woken(id, false);
    if (worker.thread_free <= now()) {
      if (completions_->advance(id)) set_woken(id, true);  // for one more
    } else if (!worker.will_look) {
      worker.will_look = true;
      events_.schedule(worker.thread_free, {Event::Kind::look, id});
    }
    return true;
  }
  return false;
}

void SimulatedDriver::set_woken(WorkerId worker, bool woken) {
  workers_[worker.value].woken = woken;
  note_whether_it_looks(worker);
}

void SimulatedDriver::note_whether_it_looks(WorkerId id) {
  const Worker& worker = workers_[id.value];
  const std::uint64_t mask = std::uint64_t{1} << (id.value % 64);
  std::uint64_t& word = look_[id.value / 64];
  const bool looks = worker.woken && worker.kernels.size() < machine_.workers[id.value].pipeline;
  word = looks ? word | mask : word & ~mask;
}

// Copies first: what they bring is there for tasks that end at the same time.
bool SimulatedDriver::next_event(Time until) {
  const Time copies = links_.next();
  const Time others = events_.empty() ? SimulatedLinks::kNoTime : events_.next();
  const Time next = std::min(copies, others);
  if (next == SimulatedLinks::kNoTime || next > until) return false;
  now_.store(next, std::memory_order_relaxed);
  if (copies <= others) {
    SimulatedLinks::Copy ended;
    if (links_.advance(next, ended)) end_copy(ended);
  } else {
    handle(events_.take().second);
  }
  return true;
}

void SimulatedDriver::handle(const Event& event) {
  if (event.kind == Event::Kind::copy_start) return links_.start(event.copy, now());
  set_woken(event.worker, true);
  if (event.kind == Event::Kind::look) {
    workers_[event.worker.value].will_look = false;
    return;
  }
  if (prolong_kernel(event)) return;
  end_kernel(event.worker);
  completions_->task_done(*event.task, event.worker, nullptr, std::nullopt);
}

// Not those of a pipeline: the kernels behind would have to move, too.
bool SimulatedDriver::prolong_kernel(const Event& end) {
  const WorkerDescription& description = machine_.workers[end.worker.value];
  if (description.kind != ProcessorKind::cpu || description.pipeline > 1) return false;
  Worker& worker = workers_[end.worker.value];
  Kernel& kernel = worker.kernels.front();
  const Time lost = lost_to_copies_ - kernel.lost_before;
  if (lost.ns == 0) return false;
  kernel.lost_before = lost_to_copies_;
  kernel.time += lost;
  worker.processor_free += lost;
  events_.schedule(now() + lost, end);
  return true;
}

void SimulatedDriver::end_kernel(WorkerId id) {
  Worker& worker = workers_[id.value];
  base::SureVector<Kernel>& kernels = worker.kernels;
  worker.ended_ns.store(worker.ended_ns.load(std::memory_order_relaxed) + kernels.front().time.ns,
                        std::memory_order_relaxed);
  kernels.erase(kernels.begin());
  worker.start_ns.store(kernels.empty() ? kNoKernel : kernels.front().start.ns,
                        std::memory_order_relaxed);
  --running_;
  note_whether_it_looks(id);
}

void SimulatedDriver::start_task(graph::Task& task, WorkerId id) {
  Worker& worker = workers_[id.value];
  const Time time = task_time(task, id);
  const Time launched =
      std::max(now(), worker.thread_free) + machine_.workers[id.value].task_overhead;
  const Time start = std::max(launched, worker.processor_free);
  const Time end = start + time;
  worker.thread_free = task.codelet->synchronous ? end : launched;
  worker.processor_free = end;
  worker.kernels.push_back({start, time, lost_to_copies_});
  ++running_;
  note_whether_it_looks(id);
  worker.start_ns.store(worker.kernels.front().start.ns, std::memory_order_relaxed);
  events_.schedule(end, {Event::Kind::task_end, id, &task});
}

Time SimulatedDriver::task_time(const graph::Task& task, WorkerId worker) const {
  const auto kind = static_cast<std::size_t>(machine_.workers[worker.value].kind);
  const Time expected = task.codelet->expected[kind];
  return expected.ns == 0 ? kUnknownTask : expected;
}

// Beyond kEndOfTime sums of times would overflow.
void SimulatedDriver::require_ends_in_time(const memory::Copy& copy, std::uint32_t link_number,
                                           Time start) const {
  const LinkDescription& link = machine_.links[link_number];
  const double rate = link.bandwidth.value;
  const double flows = rate > 0 ? static_cast<double>(copy.bytes().value) / rate * 1e9 : 0;
  const double end = static_cast<double>(start.ns) + static_cast<double>(link.latency.ns) + flows;
  if (end < static_cast<double>(kEndOfTime.ns)) return;
  throw DeviceError(
      fmt::format("the copy of {} ({} bytes) from {} to {} would end {:.0f} years after the start: "
                  "a simulated run lasts {:.0f} years at most; use a faster link or smaller data",
                  copy.handle != nullptr ? copy.handle->name : "data", copy.bytes().value,
                  machine_.nodes[link.from.value].name, machine_.nodes[link.to.value].name,
                  end / kYear, static_cast<double>(kEndOfTime.ns) / kYear));
}

void SimulatedDriver::start_copy(const memory::Copy& copy) {
  const SimulatedLinks::Copy on_links = links_.describe(copy);
  const std::optional<WorkerId> driver = driven_by(copy);
  const Time free = driver ? workers_[driver->value].thread_free : Time{0};
  require_ends_in_time(copy, on_links.link, std::max(now(), free));
  if (!driver) return links_.start(on_links, now());
  Worker& worker = workers_[driver->value];
  worker.thread_free =
      std::max(now(), worker.thread_free) + machine_.workers[driver->value].copy_overhead;
  if (worker.thread_free == now()) return links_.start(on_links, now());
  events_.schedule(worker.thread_free, {Event::Kind::copy_start, *driver, nullptr, on_links});
}

// What it took from the workers is charged at its end: most copies start when a task has just ended, and
// whoever starts them is in no kernel then.
void SimulatedDriver::end_copy(const SimulatedLinks::Copy& copy) {
  if (cpu_workers_ > 0) {
    const LinkDescription& link = machine_.links[copy.link];
    const auto is_disk = [&](NodeId node) {
      return machine_.nodes[node.value].kind == NodeKind::disk;
    };
    Time lost = is_disk(link.from) || is_disk(link.to) ? cpu_copy_overhead_ : Time{0};
    if (link.worker_bandwidth.value > 0) lost += duration(copy.bytes, link.worker_bandwidth);
    lost_to_copies_ += Time{lost.ns / cpu_workers_};
  }
  completions_->copy_done(copy.id, nullptr);
}

// The thread that has to start the copy: the destination's, or the source's.
std::optional<WorkerId> SimulatedDriver::driven_by(const memory::Copy& copy) const {
  const std::optional<WorkerId> worker = first_worker_[copy.to.node.value];
  return worker ? worker : first_worker_[copy.from.node.value];
}

void SimulatedDriver::wake(WorkerId worker) {
  set_woken(worker, true);
}

// Kernels run while the thread looks for the next, which the engine takes for idle.
std::optional<Time> SimulatedDriver::busy(WorkerId worker) const {
  const Worker& own = workers_[worker.value];
  const std::int64_t running = now().ns - own.start_ns.load(std::memory_order_relaxed);
  return Time{own.ended_ns.load(std::memory_order_relaxed) + std::max<std::int64_t>(0, running)};
}

}  // namespace vicinal::drivers
