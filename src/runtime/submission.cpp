// What a submission may have to wait for: room in the submission window, and room that private copies have.
#include <optional>
#include <string>

#include "base/warm.hpp"
#include "runtime/runtime_impl.hpp"
#include "vicinal/error.hpp"

namespace vicinal::runtime {

using Extras = engine::SubmissionExtras;

// The flag stands for all that is asked of few runtimes.
TaskId RuntimeImpl::submit_named(const TaskSpec& spec) {
  if (!spec.after.empty()) application_->submissions.require_own(spec);
  if (application_->submissions.looks_first()) [[unlikely]]
    return submit_named_looked_at(spec);
  return {submit(spec, engine::kNoExtras).value, number_};
}

[[gnu::noinline]] TaskId RuntimeImpl::submit_named_looked_at(const TaskSpec& spec) {
  const TaskId id{submit_looked_at(spec).value, number_};
  if (setup_.simulated && setup_.machine.submit_overhead.ns > 0) pass_time();
  return id;
}

TaskId RuntimeImpl::submit(const TaskSpec& spec) {
  if (application_->submissions.looks_first()) [[unlikely]]
    return submit_looked_at(spec);
  return submit(spec, engine::kNoExtras);
}

// The window counts before the task is made, for a task that is made counts as submitted.
[[gnu::noinline]] TaskId RuntimeImpl::submit_looked_at(const TaskSpec& named) {
  if (ranks() != nullptr) return submit_among_ranks(named);
  return submit_here(named);
}

TaskId RuntimeImpl::submit_among_ranks(const TaskSpec& spec) {
  if (spec.codelet == nullptr) return submit_here(spec);  // which is refused
  const RankId on = sequence_->takes(spec);
  if (on != sequence_->here()) return RankSequence::elsewhere(on);
  const TaskId id = sequence_->here_alone([&] { return submit_here(spec); });
  sequence_->submitted();
  return id;
}

TaskId RuntimeImpl::submit_here(const TaskSpec& named) {
  const bool inside = engine_->inside_task() != nullptr;
  const std::optional<TaskSpec> local = application_->declared.made_local(named);
  const TaskSpec& spec = local ? *local : named;
  Extras extras;
  if (!inside) extras.number = application_->numbers.next_submission();
  if (windowed_) {
    extras.window_bytes = application_->submissions.window_bytes(spec.operands.span());
    respect_window(extras.window_bytes, !inside);
  }
  return submit(spec, extras);
}

inline TaskId RuntimeImpl::submit(const TaskSpec& spec, const Extras& extras) {
  // Often last written by the worker that ended the last task that used them.
  for (const Operand& operand : spec.operands.span()) base::warm(operand.handle.impl());
  try {
    return application_->submissions.submit(spec, extras);
  } catch (const engine::LacksRoom&) {
    return submit_once_more(spec, extras);
  }
}

// A task was refused, and that is being handled. Data without users may have the missing room, and go; private copies may
// have it: the wait is for these.
[[gnu::noinline]] TaskId RuntimeImpl::submit_once_more(const TaskSpec& spec, Extras extras) {
  extras.was_refused = true;
  std::optional<engine::Reductions::Sparing> sparing;
  try {
    catch_up();
    if (!application_->departures.sweep() && application_->reductions.any()) {
      sparing.emplace(application_->reductions);
      wait_for_copies("submit");
    }
  } catch (...) {
    application_->submissions.will_not_come(extras.window_bytes);
    throw;
  }
  return application_->submissions.submit(spec, extras);
}

void RuntimeImpl::wait_for_copies(const char* call) {
  const std::string what = std::string(call) + " (private copies have the room that it needs)";
  wait_until([&] { return !application_->reductions.any_more_copies(); }, what.c_str());
}

// Of the application, which may wait for the room that private copies have.
void RuntimeImpl::count_acquired(graph::Handle& handle, std::uint32_t life) {
  const graph::Access access(handle, life, AccessMode::W, 0, false);
  engine::SoleCopies& sole_copies = application_->sole_copies;
  try {
    sole_copies.count({&access, 1}, "acquire", "");
  } catch (const CapacityError&) {
    if (!application_->reductions.any()) throw;
    const engine::Reductions::Sparing sparing(application_->reductions);
    wait_for_copies("acquire");
    sole_copies.count({&access, 1}, "acquire", "");
  }
}

// A submitter that runs far ahead works, or sleeps, until the window has room; until half of it is free if the
// policy plans, or it would plan one task at a time. What is submitted inside a task is counted, but does not wait.
[[gnu::noinline]] void RuntimeImpl::respect_window(Bytes bytes, bool may_wait) {
  engine::Submissions& submissions = application_->submissions;
  if (may_wait && submissions.submitter() == nullptr && !submissions.window_has_room(bytes, 1)) {
    const std::uint64_t part = engine_->policy_traits().plans ? 2 : 1;
    wait_until([&] { return submissions.window_has_room(bytes, part); }, kWindowIsFull,
               Looks::after_tasks_of_any);
  }
  submissions.count(bytes);
}

}  // namespace vicinal::runtime
