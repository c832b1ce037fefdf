#include "analysis/critical_path.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/awaited_messages.hpp"
#include "analysis/intervals.hpp"
#include "analysis/known_steps.hpp"
#include "analysis/last_runs.hpp"
#include "analysis/steps.hpp"

namespace vicinal::analysis {

namespace {

constexpr PathCauseEntry kPathCauseNames[] = {
    {PathCause::run, "run", "a task ran"},
    {PathCause::copy, "copy", "a copy was in flight that a task waited for"},
    {PathCause::link, "link", "a copy that a task waited for had not begun: its link was busy"},
    {PathCause::room, "room", "a task waited for room for its operands"},
    {PathCause::worker, "worker",
     "a task was between its worker's task before it and its own start: the runtime's own time"},
    {PathCause::policy, "policy", "a ready task was with the policy, and its worker had nothing"},
    {PathCause::release, "release",
     "all that a task depends on had ended, and it was not ready yet: the runtime's own time"},
    {PathCause::submission, "submission", "a task was not submitted yet"},
    {PathCause::message, "message",
     "content that a task waited for had been made on another rank, and was not here yet"},
};
static_assert(std::size(kPathCauseNames) == kPathCauses);

// From the end to the beginning. `at_` is the moment that has been reached: what is later has its segments.
class Walk {
 public:
  Walk(const RecordedRun& run, const std::vector<std::vector<std::uint32_t>>& predecessors)
      : run_(run),
        predecessors_(predecessors),
        begins_(begins_of_runs(run, runs_of_workers(run))),
        of_worker_(run, runs_of_workers(run)),
        of_node_(run, runs_of_nodes(run)),
        known_(run),
        messages_(run),
        was_met_(run.tasks.size(), false) {
    for (std::uint32_t t = 0; t < run.tasks.size(); ++t) {
      if (ran_on_worker(run.tasks[t])) by_end_.push_back(t);
    }
    std::ranges::stable_sort(by_end_, {}, [&](std::uint32_t t) { return run.tasks[t].ended; });
    set_busy();
  }

  CriticalPath path() {
    path_.begin = run_.begin;
    path_.end = at_ = std::max(last_end(run_), run_.begin);
    std::uint32_t task = last_until(at_);
    while (at_ > run_.begin && task != kNobody) {
      was_met_[task] = true;
      task = runs_ ? before_end_of(task) : before_start_of(task);
    }
    add(PathCause::submission, run_.begin, last_met_);
    std::ranges::reverse(path_.segments);
    return std::move(path_);
  }

 private:
  void set_busy();
  void add(PathCause cause, std::int64_t from, std::uint32_t task, std::uint32_t copy = kNobody);
  std::uint32_t go_on(std::uint32_t task, bool at_its_end);
  std::uint32_t before_end_of(std::uint32_t task);
  std::uint32_t before_start_of(std::uint32_t task);
  std::uint32_t behind_others(const LastRuns& whose, std::uint32_t task, PathCause cause,
                              std::int64_t back_to);
  void behind_copies(std::uint32_t task, const Steps& steps);
  void behind_copy(std::uint32_t task, std::uint32_t copy, std::int64_t back_to);
  Steps steps_of(std::uint32_t task) const;
  std::uint32_t last_before(std::uint32_t task, std::int64_t time) const;
  std::uint32_t behind_predecessors(std::uint32_t task, const Steps& steps);
  std::uint32_t behind_message(std::uint32_t task, std::uint32_t message);
  std::uint32_t before_submission_of(std::uint32_t task);
  std::uint32_t last_until(std::int64_t time) const;

  const RecordedRun& run_;
  const std::vector<std::vector<std::uint32_t>>& predecessors_;
  const std::vector<std::int64_t> begins_;
  const LastRuns of_worker_;
  const LastRuns of_node_;
  const KnownSteps known_;
  const AwaitedMessages messages_;
  std::vector<std::uint32_t> by_end_;  // all that ran
  std::vector<Interval> busy_;         // when there was a task that was submitted and had not ended
  std::vector<bool> was_met_;
  CriticalPath path_;
  std::int64_t at_ = 0;
  bool runs_ = true;  // it is the end of a task that has been reached, not its start
  std::uint32_t last_met_ = kNobody;
};

// Two times of work are apart also where the second begins when the first ends: there the application has waited.
void Walk::set_busy() {
  std::vector<Interval> all;
  for (const TaskOfRun& task : run_.tasks) {
    if (ran_on_worker(task)) all.push_back({analysis::steps_of(task).submitted, task.ended});
  }
  std::ranges::sort(all, {}, &Interval::from);
  for (const Interval& next : all) {
    if (!busy_.empty() && next.from < busy_.back().to) {
      busy_.back().to = std::max(busy_.back().to, next.to);
    } else {
      busy_.push_back(next);
    }
  }
}

void Walk::add(PathCause cause, std::int64_t from, std::uint32_t task, std::uint32_t copy) {
  from = std::max(from, run_.begin);
  if (from >= at_) return;
  path_.segments.push_back({from, at_, cause, task, copy});
  path_.by_cause[static_cast<std::size_t>(cause)] += at_ - from;
  at_ = from;
}

// With that task next. Each is met once: recordings whose clocks disagree lead nowhere in circles.
std::uint32_t Walk::go_on(std::uint32_t task, bool at_its_end) {
  if (task == kNobody || was_met_[task]) return kNobody;
  runs_ = at_its_end;
  return task;
}

std::uint32_t Walk::before_end_of(std::uint32_t task) {
  last_met_ = task;
  add(PathCause::run, begins_[task], task);
  // In the queue of its accelerator: behind the task that ended then.
  const std::int64_t started = run_.tasks[task].started;
  if (begins_[task] > started) {
    const std::uint32_t before = behind_others(of_worker_, task, PathCause::worker, started);
    if (before != kNobody) return before;
  }
  return before_start_of(task);
}

std::uint32_t Walk::before_start_of(std::uint32_t task) {
  last_met_ = task;
  const Steps steps = steps_of(task);
  std::uint32_t other = behind_others(of_worker_, task, PathCause::worker, steps.operands);
  if (other != kNobody) return other;
  behind_copies(task, steps);
  add(PathCause::room, steps.wanted, task);
  // What is given to a worker waits behind others of its memory node: these ask for room and copies first.
  other = behind_others(of_node_, task, PathCause::worker, steps.scheduled);
  if (other != kNobody) return other;
  // Unless a copy was asked for before the task was given to a worker: no other task kept that back.
  if (at_ == steps.scheduled) {
    other = behind_others(of_worker_, task, PathCause::policy, steps.ready);
    if (other != kNobody) return other;
  }
  add(PathCause::policy, steps.ready, task);
  return behind_predecessors(task, steps);
}

// Where the recording does not tell when it was ready, this is when the last of those ended that it depends on.
Steps Walk::steps_of(std::uint32_t task) const {
  const TaskOfRun& of = run_.tasks[task];
  if (of.ready != kUnknown || of.scheduled != kUnknown || of.wanted != kUnknown) {
    return known_.of(task);
  }
  TaskOfRun known = of;
  known.ready = of.submitted != kUnknown ? of.submitted : 0;
  const std::uint32_t last = last_before(task, of.started);
  if (last != kNobody) known.ready = std::max(known.ready, run_.tasks[last].ended);
  return analysis::steps_of(known);
}

// The last event of these workers before this moment, if later than `back_to`: the end of a task, or the start of a task
// that still runs. The time since the event has the given cause.
std::uint32_t Walk::behind_others(const LastRuns& whose, std::uint32_t task, PathCause cause,
                                  std::int64_t back_to) {
  if (at_ <= back_to) return kNobody;
  const LastRuns::Last last = whose.before(task, at_);
  if (last.time > back_to) {
    const std::uint32_t other = go_on(last.task, last.ended);
    if (other != kNobody) {
      add(cause, last.time, task);
      return other;
    }
  }
  add(cause, back_to, task);
  return kNobody;
}

// The copies of its operands that came last, one before the other. A copy may have begun before there was room for
// all operands: then the wait for that room made nothing longer.
void Walk::behind_copies(std::uint32_t task, const Steps& steps) {
  while (at_ > steps.granted) {
    const std::uint32_t copy = known_.arrivals().last_for(task, steps.granted, at_);
    const std::int64_t before = at_;
    if (copy != kNobody) behind_copy(task, copy, steps.ready);
    if (at_ == before) return add(PathCause::copy, steps.granted, task);
  }
}

// Follows a copy back in time: a copy from disk to a device has two parts, and the second part may have waited for the
// first, which brought the datum to the second part's source.
void Walk::behind_copy(std::uint32_t task, std::uint32_t copy, std::int64_t back_to) {
  while (true) {
    const CopyOfRun& of = run_.copies[copy];
    const std::int64_t wanted =
        of.wanted != kUnknown ? std::min(of.wanted, of.started) : of.started;
    add(PathCause::copy, std::max(of.started, back_to), task, copy);
    if (at_ <= std::max(wanted, back_to)) return;
    const std::uint32_t first_part =
        known_.arrivals().last(of.datum, of.from, std::max(wanted, back_to), at_);
    if (first_part == kNobody) return add(PathCause::link, std::max(wanted, back_to), task, copy);
    add(PathCause::link, run_.copies[first_part].ended, task, copy);
    copy = first_part;
  }
}

// The predecessor that ended last, among the predecessors that had started before `time`; kNobody: there is none.
std::uint32_t Walk::last_before(std::uint32_t task, std::int64_t time) const {
  std::uint32_t last = kNobody;
  for (const std::uint32_t before : predecessors_[task]) {
    if (!ran_on_worker(run_.tasks[before]) || run_.tasks[before].started >= time) continue;
    if (last == kNobody || run_.tasks[before].ended > run_.tasks[last].ended) last = before;
  }
  return last;
}

std::uint32_t Walk::behind_predecessors(std::uint32_t task, const Steps& steps) {
  const std::uint32_t last = last_before(task, at_);
  const std::int64_t before = last == kNobody ? steps.submitted : run_.tasks[last].ended;
  const std::uint32_t message = messages_.last_for(task, std::max(before, steps.submitted), at_);
  if (message != kNobody) return behind_message(task, message);
  if (last != kNobody && run_.tasks[last].ended > steps.submitted) {
    const std::uint32_t other = go_on(last, true);
    if (other != kNobody) {
      add(PathCause::release, run_.tasks[last].ended, task);
      return other;
    }
  }
  if (run_.tasks[task].submitted != kUnknown) add(PathCause::release, steps.submitted, task);
  return before_submission_of(task);
}

// To the task that made its content, on another rank.
std::uint32_t Walk::behind_message(std::uint32_t task, std::uint32_t message) {
  const MessageOfRun& of = run_.messages[message];
  add(PathCause::release, of.arrived, task);
  const std::uint32_t maker = go_on(messages_.maker_of(message), true);
  if (maker != kNobody) {
    add(PathCause::message, run_.tasks[maker].ended, task);
    return maker;
  }
  if (of.departs != kUnknown) add(PathCause::message, of.departs, task);
  return before_submission_of(task);
}

// Back to when there was nothing at all: the application had waited for the last task until then, or had none.
std::uint32_t Walk::before_submission_of(std::uint32_t task) {
  const auto behind = std::ranges::upper_bound(busy_, at_, {}, &Interval::from);
  if (behind - busy_.begin() < 2) return kNobody;
  const std::int64_t end = std::prev(behind, 2)->to;
  add(PathCause::submission, end, task);
  return go_on(last_until(end), true);
}

std::uint32_t Walk::last_until(std::int64_t time) const {
  const auto behind = std::ranges::upper_bound(
      by_end_, time, {}, [&](std::uint32_t t) { return run_.tasks[t].ended; });
  return behind == by_end_.begin() ? kNobody : *std::prev(behind);
}

}  // namespace

std::span<const PathCauseEntry> path_causes() {
  return kPathCauseNames;
}

CriticalPath critical_path(const RecordedRun& run,
                           const std::vector<std::vector<std::uint32_t>>& predecessors) {
  return Walk(run, predecessors).path();
}

std::int64_t longest_chain(const RecordedRun& run,
                           const std::vector<std::vector<std::uint32_t>>& predecessors) {
  const std::vector<std::int64_t> begins = begins_of_runs(run, runs_of_workers(run));
  std::vector<std::int64_t> ends(run.tasks.size(), 0);
  std::int64_t longest = 0;
  for (std::uint32_t t = 0; t < run.tasks.size(); ++t) {
    std::int64_t before = 0;
    for (const std::uint32_t p : predecessors[t]) {
      if (p < t) before = std::max(before, ends[p]);
    }
    ends[t] = before + (ran_on_worker(run.tasks[t]) ? run.tasks[t].ended - begins[t] : 0);
    longest = std::max(longest, ends[t]);
  }
  return longest;
}

}  // namespace vicinal::analysis
