// The tasks that a memory node has pulled from the policy and not started, see window.hpp: how many there
// are, which of them starts next, what is copied for them early, and when one moves to another node.
#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "engine/decisions.hpp"
#include "engine/lifecycle.hpp"
#include "engine/task_state.hpp"

namespace vicinal::engine {

using graph::ReadyList;
using graph::Task;
using graph::TaskState;

// A request of a task that the worker can run has ended, perhaps by what was just performed.
bool Engine::anything_ended(Window& window, WorkerId worker) {
  const std::lock_guard lock(window.mutex);
  std::size_t firm = window.firm;
  for (auto entry = window.pulled.begin(); firm > 0; ++entry) {
    if ((*entry)->firm_for == kNoWorker) continue;
    --firm;
    const auto state = (*entry)->request.state.load(std::memory_order_acquire);
    const bool ended =
        state == memory::RequestState::ready || state == memory::RequestState::failed;
    if (ended && can_start(**entry, worker)) return true;
  }
  return false;
}

// While they run, the operands of the largest can come, and as many bytes leave to make room for them;
// or more tasks would do more harm than good.
bool Engine::hides_copies(Window& window) const {
  if (window.pulled.size() >= window.least || window.claimed > window.most_to_hide) return true;
  if (!window.hides) {
    Bytes largest;
    for (const Pulled* entry : window.pulled) largest = std::max(largest, entry->working_set);
    const auto workers = static_cast<std::int64_t>(window.workers.size());
    window.hides = window.runs.ns / workers >= duration(largest, window.bandwidth).ns * 2;
  }
  return *window.hides;
}

// Tasks are pulled so that their copies are made while others run. What is pulled runs longer than the copies
// for it and for what would come next: then the next can wait with the policy, where others find it, but for one
// in reserve per worker. Not even that if copies are short beside a task, also those of all its operands, which
// another node may have to make: a worker that has ended asks anew. Where
// copies take longer, and nodes share the way that they take, it is enough that this node has one to copy
// for: further copies would only wait for one another, and what they are for would fill the memory meanwhile.
// Not asked of a policy that has given its tasks to workers before: nobody else would find them.
bool Engine::lasts(const Window& window, WorkerId worker) const {
  constexpr double kMargin = 4;         // fetches of a task: the next ones may be larger
  constexpr double kNegligible = 0.02;  // of a task's time
  const std::size_t size = window.pulled.size();
  if (!window.timed || window.unknown != 0 || size == 0) return false;
  const std::size_t workers = window.workers.size();
  const auto runs = static_cast<double>(window.runs.ns);
  const double fetch = window.crowd * static_cast<double>(window.fetch.ns);
  const double copies = window.crowd * static_cast<double>(window.copies.ns) + kMargin * fetch;
  if (runs / static_cast<double>(workers) < copies) {
    return window.crowd > 1 && size > workers &&
           std::ranges::any_of(window.pulled, [](const Pulled* entry) {
             return entry->copies.ns > 0 && entry->request.state.load(std::memory_order_relaxed) !=
                                                memory::RequestState::ready;
           });
  }
  const bool asks = lanes_[worker.value].idle_since.load(std::memory_order_relaxed) == kNotIdle;
  if (size < without_task(window) + (asks ? 1 : 0)) return false;
  if (size > workers) return true;
  Time anew;
  if (window.bandwidth.value > 0) {
    for (const Pulled* entry : window.pulled) {
      anew = std::max(anew, duration(entry->working_set, window.bandwidth));
    }
  }
  return std::max(fetch, window.crowd * static_cast<double>(anew.ns)) <=
         kNegligible * runs / static_cast<double>(size);
}

// As far as the look-ahead goes, but not so far that the operands of what waits would push out what
// the tasks in course and their successors use: a quarter of the node. Measured on Cholesky at a
// quarter of the matrix, 31 tiles of room: 8 tasks ahead without this bound load 1.2 times the bytes
// of 2 ahead. On an accelerator it goes further, to `least` tasks, while those pulled do not run as long as
// copies take, nor claim three eighths of the node: a product of 20 x 20 tasks takes 0.39 s instead of 0.46
// (v100p with 250 MiB, 17 of its block columns). True: it has pulled more than its own workers need at once.
bool Engine::refill(Window& window, WorkerId worker, ReadyList& cancelled) {
  const NodeId node = config_.machine.workers[worker.value].node;
  if (residency_.take_traffic(node)) window.calm.store(0, std::memory_order_relaxed);
  const bool calm = window.calm.load(std::memory_order_relaxed) >= kCalm;
  const std::size_t depth = calm ? 1 : window.depth;
  bool pulled_more = false;
  for (;;) {
    const bool full = window.pulled.size() >= depth;
    const bool enough = window.pulled.size() > window.workers.size() && window.most_claimed &&
                        window.claimed > *window.most_claimed && hides_copies(window);
    // One that it can run, at least: the others' tasks may be bound to them, and when they have gone
    // nobody would wake this worker.
    if ((full || enough || lasts(window, worker)) && has_one_for(window, worker)) {
      // Not while calm: it looks further ahead as soon as something has to be copied.
      if (!calm && window.workers.size() == 1) {
        window.satisfied.store(true, std::memory_order_release);
      }
      return pulled_more;
    }
    Task* task = pop(worker);
    if (task == nullptr) return pulled_more;
    if (cancelling()) {
      cancelled.append(*task);
    } else {
      keep(window, *task);
      pulled_more = window.pulled.size() > window.workers.size();
    }
  }
}

// Where few tasks are ready one node's look-ahead may hold them all. A worker that has none gets one
// from the longest look-ahead of the nodes like its own, if the policy agrees.
bool Engine::move_from_peer(WorkerId worker) {
  Window& own = windows_[config_.machine.workers[worker.value].node.value];
  if (own.peers.empty() || cancelling()) return false;
  const auto held = [&](NodeId node) {
    return windows_[node.value].size.load(std::memory_order_relaxed);
  };
  const NodeId richest = std::ranges::max(own.peers, {}, held);
  Window& peer = windows_[richest.value];
  if (peer.size.load(std::memory_order_relaxed) == 0) return false;
  memory::Actions actions;
  Task* const task = give_away(peer, worker, actions);
  if (task != nullptr) {
    {
      const std::lock_guard lock(own.mutex);
      keep(own, *task);
    }
    // They may pull more again, also what was pushed while the window was satisfied; and the task may have
    // been the one whose operands were on their way.
    wake_node(richest);
  }
  perform(actions);
  return task != nullptr;
}

// As many as its own workers wait for stay. Of the others the one whose copies take least, the last of
// such, if they take less than half of the time that it would wait here: others use the links, too.
Task* Engine::give_away(Window& window, WorkerId to, memory::Actions& actions) {
  const std::lock_guard lock(window.mutex);
  const NodeId other = config_.machine.workers[to.value].node;
  const auto workers = static_cast<std::int64_t>(window.workers.size());
  const std::size_t stay = without_task(window);
  std::size_t best = window.pulled.size();
  Time least;
  Time runs;   // of those before it
  Time loads;  // and of itself
  MoveDecision decision(*this, to);
  for (std::size_t i = 0; i < window.pulled.size(); ++i) {
    const Pulled& entry = *window.pulled[i];
    const Time run = entry.run_time;
    // What its workers run now takes as long as it does, for all that is known.
    const Time until_free{(runs.ns + (stay == 0 ? run.ns : 0)) / workers};
    runs += run;
    loads += copy_time(*entry.task, entry.request.node);
    const bool failed =
        entry.request.state.load(std::memory_order_acquire) == memory::RequestState::failed;
    if (i < stay || failed || !can_run(*entry.task, to)) continue;
    const Time copies = copy_time(*entry.task, other);
    const Time wait = std::max(until_free, loads);
    decision.consider(entry, copies, wait);
    if (run.ns > 0 && 2 * copies.ns >= wait.ns) continue;
    if (best != window.pulled.size() && copies > least) continue;
    best = i;
    least = copies;
  }
  if (best == window.pulled.size()) return nullptr;
  const bool agreed = gate_.may_move(*window.pulled[best]->task, to);
  decision.tell(*window.pulled[best], agreed);
  if (!agreed) return nullptr;
  residency_.withdraw(window.pulled[best]->request, actions);
  Task* const task = drop(window, best);
  move(*task, TaskState::scheduled);
  return task;
}

// Alone on the links, for what is not there.
Time Engine::copy_time(const Task& task, NodeId node) const {
  Time sum;
  for (const graph::Access& access : task.accesses()) {
    if (reads(access.mode) && !residency_.on_node(*access.handle, node)) {
      sum += transfer_time(*access.handle, node);
    }
  }
  return sum;
}

bool Engine::can_start(const Pulled& entry, WorkerId worker) const {
  return entry.for_all || can_run(*entry.task, worker);
}

bool Engine::has_one_for(const Window& window, WorkerId worker) const {
  return std::ranges::any_of(window.pulled,
                             [&](const Pulled* entry) { return can_start(*entry, worker); });
}

void Engine::keep(Window& window, Task& task) {
  move(task, TaskState::fetching);
  if (window.unused.empty()) window.unused.push_back(&window.entries.emplace_back());
  Pulled* const entry = window.unused.back();
  window.unused.pop_back();
  entry->task = &task;
  entry->firm_for = kNoWorker;
  entry->request.kind = memory::RequestKind::task;
  entry->request.node = config_.machine.workers[window.workers.front().value].node;
  entry->request.operands = task.accesses();
  entry->request.error = nullptr;
  entry->request.state.store(memory::RequestState::idle, std::memory_order_relaxed);
  entry->working_set = residency_.working_set(task, entry->request.node);
  entry->run_time = run_time(task, window.workers.front());
  window.runs += entry->run_time;
  if (entry->run_time.ns == 0) ++window.unknown;
  entry->copies = window.timed ? copy_time(task, entry->request.node) : Time{0};
  window.copies += entry->copies;
  window.fetch = std::max(entry->copies, Time{window.fetch.ns - window.fetch.ns / 16});
  window.hides.reset();
  entry->for_all = window.alike && !task.only_worker();
  entry->lacks = nullptr;
  window.claimed += residency_.claim(task, entry->request.node);
  window.pulled.push_back(entry);
  window.none_for = kNoWorker;
  window.size.store(window.pulled.size(), std::memory_order_relaxed);
}

Task* Engine::drop(Window& window, std::size_t at) {
  Pulled* const entry = window.pulled[at];
  window.pulled.erase(window.pulled.begin() + static_cast<std::ptrdiff_t>(at));
  window.size.store(window.pulled.size(), std::memory_order_relaxed);
  window.satisfied.store(false, std::memory_order_release);
  if (entry->firm_for != kNoWorker) --window.firm;
  if (at < window.complete) --window.complete;
  Task* task = entry->task;
  window.claimed -= residency_.unclaim(*task, entry->request.node);
  window.runs = window.runs - entry->run_time;
  window.copies = window.copies - entry->copies;
  if (entry->run_time.ns == 0) --window.unknown;
  window.hides.reset();
  window.unused.push_back(entry);
  return task;
}

// Looks first at what was missing the last time: most often it still is.
bool Engine::still_lacks(Pulled& entry) const {
  if (entry.lacks != nullptr && !stays(*entry.lacks)) return true;
  for (const graph::Access& access : entry.task->accesses()) {
    entry.lacks = &residency_.look_at(*access.handle, entry.request.node);
    if (!stays(*entry.lacks)) return true;
  }
  return false;
}

// The first task, in the policy's order, whose operands are all here: pinned for it by its request,
// or pinned now.
Task* Engine::take_runnable(Window& window, WorkerId worker, memory::Actions& actions,
                            ReadyList& cancelled) {
  const std::uint64_t gains =
      residency_.gains(config_.machine.workers[window.workers.front().value].node);
  if (window.none_for == worker && window.none_at == gains && !cancelling()) return nullptr;
  bool all_lack = true;  // or wait for their request
  for (std::size_t i = 0; i < window.pulled.size();) {
    Pulled& entry = *window.pulled[i];
    const auto state = entry.request.state.load(std::memory_order_acquire);
    if (state == memory::RequestState::failed) {
      if (entry.request.error == residency_.broken()) tell_broken(entry.request.error);
      cancel(entry.request.error);
      cancelled.append(*drop(window, i));
      continue;
    }
    if (cancelling()) {
      residency_.withdraw(entry.request, actions);
      cancelled.append(*drop(window, i));
      continue;
    }
    const bool maybe = state == memory::RequestState::ready ||
                       (state == memory::RequestState::idle && !still_lacks(entry));
    if (maybe && can_start(entry, worker)) {
      const bool here = state == memory::RequestState::ready ||
                        residency_.try_pin(*entry.task, entry.request.node, actions);
      if (here) {
        if (config_.listener != nullptr) tell_start(*this, window, i, worker);
        return drop(window, i);
      }
      all_lack = false;  // until others use it no longer
    }
    ++i;
  }
  if (all_lack) {
    window.none_for = worker;
    window.none_at = gains;
  }
  return nullptr;
}

// The first tasks that the worker could start next get firm reservations. True if one has ended at
// once.
bool Engine::ask_firmly(Window& window, WorkerId worker, memory::Actions& actions) {
  std::size_t own = 0;
  std::size_t firm = window.firm;
  for (auto entry = window.pulled.begin(); firm > 0; ++entry) {
    if ((*entry)->firm_for == kNoWorker) continue;
    --firm;
    if ((*entry)->firm_for == worker) ++own;
  }
  bool ended = false;
  for (std::size_t i = own; i < window.firm_each; ++i) {
    ended |= ask_for_one(window, worker, actions);
  }
  return ended;
}

bool Engine::ask_for_one(Window& window, WorkerId worker, memory::Actions& actions) {
  const auto entry = std::ranges::find_if(window.pulled, [&](const Pulled* waits) {
    return waits->request.state.load(std::memory_order_acquire) == memory::RequestState::idle &&
           can_start(*waits, worker);
  });
  if (entry == window.pulled.end()) return false;
  Pulled* const first = *entry;
  first->firm_for = worker;
  ++window.firm;
  residency_.request(first->request, actions);
  const auto state = first->request.state.load(std::memory_order_acquire);
  return state == memory::RequestState::ready || state == memory::RequestState::failed;
}

// Copies for the others, in their order, as far as room can be had without waiting; then some room is
// made for those that come next. False: one got no room.
bool Engine::copy_early(Window& window, memory::Actions& actions) {
  const NodeId node = config_.machine.workers[window.workers.front().value].node;
  const std::uint64_t losses = residency_.losses(node);
  if (window.complete_at != losses) {
    window.complete = 0;
    window.complete_at = losses;
  }
  const auto waits = [](const Pulled* entry) {
    return entry->request.state.load(std::memory_order_acquire) == memory::RequestState::idle;
  };
  for (; window.complete < window.pulled.size(); ++window.complete) {
    const Pulled* const entry = window.pulled[window.complete];
    if (!waits(entry)) continue;
    for (const graph::Access& access : entry->task->accesses()) {
      if (!reads(access.mode) || residency_.comes_or_stays(*access.handle, node)) continue;
      if (!residency_.prefetch(*access.handle, node, actions)) return false;
    }
  }
  if (window.most_kept_free.value > 0) {
    Bytes largest;
    for (const Pulled* entry : window.pulled) {
      if (waits(entry)) largest = std::max(largest, entry->working_set);
    }
    residency_.keep_free(node, std::min(largest * 2, window.most_kept_free), actions);
  }
  return true;
}

// And then for tasks that are still with the policy, in the order of its wishes, up to the first that
// gets no room. They drive nothing out. StarPU's do (Rules::prefetch), what no task that waits will use: that
// costs up to 2.8 times the bytes (dmdar, products) and saves none.
void Engine::grant_wishes(NodeId node, memory::Actions& actions) {
  Wishes& wishes = wishes_[node.value];
  Wishes& places = places_[node.value];
  if (!wishes.any() && !places.any()) return;
  const std::lock_guard lock(wishes.mutex);
  wishes.fresh.store(false, std::memory_order_relaxed);
  places.fresh.store(false, std::memory_order_relaxed);
  const auto waits = [](const Wish& wish) {
    return wish.task->state.load(std::memory_order_relaxed) == TaskState::ready &&
           graph::TaskPool::alive(*wish.task, wish.id);
  };
  for (; !places.empty(); places.pop_front()) {
    const Wish& wish = places.front();
    if (waits(wish) && !residency_.place_early(*wish.handle, node, wish.mode, actions)) break;
  }
  const auto room =
      config_.rules.prefetch ? memory::EarlyRoom::unpromised : memory::EarlyRoom::free_alone;
  for (; !wishes.empty(); wishes.pop_front()) {
    const Wish& wish = wishes.front();
    if (!waits(wish)) continue;  // pulled meanwhile
    const bool owns = config_.rules.owner && writes(wish.mode);
    if (!owns && residency_.comes_or_stays(*wish.handle, node)) continue;
    if (!residency_.prefetch(*wish.handle, node, actions, room, owns)) {
      return;
    }
  }
}

// On whatever node it was to run: it may have been popped for another one.
[[gnu::noinline]] void Engine::forget_wishes(const Task& task) {
  for (std::uint32_t nodes = WishedTasks::take(task); nodes != 0; nodes &= nodes - 1) {
    const NodeId node{static_cast<std::uint32_t>(std::countr_zero(nodes))};
    const std::lock_guard lock(wishes_[node.value].mutex);
    residency_.forget_uses(task, wished_.take_use(task, node), node);
  }
}

[[gnu::noinline]] void Engine::grant_fresh_wishes(memory::Actions& actions) {
  fresh_wishes_.store(false, std::memory_order_relaxed);
  for (std::uint32_t n = 0; n < wishes_.size(); ++n) {
    if (wishes_[n].fresh.load(std::memory_order_relaxed) ||
        places_[n].fresh.load(std::memory_order_relaxed)) {
      grant_wishes(NodeId{n}, actions);
    }
  }
}

}  // namespace vicinal::engine
