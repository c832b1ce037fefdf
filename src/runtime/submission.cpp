// What a submission may have to wait for: room in the submission window, and room that private copies have.
#include <string>

#include "base/warm.hpp"
#include "runtime/runtime_impl.hpp"
#include "vicinal/error.hpp"

namespace vicinal::runtime {

using Submission = engine::Submissions::Submission;

// The flag stands for all that is asked of few runtimes.
TaskId RuntimeImpl::submit(const TaskSpec& spec) {
  if (application_->submissions.looks_first()) [[unlikely]]
    return submit_looked_at(spec);
  Submission submission{.spec = spec, .waits_for_room = true};
  return submit(submission);
}

// The window counts before the task is made, for a task that is made counts as submitted.
[[gnu::noinline]] TaskId RuntimeImpl::submit_looked_at(const TaskSpec& spec) {
  if (concerns_ && !concerns_(spec)) return kElsewhere;
  const bool inside = engine_->inside_task() != nullptr;
  const std::optional<TaskSpec> local = application_->heard_of.made_local(spec);
  Submission submission{
      .spec = local ? *local : spec,
      .number = inside ? graph::SubmissionNumber{} : application_->numbers.next_submission(),
      .waits_for_room = true};
  if (windowed_) {
    submission.window_bytes =
        application_->submissions.window_bytes(submission.spec.operands.span());
    respect_window(submission.window_bytes, !inside);
  }
  return submit(submission);
}

inline TaskId RuntimeImpl::submit(Submission& submission) {
  // Often last written by the worker that ended the last task that used them.
  for (const Operand& operand : submission.spec.operands.span()) base::warm(operand.handle.impl());
  try {
    return application_->submissions.submit(submission);
  } catch (const CapacityError&) {
    if (!submission.lacks_room) throw;
    return submit_once_more(submission);
  }
}

// A task was refused, and that is being handled. What nobody uses any more may have the room that it lacks; private
// copies may: that is waited for.
[[gnu::noinline]] TaskId RuntimeImpl::submit_once_more(Submission& submission) {
  submission.waits_for_room = false;
  catch_up();
  if (application_->departures.sweep()) return application_->submissions.submit(submission);
  try {
    if (!application_->reductions.any()) throw;
    const engine::Reductions::Sparing sparing(application_->reductions);
    wait_for_copies("submit");
  } catch (...) {
    application_->submissions.will_not_come(submission.window_bytes);
    throw;
  }
  return application_->submissions.submit(submission);
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
    wait_until([&] { return submissions.window_has_room(bytes, part); }, kWindowIsFull);
  }
  submissions.count(bytes);
}

}  // namespace vicinal::runtime
