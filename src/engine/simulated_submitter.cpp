#include "engine/simulated_submitter.hpp"

#include <algorithm>
#include <utility>

#include "engine/kinds/recursion.hpp"
#include "engine/submissions.hpp"
#include "graph/partition.hpp"

namespace vicinal::engine {

namespace {

// Handles with the same whole may hold the same content.
const graph::Handle* whole_of(const graph::Handle& handle) {
  const graph::Handle* whole = &handle;
  for (;;) {
    const graph::Family* const family = whole->family.load(std::memory_order_relaxed);
    if (family == nullptr || family->of == nullptr) return whole;
    whole = family->of->whole;
  }
}

// Submitted by a recursive task, or at the end of one: RAM holds the operands, and later submissions of the application wait
// behind the recursive task anyway.
bool uses_acquired(const graph::Task& task) {
  const bool returns_parts = task.kind == graph::TaskKind::repartition && task.extension->on_end;
  return Recursions::current() != nullptr || returns_parts;
}

bool share_any(std::span<const graph::Access> some, std::span<const graph::Access> others) {
  return std::ranges::any_of(some, [&](const graph::Access& access) {
    const graph::Handle* const whole = whole_of(*access.handle);
    return std::ranges::any_of(
        others, [&](const graph::Access& other) { return whole_of(*other.handle) == whole; });
  });
}

}  // namespace

SimulatedSubmitter::SimulatedSubmitter(Submissions& all, sim::World& world, Engine& engine,
                                       DeferredTasks* deferred, Time overhead)
    : all_(all),
      world_(world),
      engine_(engine),
      deferred_(deferred),
      overhead_(overhead),
      place_(world.enter(*this)) {}

TaskId SimulatedSubmitter::submit(graph::Task& task, std::span<const TaskId> after, Bytes bytes) {
  const Deferral deferral = deferred_ != nullptr ? Deferral::allowed : Deferral::none;
  return add({{&task, {after.begin(), after.end()}, kNoWorker, deferral}, bytes, true},
             graph::Content::written);
}

void SimulatedSubmitter::submit_plain(graph::Task& task, graph::Content leaves) {
  Bytes bytes;
  if (graph::is_scheduled(task.kind)) {
    for (const graph::Access& access : task.accesses()) bytes += access.handle->bytes();
  }
  const bool is_invalidation = leaves == graph::Content::invalidated;
  const Deferral deferral = is_invalidation ? Deferral::allowed : Deferral::none;
  static_cast<void>(add({{&task, {}, kNoWorker, deferral}, bytes, false}, leaves));
}

TaskId SimulatedSubmitter::add(Submission submission, graph::Content leaves) {
  graph::Task& task = *submission.entry.task;
  // It may have ended when this returns.
  const TaskId id = engine_.submit(task, submission.entry.after, kNoWorker,
                                   {.step = When::Step::announcement, .leaves = leaves});
  if (graph::is_counted(task.kind)) ++tasks_;
  bytes_ += submission.bytes;
  submissions_.push_back(std::move(submission));
  go_on();
  return id;
}

void SimulatedSubmitter::give_way(const graph::Task& task, std::span<const TaskId> after) {
  if (!any()) return;
  const bool looks_at_data = !uses_acquired(task);
  const auto is_named = [&](const Submission& submission) {
    const graph::Task& own = *submission.entry.task;
    return (looks_at_data && share_any(own.accesses(), task.accesses())) ||
           std::ranges::find(after, graph::TaskPool::id(own).value, &TaskId::value) != after.end();
  };
  std::size_t named = 0;  // and those before it
  for (std::size_t i = first_; i < submissions_.size(); ++i) {
    if (is_named(submissions_[i])) named = i + 1 - first_;
  }
  for (; named > 0 && any(); --named) pass_on_first();
}

bool SimulatedSubmitter::will_write(const graph::Handle& handle) const {
  const graph::Handle* const whole = whole_of(handle);
  const auto writes_it = [&](const graph::Access& access) {
    return (writes(access.mode) || access.mode == AccessMode::reduction) &&
           whole_of(*access.handle) == whole;
  };
  const auto first = submissions_.begin() + static_cast<std::ptrdiff_t>(first_);
  return std::any_of(first, submissions_.end(), [&](const Submission& submission) {
    return std::ranges::any_of(submission.entry.task->accesses(), writes_it);
  });
}

// As RuntimeImpl::respect_window, but nobody waits here.
bool SimulatedSubmitter::window_has_room() {
  const Bytes bytes = submissions_[first_].bytes;
  if (!stalled_ && all_.window_has_room(bytes, 1)) return true;
  stalled_ = true;
  return all_.window_has_room(bytes, engine_.policy_traits().plans ? 2 : 1);
}

void SimulatedSubmitter::go_on() {
  while (!spends_) {
    if (owed_.ns > 0) {
      spends_ = true;
      world_.schedule(place_, world_.now() + std::exchange(owed_, Time{}), 0,
                      sim::Turn::submissions);
      return;
    }
    if (!any()) return;
    if (submissions_[first_].takes_time && !window_has_room()) {
      if (deferred_ == nullptr || !deferred_->any()) return;
      all_.pass_on_deferred();  // what ends there may let others pass here
      continue;
    }
    stalled_ = false;
    pass_on_first();
  }
}

SimulatedSubmitter::Submission SimulatedSubmitter::take_first() {
  constexpr std::size_t kMany = 1024;
  Submission submission = std::move(submissions_[first_++]);
  if (first_ == submissions_.size() || (first_ >= kMany && 2 * first_ > submissions_.size())) {
    submissions_.erase(submissions_.begin(),
                       submissions_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  return submission;
}

void SimulatedSubmitter::pass_on_first() {
  const Submission submission = take_first();
  if (graph::is_counted(submission.entry.task->kind)) --tasks_;
  bytes_ -= submission.bytes;
  if (submission.takes_time) owed_ += overhead_;
  ++within_;
  all_.takes_place(*submission.entry.task);
  hand_on(submission.entry);
  --within_;
}

void SimulatedSubmitter::hand_on(const DeferredTask& entry) {
  if (deferred_ != nullptr) return deferred_->add_announced(entry);
  engine_.submit(*entry.task, entry.after, kNoWorker, {.step = When::Step::announced});
}

void SimulatedSubmitter::look() {
  if (stalled_) go_on();
}

std::string SimulatedSubmitter::describe() const {
  const std::uint64_t tasks = tasks_;
  if (tasks == 0) return {};
  return "submitted, and not known in simulated time yet: " + std::to_string(tasks) + " tasks\n";
}

void SimulatedSubmitter::happened(std::uint64_t /*token*/) {
  spends_ = false;
  go_on();
}

void SimulatedSubmitter::copy_done(memory::CopyId id, std::exception_ptr error) {
  engine_.copy_done(id, std::move(error));
  look();
}

bool SimulatedSubmitter::advance(WorkerId worker) {
  const bool starts = engine_.advance(worker);
  look();
  return starts;
}

void SimulatedSubmitter::task_done(graph::Task& task, WorkerId worker, std::exception_ptr error,
                                   std::optional<Time> run_time) {
  engine_.task_done(task, worker, std::move(error), run_time);
  look();
}

}  // namespace vicinal::engine
