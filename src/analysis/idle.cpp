#include "analysis/idle.hpp"

#include <algorithm>
#include <iterator>

#include "analysis/intervals.hpp"
#include "analysis/known_steps.hpp"
#include "analysis/steps.hpp"

namespace vicinal::analysis {

namespace {

constexpr IdleCauseEntry kIdleCauseNames[] = {
    {IdleCause::nothing_ready, "nothing ready",
     "no task that the worker can run was ready and without a worker"},
    {IdleCause::data, "data",
     "its next task, or one before it on the memory node, waited for copies of its operands"},
    {IdleCause::room, "room",
     "its next task, or one before it on the memory node, waited for room for its operands"},
    {IdleCause::scheduling, "scheduling",
     "tasks that it can run were ready with the policy, or its next task had all that it needs"},
    {IdleCause::before, "before", "the first task was not submitted yet"},
    {IdleCause::after, "after", "the last task had ended"},
};
static_assert(std::size(kIdleCauseNames) == kIdleCauses);

// Since when a task has been with the policy, and until when; empty: it has not.
Interval with_policy(const RecordedRun& run, const TaskOfRun& task) {
  if (task.kind != KindOfTask::compute || task.ready == kUnknown) return {};
  std::int64_t until = task.scheduled;
  if (until == kUnknown) until = task.started;
  if (until == kUnknown) until = task.ended;  // cancelled
  return {task.ready, until != kUnknown ? until : run.end};
}

// Which kinds of processors ran tasks of each codelet: what a worker can run, as far as the run tells.
class Kinds {
 public:
  explicit Kinds(const RecordedRun& run) : run_(run), of_name_(run.names.size(), 0) {
    for (const TaskOfRun& task : run.tasks) {
      if (ran_on_worker(task) && task.name < of_name_.size()) {
        of_name_[task.name] |= bit(kind(task.worker));
      }
    }
  }
  std::size_t kind(std::uint32_t worker) const {
    const auto& workers = run_.facts.machine.workers;
    return worker < workers.size() ? static_cast<std::size_t>(workers[worker].kind) : 0;
  }
  bool runs(std::size_t kind, const TaskOfRun& task) const {
    return task.name >= of_name_.size() || (of_name_[task.name] & bit(kind)) != 0;
  }

 private:
  static std::uint32_t bit(std::size_t kind) { return 1U << kind; }
  const RecordedRun& run_;
  std::vector<std::uint32_t> of_name_;
};

class IdleTimes {
 public:
  explicit IdleTimes(const RecordedRun& run) : run_(run), known_(run), kinds_(run) {
    first_ = run.end;
    for (const TaskOfRun& task : run.tasks) {
      if (ran_on_worker(task)) first_ = std::min(first_, steps_of(task).submitted);
    }
    first_ = std::max(first_, run.begin);
    last_ = std::max(last_end(run), first_);
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) ready_.push_back(ready_for(kind));
    find_waits();
  }

  Idle found() {
    idle_.wall = run_.length();
    const std::vector<RunsOfWorker> workers = runs_of_workers(run_);
    idle_.workers.resize(workers.size());
    for (std::uint32_t w = 0; w < workers.size(); ++w) look_at(w, workers[w].by_start);
    for (const IdleOfWorker& worker : idle_.workers) {
      idle_.all.run += worker.run;
      for (std::size_t c = 0; c < kIdleCauses; ++c) idle_.all.by_cause[c] += worker.by_cause[c];
    }
    return std::move(idle_);
  }

 private:
  std::vector<Interval> ready_for(std::size_t kind) const {
    std::vector<Interval> times;
    for (const TaskOfRun& task : run_.tasks) {
      if (kinds_.runs(kind, task)) times.push_back(with_policy(run_, task));
    }
    return united(std::move(times));
  }

  void look_at(std::uint32_t worker, const std::vector<std::uint32_t>& by_start) {
    std::int64_t free = run_.begin;  // since then
    for (const std::uint32_t task : by_start) {
      const std::int64_t begin = std::clamp(run_.tasks[task].started, run_.begin, run_.end);
      const std::int64_t end = std::clamp(run_.tasks[task].ended, run_.begin, run_.end);
      if (begin > free) before_task(worker, {free, begin}, task);
      idle_.workers[worker].run += std::max<std::int64_t>(0, end - std::max(free, begin));
      free = std::max(free, end);
    }
    without_task(worker, {free, run_.end}, kNobody);
  }

  // The gap is cut where its task came a step further.
  void before_task(std::uint32_t worker, Interval gap, std::uint32_t task) {
    const Steps steps = known_.of(task);
    const auto until = [&](std::int64_t step, auto&& note) {
      const std::int64_t to = std::clamp(step, gap.from, gap.to);
      note(Interval{gap.from, to});
      gap.from = to;
    };
    const auto as = [&](IdleCause cause) {
      return [this, worker, cause, task](Interval part) { add(worker, part, cause, task); };
    };
    until(steps.ready, [&](Interval part) { without_task(worker, part, task); });
    until(steps.scheduled, as(IdleCause::scheduling));
    until(steps.wanted, [&](Interval part) { behind_others(worker, part, task); });
    until(steps.granted, as(IdleCause::room));
    until(steps.operands, as(IdleCause::data));
    until(gap.to, as(IdleCause::scheduling));
  }

  // What is given to a worker waits behind others of its memory node, which ask for room and copies first.
  void behind_others(std::uint32_t worker, Interval part, std::uint32_t task) {
    const std::uint32_t node = node_of(run_, run_.tasks[task]);
    const auto as = [&](IdleCause cause) {
      return [this, worker, cause, task](Interval piece) { add(worker, piece, cause, task); };
    };
    if (node >= waits_.size()) return as(IdleCause::scheduling)(part);
    const Waits& waits = waits_[node];
    cut(waits.for_room, part, as(IdleCause::room), [&](Interval rest) {
      cut(waits.for_data, rest, as(IdleCause::data), as(IdleCause::scheduling));
    });
  }

  void find_waits() {
    waits_.resize(run_.facts.machine.nodes.size());
    for (std::uint32_t t = 0; t < run_.tasks.size(); ++t) {
      if (!ran_on_worker(run_.tasks[t])) continue;
      const std::uint32_t node = node_of(run_, run_.tasks[t]);
      if (node >= waits_.size()) continue;
      const Steps steps = known_.of(t);
      waits_[node].for_room.push_back({steps.wanted, steps.granted});
      waits_[node].for_data.push_back({steps.granted, steps.operands});
    }
    for (Waits& waits : waits_) {
      waits.for_room = united(std::move(waits.for_room));
      waits.for_data = united(std::move(waits.for_data));
    }
  }

  // Its next task is not ready, or there is none.
  void without_task(std::uint32_t worker, Interval part, std::uint32_t task) {
    add(worker, {part.from, std::min(part.to, first_)}, IdleCause::before, task);
    const Interval during{std::max(part.from, first_), std::min(part.to, last_)};
    cut(
        ready_[kinds_.kind(worker)], during,
        [&](Interval piece) { add(worker, piece, IdleCause::scheduling, task); },
        [&](Interval piece) { add(worker, piece, IdleCause::nothing_ready, task); });
    add(worker, {std::max(part.from, last_), part.to}, IdleCause::after, task);
  }

  // Neighbours of one cause become one.
  void add(std::uint32_t worker, Interval part, IdleCause cause, std::uint32_t task) {
    if (part.length() <= 0) return;
    idle_.workers[worker].by_cause[static_cast<std::size_t>(cause)] += part.length();
    auto& all = idle_.intervals;
    const bool joins = !all.empty() && all.back().worker == worker && all.back().cause == cause &&
                       all.back().task == task && all.back().to == part.from;
    if (joins) {
      all.back().to = part.to;
    } else {
      all.push_back({worker, part.from, part.to, cause, task});
    }
  }

  struct Waits {
    std::vector<Interval> for_room;
    std::vector<Interval> for_data;
  };

  const RecordedRun& run_;
  const KnownSteps known_;
  const Kinds kinds_;
  std::vector<Waits> waits_;  // by node: when some task waited
  std::int64_t first_ = 0;    // submission of a task
  std::int64_t last_ = 0;     // end of one
  std::vector<std::vector<Interval>>
      ready_;  // by kind of processor: when a task was with the policy
  Idle idle_;
};

}  // namespace

std::span<const IdleCauseEntry> idle_causes() {
  return kIdleCauseNames;
}

Idle idle_times(const RecordedRun& run) {
  return IdleTimes(run).found();
}

std::vector<ReadyTasks> ready_tasks(const RecordedRun& run) {
  std::vector<std::pair<std::int64_t, int>> changes;
  for (const TaskOfRun& task : run.tasks) {
    const Interval ready = with_policy(run, task);
    if (ready.length() <= 0) continue;
    changes.emplace_back(ready.from, 1);
    changes.emplace_back(ready.to, -1);
  }
  std::ranges::sort(changes);
  std::vector<ReadyTasks> counts;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    count += changes[i].second;
    if (i + 1 < changes.size() && changes[i + 1].first == changes[i].first) continue;
    counts.push_back({changes[i].first, static_cast<std::uint32_t>(count)});
  }
  return counts;
}

}  // namespace vicinal::analysis
