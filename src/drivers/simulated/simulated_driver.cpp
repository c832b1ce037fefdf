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

SimulatedDriver::SimulatedDriver(const MachineDescription& machine, sim::World& world)
    : machine_(machine),
      world_(world),
      place_(world.enter(*this)),
      links_(machine_, world, [this](const SimulatedLinks::Copy& copy) { end_copy(copy); }),
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
  world_.rouse(place_);
}

void SimulatedDriver::use_unified_memory() {
  if (machine_.faults.bytes.value == 0) {
    throw UsageError(
        "memory_rules: unified: the machine does not say what a page fault costs; give its file "
        "[unified_memory] (docs/machine-file.md), as that of guyot has it");
  }
  faults_ = machine_.faults;
  for (WorkerDescription& worker : machine_.workers) worker.pipeline = 1;
}

SimulatedDriver::~SimulatedDriver() {
  world_.leave(place_);
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

std::uint64_t SimulatedDriver::token(Kind kind, std::uint32_t number) {
  return static_cast<std::uint64_t>(kind) << 32 | number;
}

bool SimulatedDriver::act() {
  const auto is_set = [](std::uint64_t bits) { return bits != 0; };
  const auto word = std::ranges::find_if(look_, is_set);
  if (word == look_.end()) return false;
  const WorkerId id{
      static_cast<std::uint32_t>(64 * (word - look_.begin()) + std::countr_zero(*word))};
  Worker& worker = workers_[id.value];
  set_woken(id, false);
  if (worker.thread_free <= now()) {
    if (completions_->advance(id)) set_woken(id, true);  // for one more
  } else if (!worker.will_look) {
    worker.will_look = true;
    world_.schedule(place_, worker.thread_free, token(Kind::look, id.value));
  }
  return std::ranges::any_of(look_, is_set);
}

void SimulatedDriver::set_woken(WorkerId worker, bool woken) {
  workers_[worker.value].woken = woken;
  note_whether_it_looks(worker);
  if (woken) world_.rouse(place_);
}

void SimulatedDriver::note_whether_it_looks(WorkerId id) {
  const Worker& worker = workers_[id.value];
  const std::uint64_t mask = std::uint64_t{1} << (id.value % 64);
  std::uint64_t& word = look_[id.value / 64];
  const bool looks = worker.woken && worker.kernels.size() < machine_.workers[id.value].pipeline;
  word = looks ? word | mask : word & ~mask;
}

void SimulatedDriver::happened(std::uint64_t token) {
  const auto number = static_cast<std::uint32_t>(token);
  switch (static_cast<Kind>(token >> 32)) {
    case Kind::copy_start:
      free_later_.push_back(number);
      return links_.start(SimulatedLinks::Copy(later_[number]));
    case Kind::look:
      workers_[number].will_look = false;
      return set_woken(WorkerId{number}, true);
    case Kind::task_end:
      return end_task(WorkerId{number});
  }
}

void SimulatedDriver::end_task(WorkerId worker) {
  set_woken(worker, true);
  if (prolong_kernel(worker)) return;
  graph::Task* const task = workers_[worker.value].kernels.front().task;
  end_kernel(worker);
  completions_->task_done(*task, worker, nullptr, std::nullopt);
}

// Not those of a pipeline: the kernels behind would have to move, too.
bool SimulatedDriver::prolong_kernel(WorkerId id) {
  const WorkerDescription& description = machine_.workers[id.value];
  if (description.kind != ProcessorKind::cpu || description.pipeline > 1) return false;
  Worker& worker = workers_[id.value];
  Kernel& kernel = worker.kernels.front();
  const Time lost = lost_to_copies_ - kernel.lost_before;
  if (lost.ns == 0) return false;
  kernel.lost_before = lost_to_copies_;
  kernel.time += lost;
  worker.processor_free += lost;
  world_.schedule(place_, now() + lost, token(Kind::task_end, id.value));
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
  worker.thread_free = graph::is_synchronous(task) ? end : launched;
  worker.processor_free = end;
  worker.kernels.push_back({&task, start, time, lost_to_copies_});
  ++running_;
  note_whether_it_looks(id);
  worker.start_ns.store(worker.kernels.front().start.ns, std::memory_order_relaxed);
  world_.schedule(place_, end, token(Kind::task_end, id.value));
}

Time SimulatedDriver::task_time(const graph::Task& task, WorkerId worker) const {
  const ProcessorKind processor = machine_.workers[worker.value].kind;
  const auto kind = static_cast<std::size_t>(processor);
  const Time expected = graph::expected_time(task, processor);
  Time time = expected.ns == 0 ? kUnknownTask : expected;
  if (!task.extension) return time;
  for (const graph::ReducedOperand& operand : task.extension->reduced) {
    if (operand.is_fresh) time += operand.reduction->codelets.neutral->expected[kind];
  }
  if (task.extension->begins_neutral) {
    time += task.extension->combines->codelets.neutral->expected[kind];
  }
  return time;
}

// Beyond the end of time sums of times would overflow.
void SimulatedDriver::require_ends_in_time(const memory::Copy& copy, std::uint32_t link_number,
                                           Time start) const {
  const LinkDescription& link = machine_.links[link_number];
  const double rate = link.bandwidth.value;
  const double flows = rate > 0 ? static_cast<double>(copy.bytes().value) / rate * 1e9 : 0;
  const double end = static_cast<double>(start.ns) + static_cast<double>(link.latency.ns) +
                     fault_time(copy) + flows;
  if (end < static_cast<double>(sim::World::kEndOfTime.ns)) return;
  throw DeviceError(
      fmt::format("the copy of {} ({} bytes) from {} to {} would end {:.0f} years after the start: "
                  "a simulated run lasts {:.0f} years at most; use a faster link or smaller data",
                  copy.handle != nullptr ? copy.handle->name : "data", copy.bytes().value,
                  machine_.nodes[link.from.value].name, machine_.nodes[link.to.value].name,
                  end / kYear, static_cast<double>(sim::World::kEndOfTime.ns) / kYear));
}

// What leaves an accelerator is not touched there: it goes at the link's pace.
double SimulatedDriver::fault_time(const memory::Copy& copy) const {
  const NodeKind to = machine_.nodes[copy.to.node.value].kind;
  if (faults_.bytes.value == 0 || to != NodeKind::device) return 0;
  const std::uint64_t rest = copy.bytes().value % faults_.bytes.value;
  const std::uint64_t faults = copy.bytes().value / faults_.bytes.value + (rest > 0 ? 1 : 0);
  return static_cast<double>(faults) * static_cast<double>(faults_.time.ns);
}

void SimulatedDriver::start_copy(const memory::Copy& copy) {
  SimulatedLinks::Copy on_links = links_.describe(copy);
  const std::optional<WorkerId> driver = driven_by(copy);
  const Time free = driver ? workers_[driver->value].thread_free : Time{0};
  require_ends_in_time(copy, on_links.link, std::max(now(), free));
  on_links.faults = Time{static_cast<std::int64_t>(fault_time(copy))};
  if (!driver) return links_.start(on_links);
  Worker& worker = workers_[driver->value];
  worker.thread_free =
      std::max(now(), worker.thread_free) + machine_.workers[driver->value].copy_overhead;
  if (worker.thread_free == now()) return links_.start(on_links);
  start_later(on_links, worker.thread_free);
}

void SimulatedDriver::start_later(const SimulatedLinks::Copy& copy, Time at) {
  if (free_later_.empty()) {
    free_later_.push_back(static_cast<std::uint32_t>(later_.size()));
    later_.emplace_back();
  }
  const std::uint32_t number = free_later_.back();
  free_later_.pop_back();
  later_[number] = copy;
  world_.schedule(place_, at, token(Kind::copy_start, number));
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
