#include "engine/producers.hpp"

#include <algorithm>

#include "graph/dependencies.hpp"

namespace vicinal::engine {

using graph::Access;
using graph::Task;

namespace {
// Handle::awaited.
constexpr std::uint8_t kLive = 1;
constexpr std::uint8_t kRelieved = 2;  // its last user is in flight

bool is_live(const Access& access) {
  return access.handle->awaited.load(std::memory_order_relaxed) != 0;
}

// What is not the application's, is bound to some worker, or is a part of another task, does not wait.
bool may_wait(const Task& task) {
  if (!task.extension) return true;
  const graph::TaskExtension& more = *task.extension;
  return !task.is_own() && !task.is_bound() && !task.reduces() && more.outer == nullptr &&
         more.combines == nullptr && more.recursive == Recursive::never;
}
}  // namespace

Producers::Producers(const MachineDescription& machine, const memory::Residency& residency,
                     bool waits)
    : residency_(residency), workers_(static_cast<std::int64_t>(machine.workers.size())) {
  const bool all_in_ram = std::ranges::all_of(
      machine.workers, [](const WorkerDescription& worker) { return worker.node == kRam; });
  if (waits && all_in_ram && machine.disk()) limit_ = residency.limit(kRam);
  if (!limit_) return;
  few_ = {limit_->value / 8};
  looked_for_ = {limit_->value / 8 * 3};
  some_ = {limit_->value / 2};
  most_ = {limit_->value / 8 * 7};
}

bool Producers::makes_new(const Access& access) const {
  return access.mode == AccessMode::W && !is_live(access) &&
         residency_.valid_mask(*access.handle) == 0;
}

Producers::Change Producers::change_by(const Task& task) const {
  Change change;
  for (const Access& access : task.accesses()) {
    if (makes_new(access)) {
      if (change.makes.value == 0) change.first = access.handle->id;
      change.makes += residency_.footprint(*access.handle, kRam);
      if (!graph::is_last_use_of_content(access)) change.for_others = true;
    } else if (is_live(access)) {
      if (reads(access.mode)) change.kind = user;
      if (graph::is_last_use_of_content(access)) {
        change.sets_free += residency_.footprint(*access.handle, kRam);
      }
    } else if (reads(access.mode) && change.kind == maker) {
      change.kind = loader;
    }
  }
  return change;
}

bool Producers::fits(const Change& change, Bytes room) const {
  const std::uint64_t live = live_.load(std::memory_order_relaxed);
  return live == 0 || live + change.makes.value <= room.value + change.sets_free.value;
}

void Producers::count(const Task& task) {
  bool makes = false;
  bool reads_live = false;
  for (const Access& access : task.accesses()) {
    graph::Handle& handle = *access.handle;
    if (makes_new(access)) {
      handle.awaited.store(kLive, std::memory_order_relaxed);
      live_.fetch_add(residency_.footprint(handle, kRam).value, std::memory_order_relaxed);
      makes = true;
      continue;
    }
    if (!is_live(access)) continue;
    if (access.mode == AccessMode::W) makes = true;
    if (reads(access.mode)) reads_live = true;
    // A worker that the task is bound to may be away.
    if (!task.is_bound() && handle.awaited.load(std::memory_order_relaxed) == kLive &&
        graph::is_last_use_of_content(access)) {
      handle.awaited.store(kLive | kRelieved, std::memory_order_relaxed);
      relieving_.fetch_add(1, std::memory_order_seq_cst);
    }
  }
  if (!makes && !reads_live) return;
  in_flight_.fetch_add(1, std::memory_order_seq_cst);
  if (!reads_live) return;
  reading_.fetch_add(1, std::memory_order_seq_cst);
  barren_.store(0, std::memory_order_relaxed);
}

bool Producers::throttle(Task& task, bool all_go) {
  const Change change = change_by(task);
  const bool grows = change.for_others && change.sets_free < change.makes && may_wait(task);
  const bool others_wait = change.kind == user ? !waiting_[user].empty() : any_throttled();
  if (!grows || all_go || (!others_wait && fits(change, change.kind == user ? most_ : few_))) {
    count(task);
    return false;
  }
  auto& those = waiting_[change.kind];
  those.push_back({change.first, &task});
  std::push_heap(those.begin(), those.end());
  throttled_.fetch_add(1, std::memory_order_seq_cst);
  if (change.kind == loader) loaders_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

Task* Producers::take(Kind kind) {
  auto& those = waiting_[kind];
  std::pop_heap(those.begin(), those.end());
  Task* const task = those.back().task;
  those.pop_back();
  throttled_.fetch_sub(1, std::memory_order_seq_cst);
  if (kind == loader) loaders_.fetch_sub(1, std::memory_order_relaxed);
  return task;
}

// None goes before a user: it would take that one's room.
std::optional<Producers::Kind> Producers::first() const {
  if (!waiting_[user].empty()) return user;
  if (waiting_[loader].empty())
    return waiting_[maker].empty() ? std::nullopt : std::optional(maker);
  if (waiting_[maker].empty()) return loader;
  return waiting_[maker].front().makes < waiting_[loader].front().makes ? maker : loader;
}

// What a maker needs comes at once: one per worker is enough, and leaves the look-ahead to others, whose data have to
// be fetched.
bool Producers::fits(Kind kind) const {
  const std::int64_t makers =
      in_flight_.load(std::memory_order_relaxed) - reading_.load(std::memory_order_relaxed);
  if (kind == maker && makers >= workers_) return false;
  return fits(change_by(*waiting_[kind].front().task), kind == user ? most_ : some_);
}

Task* Producers::take_fitting() {
  const auto kind = first();
  if (!kind) return nullptr;
  if (fits(*kind)) return take(*kind);
  if (*kind == user) return nullptr;
  const Kind other = *kind == maker ? loader : maker;
  return !waiting_[other].empty() && fits(other) ? take(other) : nullptr;
}

Task* Producers::take_in_need() {
  const auto kind = first();
  if (!kind) return nullptr;
  const Change change = change_by(*waiting_[*kind].front().task);
  const bool has_room = fits(change, most_) && relieving_.load(std::memory_order_seq_cst) <= 0;
  const bool alone = in_flight_.load(std::memory_order_seq_cst) <= 0;
  const bool in_vain = reading_.load(std::memory_order_seq_cst) <= 0 &&
                       barren_.load(std::memory_order_relaxed) >= kInVain * workers_;
  return has_room || alone || in_vain ? take(*kind) : nullptr;
}

Task* Producers::take_any() {
  const auto kind = first();
  return kind ? take(*kind) : nullptr;
}

bool Producers::concerned_by(const Task& task) const {
  return std::ranges::any_of(task.accesses(), is_live);
}

// A later user may have been submitted since the last one was pulled: then the data stay, and that relief is over.
// What the task found live it left so: nothing else could end their life meanwhile.
void Producers::note_end(const Task& task, bool was_in_flight) {
  bool counts = false;
  bool reads_live = false;
  for (const Access& access : task.accesses()) {
    if (!is_live(access)) continue;
    const bool makes = access.mode == AccessMode::W;
    counts |= makes || reads(access.mode);
    reads_live |= reads(access.mode);
  }
  for (const Access& access : task.accesses()) {
    settle(*access.handle, graph::is_unused(*access.handle));
  }
  if (!was_in_flight || !counts) return;
  in_flight_.fetch_sub(1, std::memory_order_seq_cst);
  if (reads_live) {
    reading_.fetch_sub(1, std::memory_order_seq_cst);
  } else {
    barren_.fetch_add(1, std::memory_order_relaxed);
  }
}

// Two readers may end at once, and both find that nobody uses the data: one of them takes the mark.
void Producers::settle(graph::Handle& handle, bool unused) {
  std::uint8_t mark = handle.awaited.load(std::memory_order_relaxed);
  std::uint8_t left = 0;
  do {
    left = unused ? 0 : mark & kLive;
    if (left == mark) return;
  } while (!handle.awaited.compare_exchange_weak(mark, left, std::memory_order_relaxed));
  if ((mark & kRelieved) != 0) relieving_.fetch_sub(1, std::memory_order_seq_cst);
  if (left == 0) {
    live_.fetch_sub(residency_.footprint(handle, kRam).value, std::memory_order_relaxed);
  }
}

}  // namespace vicinal::engine
