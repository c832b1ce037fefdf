// Who sleeps and who is woken.
//
// No wake-up is lost: a worker sets its idle bit, then looks for work once more; whoever makes work
// available publishes it, then reads the idle bits. At least one of the two sees the other, by a fence
// between the two steps of each; the one who goes to sleep pays for both (asymmetric_fence.hpp). No
// line shared by all workers is written while they are busy. A push passes over who would not pull what was
// pushed (Window::satisfied); whoever changes that by taking from the window wakes its workers.
#include "base/asymmetric_fence.hpp"
#include "base/processor.hpp"
#include "engine/lifecycle.hpp"

namespace vicinal::engine {

void Engine::set_idle(WorkerId worker) {
  idle_[worker.value / 64].fetch_or(std::uint64_t{1} << (worker.value % 64),
                                    std::memory_order_seq_cst);
  if (!config_.simulated) base::heavy_fence();
}

// The clock is looked at only by those who have nothing to do: to time every kernel would take longer
// than the rest of a small task.
void Engine::begin_idle_time(WorkerId worker) {
  Lane& own = lanes_[worker.value];
  if (own.idle_since.load(std::memory_order_relaxed) != kNotIdle) return;
  own.idle_since.store(now().ns, std::memory_order_relaxed);
}

Time Engine::busy_time(const Lane& lane, Time now) {
  const std::int64_t since = lane.idle_since.load(std::memory_order_relaxed);
  const std::int64_t idle = lane.idle_ns.load(std::memory_order_relaxed);
  return {(since == kNotIdle ? now.ns : since) - idle};
}

// A thread that submits and a worker that runs what was submitted a moment ago meet at every task: at
// the policy's queue, at the handles, at the task. When the worker has waited for some hundreds of
// tasks it goes through them as fast as if nobody submitted. docs/architecture.md has numbers.
void Engine::let_submitter_run_ahead() const {
  if (config_.simulated || config_.machine.workers.size() == 1) return;
  constexpr int kLooks = 5;
  const std::uint64_t first = submissions();
  std::uint64_t before = first;
  for (int look = 0; look < kLooks; ++look) {
    for (int pauses = 16 << look; pauses > 0; --pauses) base::pause();
    const std::uint64_t now = submissions();
    if (now == before || now - first >= kDistance) return;
    before = now;
  }
}

// Once per so many tasks: a worker that has caught up with the submitting thread would never run dry,
// but stay right behind it.
void Engine::keep_distance(Lane& own) {
  own.burst = 0;
  const std::uint64_t now = submissions();
  const bool goes_on = now != own.submissions_then;
  own.submissions_then = now;
  if (goes_on && submitted_tasks() - ended_tasks() < kDistance) let_submitter_run_ahead();
}

bool Engine::wake_one_of(std::span<const WorkerId> workers) {
  for (const WorkerId worker : workers) {
    if (!clear_idle(worker)) continue;
    worker_drivers_[worker.value]->wake(worker);
    return true;
  }
  return false;
}

// By the policy, under its lock: the worker finds what it is woken for when it gets that.
void Engine::wake(WorkerId worker) {
  base::light_fence();
  if (away(worker)) {
    if (anyone_idle()) wake_all();
  } else if (clear_idle(worker)) {
    worker_drivers_[worker.value]->wake(worker);
  }
}

bool Engine::wake_node(NodeId node) {
  base::light_fence();
  bool woken = false;
  for (const WorkerId worker : windows_[node.value].workers) {
    if (!clear_idle(worker)) continue;
    worker_drivers_[worker.value]->wake(worker);
    woken = true;
  }
  return woken;
}

void Engine::wake_a_peer(const Window& window) {
  if (window.peers.empty()) return;
  base::light_fence();
  if (!anyone_idle()) return;
  for (const NodeId peer : window.peers) {
    if (windows_[peer.value].satisfied.load(std::memory_order_acquire)) continue;
    if (wake_one_of(windows_[peer.value].workers)) return;
  }
}

// Of the window's workers, how many wait for a task of it.
std::size_t Engine::without_task(const Window& window) const {
  return static_cast<std::size_t>(std::ranges::count_if(window.workers, [&](const WorkerId worker) {
    return lanes_[worker.value].idle_since.load(std::memory_order_relaxed) != kNotIdle;
  }));
}

void Engine::wake_all() {
  for (std::size_t n = 0; n < windows_.size(); ++n) {
    wake_node(NodeId{static_cast<std::uint32_t>(n)});
  }
}

void Engine::wake_the_idle(std::size_t tasks, const graph::Task* restricted, WorkerId releasing,
                           bool takes_one) {
  if (restricted != nullptr) return wake_all();
  for (std::size_t n = 0; n < windows_.size(); ++n) {
    const auto& workers = windows_[n].workers;
    if (!windows_[n].alike) {  // the first that sleeps may be one that cannot run what was pushed
      wake_node(NodeId{static_cast<std::uint32_t>(n)});
      continue;
    }
    if (windows_[n].satisfied.load(std::memory_order_acquire)) continue;
    const bool own = takes_one && config_.machine.workers[releasing.value].node.value == n;
    for (std::size_t i = own ? 1 : 0; i < tasks && wake_one_of(workers); ++i) {
    }
  }
}

// Tasks that it was expected to take are somebody else's now.
void Engine::worker_leaves(WorkerId worker) {
  begin_idle_time(worker);
  clear_idle(worker);
  away_[worker.value / 64].fetch_or(std::uint64_t{1} << (worker.value % 64));
  if (!all_ended()) wake_all();
}

void Engine::worker_comes(WorkerId worker) {
  away_[worker.value / 64].fetch_and(~(std::uint64_t{1} << (worker.value % 64)));
}

bool Engine::stalled() const {
  for (const WorkerDescription& worker : config_.machine.workers) {
    const std::uint64_t mask = std::uint64_t{1} << (worker.id.value % 64);
    const std::size_t word = worker.id.value / 64;
    if (((idle_[word].load() | away_[word].load()) & mask) == 0) return false;
  }
  return performing_.load() == 0 && !gate_.has_deferred() && residency_.quiet();
}

}  // namespace vicinal::engine
