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
      resources_(machine_, world),
      links_(
          machine_, world, resources_,
          [this](const SimulatedLinks::Copy& copy) { completions_->copy_done(copy.id, nullptr); },
          [this] { return cores_busy(); }),
      workers_(machine.workers.size()),
      look_(machine.workers.size() / 64 + 1),
      first_worker_(machine.nodes.size()) {
  for (const WorkerDescription& worker : machine.workers) {
    auto& first = first_worker_[worker.node.value];
    if (worker.node != kRam && !first) first = worker.id;
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
  worker.asleep = false;
  if (worker.thread_free <= now()) {
    if (completions_->advance(id)) set_woken(id, true);  // for one more
    worker.asleep = !worker.woken;
  } else if (worker.thread_free != kNotKnown) {
    look_at(id, worker.thread_free);
  }
  return std::ranges::any_of(look_, is_set);
}

void SimulatedDriver::look_at(WorkerId id, Time at) {
  Worker& worker = workers_[id.value];
  if (std::exchange(worker.will_look, true)) return;
  world_.schedule(place_, at, token(Kind::look, id.value));
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
    case Kind::kernel_start:
      return start_kernel(WorkerId{number});
    case Kind::task_end:
      return end_task(WorkerId{number});
  }
}

void SimulatedDriver::flow_ended(std::uint64_t token) {
  const WorkerId id{static_cast<std::uint32_t>(token)};
  Kernel& kernel = workers_[id.value].kernels.front();
  kernel.time = now() - kernel.start;
  end_task(id);
}

void SimulatedDriver::end_task(WorkerId worker) {
  set_woken(worker, true);
  graph::Task* const task = workers_[worker.value].kernels.front().task;
  end_kernel(worker);
  completions_->task_done(*task, worker, nullptr, std::nullopt);
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
  if (worker.processor_free != kNotKnown) [[likely]]
    return;
  if (kernels.empty()) {
    worker.processor_free = now();
    if (worker.thread_free == kNotKnown) free_thread(id);
  } else if (kernels.front().start == kNotKnown) {
    await_start(id);
  }
}

// A synchronous kernel is the last that its worker has launched: its thread has waited for its end.
void SimulatedDriver::free_thread(WorkerId id) {
  Worker& worker = workers_[id.value];
  worker.thread_free = now();
  for (const SimulatedLinks::Copy& copy : worker.behind_kernel) start_copy_by(id, copy);
  worker.behind_kernel.clear();
}

bool SimulatedDriver::cores_busy() const {
  bool any = false;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (machine_.workers[i].kind != ProcessorKind::cpu) continue;
    if (workers_[i].kernels.empty()) return false;
    any = true;
  }
  return any;
}

void SimulatedDriver::start_task(graph::Task& task, WorkerId id) {
  Worker& worker = workers_[id.value];
  const WorkerDescription& description = machine_.workers[id.value];
  const Time time = task_time(task, id);
  const Time launched = std::max(now(), worker.thread_free) + description.task_overhead;
  const BytesPerSecond demand = graph::demand_of(task, description.kind);
  if (memory()) [[unlikely]]
    resources_.touch(task, id, demand);
  const bool draws = resources_.any_for_kernel(id, demand);
  const bool is_known = !draws && worker.processor_free != kNotKnown;
  const Time start = is_known ? std::max(launched, worker.processor_free) : kNotKnown;
  const Time end = is_known ? start + time : kNotKnown;
  worker.thread_free = graph::is_synchronous(task) ? end : launched;
  worker.processor_free = end;
  worker.kernels.push_back({&task, launched, start, time, draws});
  ++running_;
  note_whether_it_looks(id);
  worker.start_ns.store(worker.kernels.front().start.ns, std::memory_order_relaxed);
  if (is_known) [[likely]] {
    world_.schedule(place_, end, token(Kind::task_end, id.value));
  } else if (worker.kernels.size() == 1) {
    await_start(id);
  }
}

void SimulatedDriver::await_start(WorkerId id) {
  const Time at = std::max(now(), workers_[id.value].kernels.front().launched);
  world_.schedule(place_, at, token(Kind::kernel_start, id.value));
}

void SimulatedDriver::start_kernel(WorkerId id) {
  Worker& worker = workers_[id.value];
  Kernel& kernel = worker.kernels.front();
  kernel.start = now();
  worker.start_ns.store(now().ns, std::memory_order_relaxed);
  if (!kernel.draws) {
    return world_.schedule(place_, now() + kernel.time, token(Kind::task_end, id.value));
  }
  demands_.clear();
  const ProcessorKind kind = machine_.workers[id.value].kind;
  const double most =
      resources_.add_for_kernel(*kernel.task, id, graph::demand_of(*kernel.task, kind), demands_);
  world_.start(place_, id.value,
               {.amount = static_cast<double>(kernel.time.ns),
                .demands = demands_,
                .most = most,
                .drawer = sim::Drawer::kernel});
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

// Files of the user have their room, and so has what was written before.
bool SimulatedDriver::is_first_write(const memory::Copy& copy, const LinkDescription& link) {
  if (link.first_write.value == 0 || copy.handle == nullptr) return false;
  if (copy.handle->home.kind == graph::HomeKind::file) return false;
  const std::uint64_t id = copy.handle->id.value;
  if (id >= on_disk_.size()) on_disk_.resize(id + 1, false);
  if (on_disk_[id]) return false;
  on_disk_[id] = true;
  return true;
}

void SimulatedDriver::start_copy(const memory::Copy& copy) {
  SimulatedLinks::Copy on_links = links_.describe(copy);
  const std::optional<WorkerId> driver = driven_by(copy);
  const Time free = driver ? workers_[driver->value].thread_free : Time{0};
  require_ends_in_time(copy, on_links.link, free == kNotKnown ? now() : std::max(now(), free));
  on_links.faults = Time{static_cast<std::int64_t>(fault_time(copy))};
  on_links.is_first_write = is_first_write(copy, machine_.links[on_links.link]);
  if (!driver) return links_.start(on_links);
  if (free == kNotKnown) return workers_[driver->value].behind_kernel.push_back(on_links);
  start_copy_by(*driver, on_links);
}

void SimulatedDriver::start_copy_by(WorkerId driver, const SimulatedLinks::Copy& copy) {
  Worker& worker = workers_[driver.value];
  worker.thread_free =
      std::max(now(), worker.thread_free) + machine_.workers[driver.value].copy_overhead;
  if (worker.thread_free == now()) return links_.start(copy);
  start_later(copy, worker.thread_free);
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

// The thread that has to start the copy: the destination's, or the source's.
std::optional<WorkerId> SimulatedDriver::driven_by(const memory::Copy& copy) const {
  const std::optional<WorkerId> worker = first_worker_[copy.to.node.value];
  return worker ? worker : first_worker_[copy.from.node.value];
}

void SimulatedDriver::wake(WorkerId id) {
  const Time latency = machine_.workers[id.value].wake_latency;
  if (latency.ns == 0 || !workers_[id.value].asleep) [[likely]]
    return set_woken(id, true);
  look_at(id, now() + latency);
}

// Kernels run while the thread looks for the next, which the engine takes for idle.
std::optional<Time> SimulatedDriver::busy(WorkerId worker) const {
  const Worker& own = workers_[worker.value];
  const std::int64_t running = now().ns - own.start_ns.load(std::memory_order_relaxed);
  return Time{own.ended_ns.load(std::memory_order_relaxed) + std::max<std::int64_t>(0, running)};
}

}  // namespace vicinal::drivers
