// The engine around the way of a task: construction, what a policy may ask, errors, reports.
#include <algorithm>
#include <new>
#include <string>
#include <thread>

#include "base/sure_memory.hpp"
#include "engine/lifecycle.hpp"
#include "engine/task_state.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

using graph::Task;

namespace {
// Tasks pulled and not started, per memory node, at most, where the option look_ahead does not say. To an
// accelerator copies take longer, compared with its tasks, than to a core: the 32 are about those of
// Gonthier et al. 2024 (a buffer of 30), who tried others.
constexpr std::size_t kLookAhead = 8;
constexpr std::size_t kDeviceLookAhead = 32;
// So that the room for what the next tasks write is made while others run.
constexpr std::size_t kDeviceFirmRequests = 4;

// Of all links to the node, of which there is one at least.
bool has_known_bandwidths(const MachineDescription& machine, NodeId node) {
  bool any = false;
  for (const LinkDescription& link : machine.links) {
    if (link.to != node) continue;
    if (link.bandwidth.value <= 0) return false;
    any = true;
  }
  return any;
}

// How much longer a copy from RAM to the node takes while RAM sends to all nodes that share a segment with it.
double crowd_on_the_way_to(const MachineDescription& machine, NodeId node) {
  double crowd = 1;
  for (const LinkDescription& link : machine.links) {
    if (link.from != kRam || link.to != node) continue;
    for (const std::uint32_t segment : link.segments) {
      const double bandwidth = machine.segments[segment].bandwidth.value;
      if (bandwidth <= 0) continue;
      double all = 0;
      for (const LinkDescription& other : machine.links) {
        const bool shares = other.from == kRam && std::ranges::count(other.segments, segment) > 0;
        if (shares) all += other.bandwidth.value;
      }
      crowd = std::max(crowd, all / bandwidth);
    }
  }
  return crowd;
}
}  // namespace

Engine::Engine(EngineConfig config)
    : config_(std::move(config)),
      policy_(std::move(config_.policy)),
      traits_(policy_->traits()),
      random_(config_.seed),
      residency_(config_.machine, *this, policy_->victims() != nullptr, traits_.keeps_order,
                 config_.rules),
      pool_(config_.machine.workers.size() + 2),
      gate_(
          *policy_, [this](Task& task, WorkerId worker) { retire(task, worker); },
          [this] { cancel(base::out_of_memory("handed a task to the policy")); },
          config_.time_policy),
      windows_(config_.machine.nodes.size()),
      wishes_(windows_.size()),
      places_(windows_.size()),
      lanes_(config_.machine.workers.size() + 2),
      idle_(config_.machine.workers.size() / 64 + 1),
      away_(idle_.size()),
      trivial_(residency_.trivial()),
      timed_(config_.models != nullptr && !config_.simulated && traits_.wants_run_times) {
  for (const WorkerDescription& worker : config_.machine.workers) {
    Window& window = windows_[worker.node.value];
    window.workers.push_back(worker.id);
    const WorkerId first = window.workers.front();
    window.alike &= worker.kind == config_.machine.workers[first.value].kind;
  }
  takes_any_ = windows_.size() == 1 && windows_.front().alike;
  const auto kind_of = [&](const Window& window) {
    return config_.machine.workers[window.workers.front().value].kind;
  };
  for (const NodeDescription& node : config_.machine.nodes) {
    Window& window = windows_[node.id.value];
    if (!traits_.moves_tasks || window.workers.empty() || !window.alike) continue;
    for (const NodeDescription& other : config_.machine.nodes) {
      const Window& peer = windows_[other.id.value];
      if (other.id == node.id || peer.workers.empty() || !peer.alike) continue;
      if (kind_of(peer) == kind_of(window)) window.peers.push_back(other.id);
    }
  }
  for (std::size_t n = 0; n < windows_.size(); ++n) {
    const NodeId node{static_cast<std::uint32_t>(n)};
    Window& window = windows_[n];
    const bool device = config_.machine.nodes[n].kind == NodeKind::device;
    const std::size_t automatic = device ? kDeviceLookAhead : kLookAhead;
    const std::size_t look_ahead = config_.look_ahead == 0 ? automatic : config_.look_ahead;
    window.depth = window.workers.empty() ? 0 : look_ahead + window.workers.size();
    window.firm_each = device ? kDeviceFirmRequests : 1;
    if (device && config_.rules.pipeline) window.depth = window.firm_each = 1;
    for (const LinkDescription& link : config_.machine.links) {
      if (link.from != kRam || link.to.value != n || link.bandwidth.value <= 0) continue;
      window.bandwidth = link.bandwidth;
      if (device) window.least = std::min(window.depth, kLookAhead + window.workers.size());
    }
    window.timed = config_.look_ahead == 0 && traits_.moves_tasks &&
                   has_known_bandwidths(config_.machine, node);
    window.crowd = crowd_on_the_way_to(config_.machine, node);
    if (const auto limit = config_.machine.nodes[n].limit) {
      window.most_claimed = Bytes{limit->value / 4};
      window.most_to_hide = Bytes{limit->value / 8 * 3};
      // Not in RAM: there a core waits less for a copy than it would for what an eviction too many
      // costs. (Cholesky at a quarter of the matrix, 31 tiles of room, would load a tenth more.)
      // Nor with LRU, which would push out what comes next (a product whose block columns just fit).
      if (device && policy_->victims() != nullptr) {
        window.most_kept_free = Bytes{limit->value / 8};
      }
      if (config_.machine.nodes[n].kind != NodeKind::disk) {
        least_limit_ = std::min(least_limit_, limit->value);
      }
    }
  }
  for (const WorkerDescription& worker : config_.machine.workers) {
    has_cpu_ |= worker.kind == ProcessorKind::cpu;
    if (timed_) timers_.emplace_back(*config_.models, worker.kind);
  }
  policy_->start(*this);
}

Engine::~Engine() = default;

void Engine::attach(std::vector<Driver*> node_drivers, std::vector<Driver*> worker_drivers) {
  node_drivers_ = std::move(node_drivers);
  worker_drivers_ = std::move(worker_drivers);
  residency_.reserve();
  for (Lane& lane : lanes_) {  // idle from now on; what was before does not count as busy
    lane.idle_since.store(now().ns, std::memory_order_relaxed);
    lane.idle_ns.store(now().ns, std::memory_order_relaxed);
  }
}

// --- memory::MemorySource

std::byte* Engine::reserve(NodeId node, Bytes bytes) {
  return node_drivers_[node.value]->reserve(node, bytes);
}
std::byte* Engine::allocate(NodeId node, Bytes bytes) {
  return node_drivers_[node.value]->allocate(node, bytes);
}
void Engine::release(NodeId node, std::byte* address, Bytes bytes) {
  node_drivers_[node.value]->release(node, address, bytes);
}
void Engine::relocate(NodeId node, std::byte* to, const std::byte* from, Bytes bytes) {
  node_drivers_[node.value]->relocate(node, to, from, bytes);
}

// --- sched::PolicyContext

// A time suffices to simulate it.
bool Engine::is_implemented(const Codelet& codelet, ProcessorKind kind) const {
  return codelet.implementation(kind) != nullptr ||
         (config_.simulated && codelet.expected[static_cast<std::size_t>(kind)].ns > 0);
}

bool Engine::can_run(const Task& task, WorkerId worker) const {
  const WorkerDescription& description = config_.machine.workers[worker.value];
  if (task.extension && task.extension->worker && *task.extension->worker != worker) return false;
  if (task.codelet != nullptr && !is_implemented(*task.codelet, description.kind)) return false;
  return trivial_ || fits_any_node(task) || residency_.fits(task, description.node);
}

bool Engine::on_node(const graph::Handle& handle, NodeId node) const {
  return residency_.on_node(handle, node);
}
sched::Presence Engine::presence(const graph::Handle& handle) const {
  return {.valid = residency_.valid_mask(handle), .on_node = residency_.on_nodes(handle)};
}

Bytes Engine::missing_bytes(const Task& task, NodeId node) const {
  Bytes sum;
  for (const graph::Access& access : task.accesses()) {
    if (reads(access.mode) && !residency_.on_node(*access.handle, node))
      sum += access.handle->bytes();
  }
  return sum;
}

Time Engine::transfer_time(const graph::Handle& handle, NodeId node) const {
  const std::uint64_t valid = residency_.valid_mask(handle);
  if ((valid & memory::bit(node)) != 0) return {0};
  std::optional<Time> best;
  for (const LinkDescription& link : config_.machine.links) {
    if (link.to != node || (valid & memory::bit(link.from)) == 0) continue;
    const Time time = link.bandwidth.value > 0
                          ? link.latency + duration(handle.bytes(), link.bandwidth)
                          : Time{static_cast<std::int64_t>(handle.bytes().value)};
    if (!best || time < *best) best = time;
  }
  return best.value_or(Time{static_cast<std::int64_t>(2 * handle.bytes().value)});
}

Time Engine::run_time(const Task& task, WorkerId worker) const {
  if (task.codelet == nullptr) return {0};
  const ProcessorKind kind = config_.machine.workers[worker.value].kind;
  const Time expected = task.codelet->expected[static_cast<std::size_t>(kind)];
  if (expected.ns != 0 || !timed_) return expected;
  try {
    return config_.models->predict(task.codelet->name, kind, footprint_of(task));
  } catch (const std::bad_alloc&) {  // nothing is known, then
    return {0};
  }
}

void Engine::hand_on_run_times() {
  for (RunTimer& timer : timers_) timer.flush();
}

void Engine::prefetch(const Task& task, NodeId node) {
  if (trivial_) return;
  residency_.warm(task, node);
  Wishes& wishes = wishes_[node.value];
  const std::lock_guard lock(wishes.mutex);
  ever_wished_.store(true, std::memory_order_relaxed);
  if (WishedTasks::name(task, node)) {
    wished_.keep_use(task, node, residency_.await_uses(task, node));
  }
  for (const graph::Access& access : task.accesses()) {
    const bool owns = config_.rules.owner && writes(access.mode);
    if (!reads(access.mode) && !owns) continue;
    const bool there = residency_.on_node(*access.handle, node);
    if (there) residency_.touch(*access.handle, node);
    if (there && !owns) continue;
    // What is there already, or is not read, needs no copy: only the word that it belongs to this node.
    Wishes& takes = there || !reads(access.mode) ? places_[node.value] : wishes;
    takes.add(task, *access.handle, config_.rules.prefetch ? task.priority : 0, access.mode);
    fresh_wishes_.store(true, std::memory_order_relaxed);
  }
}

// Each step takes its addresses from what the step before asked for one pop ago (by another worker, maybe).
void Engine::coming(std::span<const Task* const> tasks, WorkerId worker) const {
  if (tasks.size() > 2) graph::warm(*tasks[2]);
  if (trivial_) return;
  if (tasks.size() > 1) {
    graph::warm_handles(*tasks[1]);
    base::warm(&graph::TaskPool::note(*tasks[1]));
  }
  if (!tasks.empty()) residency_.warm(*tasks[0], config_.machine.workers[worker.value].node);
}

void Engine::check_can_run(const Task& task) const {
  if (fits_anywhere(task)) return;
  const WorkerDescription* nearest = nullptr;
  const graph::Handle* large = too_large_for_ram(task);
  for (const WorkerDescription& worker : config_.machine.workers) {
    if (can_run(task, worker.id)) {
      if (large == nullptr) return;
      throw CapacityError("task " + std::string(task.name()) + ": handle " + large->name + " of " +
                          std::to_string(large->bytes().value) +
                          " bytes passes through ram on its way, whose limit is " +
                          std::to_string(residency_.limit(kRam)->value) +
                          " bytes; raise the limit (option memory) or use smaller tiles");
    }
    if (task.extension && task.extension->worker && *task.extension->worker != worker.id) continue;
    if (is_implemented(*task.codelet, worker.kind)) nearest = &worker;
  }
  const std::string name(task.name());
  if (nearest == nullptr) {
    throw UsageError(
        "task " + name + ": no worker can run it; codelet " + task.codelet->name +
        " has no implementation for the workers of this machine, or the task asks for a "
        "worker that does not exist");
  }
  const NodeDescription& node = config_.machine.nodes[nearest->node.value];
  throw CapacityError("task " + name + " needs " +
                      std::to_string(residency_.working_set(task, node.id).value) +
                      " bytes at once on " + node.name + ", whose limit is " +
                      std::to_string(residency_.limit(node.id).value_or(Bytes{0}).value) +
                      " bytes; raise the limit (" +
                      (config_.simulated               ? "of the simulated machine"
                       : node.kind == NodeKind::device ? "option accelerator_memory"
                                                       : "option memory") +
                      ") or use smaller tiles");
}

// Content on its way to a device or from it passes through RAM, one handle at a time.
const graph::Handle* Engine::too_large_for_ram(const Task& task) const {
  if (trivial_ || !residency_.limit(kRam)) return nullptr;
  for (const graph::Access& access : task.accesses()) {
    if (residency_.footprint(*access.handle, kRam) > *residency_.limit(kRam)) return access.handle;
  }
  return nullptr;
}

// --- acquisitions, handles

void Engine::request(memory::Request& request) {
  memory::Actions actions;
  residency_.request(request, actions);
  perform(actions);
}

void Engine::withdraw(memory::Request& request) {
  memory::Actions actions;
  residency_.withdraw(request, actions);
  perform(actions);
}

void Engine::release(memory::Request& request) {
  memory::Actions actions;
  residency_.release(request, actions);
  perform(actions);
}

void Engine::end_acquisition(Task& task, Obtained obtained) {
  if (obtained == Obtained::nothing) {
    graph::Access& access = task.accesses()[0];
    if (writes(access.mode)) access.mode = AccessMode::RW;
  }
  if (obtained == Obtained::content && !trivial_) {
    memory::Actions actions;
    residency_.written(task, kRam, actions);
    residency_.unpin(task, kRam, actions);
    perform(actions);
  }
  graph::ReadyList ready;
  end(task, kNoWorker, Outcome::done, ready);
  make_ready(ready, kNoWorker);
  config_.notify_waiters();
}

void Engine::add(graph::Handle& handle) {
  const std::uint64_t bytes = memory::Arena::padded(handle.bytes()).value;
  std::uint64_t largest = largest_.load(std::memory_order_relaxed);
  while (bytes > largest && !largest_.compare_exchange_weak(largest, bytes)) {
  }
  residency_.add(handle);
}

bool Engine::remove(graph::Handle& handle) {
  if (handle.replicas == nullptr) return true;  // it was asked for again
  if (ever_wished_.load(std::memory_order_relaxed)) {
    // All tasks that use it have ended: who looks at their wishes after this sees that.
    for (const Wishes& wishes : wishes_) const std::lock_guard passed(wishes.mutex);
  }
  memory::Actions actions;
  const bool removed = residency_.remove(handle, actions);
  perform(actions);
  if (!removed) return false;
  // A notice about the handle may still be on its way to the policy.
  while (performing_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  gate_.forget(handle);
  residency_.forget(handle);
  grant_fresh_wishes();
  return true;
}

void Engine::invalidate(graph::Handle& handle) {
  memory::Actions actions;
  residency_.invalidate(handle, actions);
  perform(actions);
}

bool Engine::prefetch(graph::Handle& handle, NodeId node) {
  memory::Actions actions;
  const bool coming = residency_.prefetch(handle, node, actions);
  perform(actions);
  return coming;
}

void Engine::wont_use(graph::Handle& handle) {
  memory::Actions actions;
  residency_.wont_use(handle, actions);
  if (config_.rules.hint) residency_.prefetch(handle, kRam, actions);
  perform(actions);
}

// --- errors

// What the kernel threw, with the task's name before it; then all that has not started is cancelled.
void Engine::fail(const Task& task, const std::exception_ptr& error) {
  const auto told = [&](const std::string& what) {
    return "task " + std::string(task.name()) + what;
  };
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    cancel(base::make_error<TaskError>(
        [&] { return told(" failed: out of memory (std::bad_alloc)"); }));
  } catch (const std::exception& e) {
    cancel(base::make_error<TaskError>([&] { return told(std::string(" failed: ") + e.what()); }));
  } catch (...) {
    cancel(base::make_error<TaskError>(
        [&] { return told(" threw something that is no std::exception"); }));
  }
}

void Engine::report_poisoned(const Task& task, const graph::Handle& handle) {
  report_error(base::make_error<PoisonedError>([&] {
    return "task " + std::string(task.name()) + " reads handle " + handle.name +
           ", whose writer failed or was cancelled; write it anew first";
  }));
}

void Engine::report_error(std::exception_ptr error) {
  const std::lock_guard lock(error_mutex_);
  if (!error_) error_ = std::move(error);
}

void Engine::cancel(std::exception_ptr cause) {
  if (cause) report_error(std::move(cause));
  cancelling_.store(true, std::memory_order_release);
  wake_all();
}

// A write-back has failed. Told once, and at once with the note that it was told: copies end when they
// will, also after the wait that threw the error. Whoever needs room later has a request that fails.
void Engine::tell_broken(const std::exception_ptr& error) {
  {
    const std::lock_guard lock(error_mutex_);
    if (std::exchange(told_broken_, true)) return;
    if (!error_) error_ = error;
    cancelling_.store(true, std::memory_order_release);
  }
  wake_all();
}

bool Engine::has_error() const {
  const std::lock_guard lock(error_mutex_);
  return error_ != nullptr;
}

// What could not be written is tried again from now on: the user may have made room.
std::exception_ptr Engine::take_error() {
  std::exception_ptr error;
  bool try_again = false;
  {
    const std::lock_guard lock(error_mutex_);
    cancelling_.store(false, std::memory_order_release);
    error = std::exchange(error_, nullptr);
    try_again = std::exchange(told_broken_, false);
  }
  // Or somebody else was told: an acquisition that found no room.
  if (try_again || residency_.broken()) {
    memory::Actions actions;
    residency_.try_again(actions);
    perform(actions);
  }
  return error;
}

// --- counts and reports

std::uint64_t Engine::ended_tasks() const {
  std::uint64_t sum = 0;
  for (const Lane& lane : lanes_) {
    for (const auto& count : lane.ended) sum += count.load(std::memory_order_acquire);
  }
  return sum;
}

std::uint64_t Engine::submitted_tasks() const {
  std::uint64_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.submitted.load(std::memory_order_acquire);
  return sum;
}

void Engine::count_bytes(const Task& task, WorkerId worker) {
  std::uint64_t sum = 0;
  for (const graph::Access& access : task.accesses()) sum += access.handle->bytes().value;
  lane(worker).ended_bytes.fetch_add(sum, std::memory_order_release);
}

Bytes Engine::ended_bytes() const {
  Bytes sum;
  for (const Lane& lane : lanes_) sum += Bytes{lane.ended_bytes.load(std::memory_order_acquire)};
  return sum;
}

// Ends are summed first, and only grow; a submission is taken back only when it is refused, by the thread that
// is still in it. So if the sums agree, all that had been submitted when the second sum began has ended.
bool Engine::all_ended() const {
  const std::uint64_t ended = ended_tasks();
  return ended == submitted_tasks();
}

Statistics Engine::statistics() const {
  Statistics s;
  residency_.statistics(s);
  s.now = config_.now();
  s.scheduling = gate_.time_in_policy();
  for (const WorkerDescription& worker : config_.machine.workers) {
    const Lane& lane = lanes_[worker.id.value];
    const auto busy = worker_drivers_[worker.id.value]->busy(worker.id);
    s.workers.push_back(
        {lane.ended[0].load() + lane.ended[1].load(), busy ? *busy : busy_time(lane, s.now)});
  }
  for (const Lane& lane : lanes_) {
    s.tasks_submitted += lane.submitted.load(std::memory_order_relaxed);
    s.tasks_done += lane.ended[0].load(std::memory_order_relaxed);
    s.tasks_failed += lane.ended[1].load(std::memory_order_relaxed);
    s.tasks_cancelled += lane.ended[2].load(std::memory_order_relaxed);
  }
  return s;
}

namespace {
std::string_view to_string(memory::RequestState state) {
  constexpr std::string_view names[] = {"looked at early", "waits for room", "being copied in",
                                        "can start", "could not be copied in"};
  return names[static_cast<std::size_t>(state)];
}
}  // namespace

// A task's name goes with the task, so a report reads a copy: whole, unless the next task begins meanwhile.
[[gnu::noinline]] void Engine::Lane::keep_name(std::string_view of) {
  std::array<std::uint64_t, 6> words{};
  of.copy(reinterpret_cast<char*>(words.data()), sizeof(words) - 1);
  for (std::size_t i = 0; i < words.size(); ++i) name[i].store(words[i], std::memory_order_relaxed);
}

std::string Engine::Lane::running_name() const {
  const Codelet* const codelet = running.load(std::memory_order_relaxed);
  if (codelet == nullptr) return {};
  std::array<std::uint64_t, 7> words{};  // the last one ends the text
  for (std::size_t i = 0; i < name.size(); ++i) words[i] = name[i].load(std::memory_order_relaxed);
  if (words[0] == 0) return codelet->name;
  return reinterpret_cast<const char*>(words.data());
}

// Only what can be read while others go on: a task in a window cannot end while its lock is held.
std::string Engine::describe() const {
  std::string text = std::to_string(submitted_tasks()) + " tasks submitted, " +
                     std::to_string(ended_tasks()) + " ended, policy " +
                     std::string(policy_->name()) + "\n";
  for (const WorkerDescription& worker : config_.machine.workers) {
    const std::string running = lanes_[worker.id.value].running_name();
    text += "worker " + std::to_string(worker.id.value) + " on " +
            config_.machine.nodes[worker.node.value].name +
            (running.empty() ? ": runs nothing" : ": runs " + running) + "\n";
  }
  for (std::size_t n = 0; n < windows_.size(); ++n) {
    const std::lock_guard lock(windows_[n].mutex);
    for (const Pulled* entry : windows_[n].pulled) {
      text += "task " + std::string(entry->task->name()) + " on " + config_.machine.nodes[n].name +
              ": " + std::string(to_string(entry->request.state.load(std::memory_order_acquire))) +
              "\n";
    }
  }
  return text + residency_.describe();
}

}  // namespace vicinal::engine
