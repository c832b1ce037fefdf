#include "analysis/binding.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "analysis/intervals.hpp"
#include "analysis/steps.hpp"

namespace vicinal::analysis {

namespace {

// A policy that holds a ready task back for longer than this has a reason; less is a thread that wakes up.
constexpr std::int64_t kWakeUp = 1'000'000;
// Times the usual time between two submissions: longer than that, the application did something else.
constexpr std::int64_t kPause = 8;

// The time of each worker from the beginning to the last end of a task counts, weighted by how much of the work its kind
// could do: cores beside a fast accelerator that have nothing to do lose little.
class Accountant {
 public:
  Accountant(const RecordedRun& run, const Analyses& analyses)
      : run_(run),
        of_(analyses),
        begins_(begins_of_runs(run, runs_of_workers(run))),
        means_(mean_times(run, begins_)) {
    measure_submissions();
    measure_saves();
    measure_slowness();
    weigh();
    measure_processors();
  }

  TimeOfRun accounted() {
    time_.length = of_.path.length();
    for (const PathSegment& segment : of_.path.segments) note(segment);
    for (const IdleInterval& gap : of_.idle.intervals) add(gap);
    add_work();
    finish();
    return std::move(time_);
  }

 private:
  void measure_submissions();
  void measure_saves();
  void measure_processors();
  void measure_slowness();
  void weigh();
  void note(const PathSegment& segment);
  void note_copy(const PathSegment& segment);
  void note_room(const PathSegment& segment);
  void add(const IdleInterval& gap);
  void add_by_path(const IdleInterval& gap, Interval time, double weight);
  void add_run_of_others(const PathSegment& segment, double ns);
  void add_submission(const Interval& time, double weight);
  void add_work();
  std::int64_t own_time(const TaskOfRun& task, std::int64_t ran) const;
  void finish();
  TimeOfLink& link(std::uint32_t from, std::uint32_t to) {
    TimeOfLink& link = links_[{from, to}];
    link.from = from;
    link.to = to;
    return link;
  }
  double weight_of(std::uint32_t worker) const { return weights_[kind_of_worker(run_, worker)]; }

  struct Sums {  // ns, of all workers by their weights
    double work = 0;
    double dependencies = 0;
    double slow_worker = 0;
    double data = 0;
    double room = 0;
    double runtime = 0;
    double policy = 0;
    double submission = 0;
    double application = 0;
  };

  const RecordedRun& run_;
  const Analyses& of_;
  const std::vector<std::int64_t> begins_;
  const MeanTimes means_;
  std::array<double, kProcessorKinds> weights_{};  // of a worker of a kind
  double weight_ = 0;                              // of all workers
  std::vector<std::uint32_t> saves_;               // copies of what was evicted, by their start
  std::vector<std::int64_t> submissions_;          // in order
  std::int64_t pace_ = 0;                          // the median time between two
  std::map<std::pair<std::uint32_t, std::uint32_t>, TimeOfLink> links_;
  std::map<std::uint32_t, MeanTime> kernels_;
  std::map<std::uint32_t, double> slow_;  // by worker
  double lost_between_ = 0;               // ns without a core between tasks
  Sums sums_;
  TimeOfRun time_;
};

void Accountant::measure_submissions() {
  for (const TaskOfRun& task : run_.tasks) {
    if (ran_on_worker(task) && task.submitted != kUnknown) submissions_.push_back(task.submitted);
  }
  std::ranges::sort(submissions_);
  std::vector<std::int64_t> gaps;
  for (std::size_t i = 1; i < submissions_.size(); ++i) {
    gaps.push_back(submissions_[i] - submissions_[i - 1]);
  }
  if (gaps.empty()) return;
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::ranges::nth_element(gaps, middle);
  pace_ = *middle;
}

void Accountant::measure_saves() {
  for (std::uint32_t c = 0; c < run_.copies.size(); ++c) {
    const CopyOfRun& copy = run_.copies[c];
    const bool saves = copy.cause == Cause::eviction || copy.cause == Cause::write_behind;
    if (saves && copy.ended != kUnknown) saves_.push_back(c);
  }
  std::ranges::stable_sort(saves_, {}, [&](std::uint32_t c) { return run_.copies[c].started; });
}

// Between two looks at a thread that did not sleep it had its core for so long. What it lacks is shared by its tasks and what
// lies between them.
void Accountant::measure_processors() {
  std::map<std::uint32_t, std::vector<ProcessorTime>> looks;
  for (const ProcessorTime& look : run_.processor_times) looks[look.worker].push_back(look);
  std::map<std::uint32_t, std::vector<Interval>> sleeps;
  for (const SleepOfWorker& sleep : run_.sleeps) {
    sleeps[sleep.worker].push_back({sleep.from, sleep.to != kUnknown ? sleep.to : run_.end});
  }
  const std::vector<RunsOfWorker> workers = runs_of_workers(run_);
  double wall = 0;
  double lost = 0;
  for (const auto& [worker, times] : looks) {
    if (worker >= workers.size()) continue;
    std::vector<Interval> runs;
    for (const std::uint32_t t : workers[worker].by_start) {
      runs.push_back({begins_[t], run_.tasks[t].ended});
    }
    runs = united(std::move(runs));
    const std::vector<Interval> asleep = united(std::move(sleeps[worker]));
    for (std::size_t i = 1; i < times.size(); ++i) {
      const Interval between{times[i - 1].time, times[i].time};
      const auto in_tasks = static_cast<double>(overlap(runs, between));
      const auto awake = static_cast<double>(between.length() - overlap(asleep, between));
      wall += in_tasks;
      // Another thread may have become the worker: it begins anew.
      const std::int64_t had = times[i].ns - times[i - 1].ns;
      if (had < 0 || awake <= 0) continue;
      const double lacks = std::max(0.0, awake - static_cast<double>(had));
      const double share = std::min(1.0, in_tasks / awake);
      lost += lacks * share;
      lost_between_ += weight_of(worker) * lacks * (1 - share);
    }
  }
  if (wall > 0) time_.processor_share = std::max(0.0, 1 - lost / wall);
}

void Accountant::measure_slowness() {
  if (run_.facts.simulated) return;
  double ran = 0;
  for (std::uint32_t t = 0; t < run_.tasks.size(); ++t) {
    const TaskOfRun& task = run_.tasks[t];
    if (ran_on_worker(task)) ran += static_cast<double>(task.ended - begins_[t]);
  }
  for (const auto& [name, value] : run_.facts.told) {
    if (name != "bound.work_seconds") continue;
    double work = 0;
    std::from_chars(value.data(), value.data() + value.size(), work);
    const double alone = work * 1e9 * worker_count(run_);
    if (alone > 0) time_.slowness = std::max(1.0, ran / alone);
  }
}

// How much of the run's work a worker of each kind could do in the time in which the fastest kinds did it.
void Accountant::weigh() {
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> codelets;  // best mean, tasks
  for (const auto& [key, mean] : means_) {
    const std::int64_t value = std::max<std::int64_t>(1, mean.value());
    auto& [best, count] = codelets.try_emplace(key.first, value, 0).first->second;
    best = std::min(best, value);
    count += mean.count;
  }
  double all = 0;
  for (const auto& [name, codelet] : codelets) {
    all += static_cast<double>(codelet.first) * static_cast<double>(codelet.second);
  }
  for (const auto& [key, mean] : means_) {
    const auto& [best, count] = codelets.at(key.first);
    const double volume = static_cast<double>(best) * static_cast<double>(count);
    weights_[key.second] += volume / all * static_cast<double>(best) /
                            static_cast<double>(std::max<std::int64_t>(1, mean.value()));
  }
  for (std::uint32_t w = 0; w < of_.idle.workers.size(); ++w) weight_ += weight_of(w);
}

// Which copies and kernels the path went through.
void Accountant::note(const PathSegment& segment) {
  if (segment.cause == PathCause::run) {
    MeanTime& kernel = kernels_[run_.tasks[segment.task].name];
    kernel.sum += segment.length();
    ++kernel.count;
    time_.runs += segment.length();
    ++time_.path_tasks;
  } else if (segment.cause == PathCause::room) {
    note_room(segment);
  } else if (segment.copy != kNobody) {
    note_copy(segment);
  }
}

void Accountant::note_copy(const PathSegment& segment) {
  const CopyOfRun& copy = run_.copies[segment.copy];
  TimeOfLink& on = link(copy.from, copy.to);
  if (copy.cause == Cause::eviction || copy.cause == Cause::write_behind) {
    on.saved += segment.length();
  } else if (of_.traffic.is_reload[segment.copy]) {
    on.again += segment.length();
  } else {
    on.first += segment.length();
  }
}

// While room is awaited, what leaves the node is what keeps it.
void Accountant::note_room(const PathSegment& segment) {
  const std::uint32_t node = node_of(run_, run_.tasks[segment.task]);
  std::int64_t longest = 0;
  std::uint32_t to = kNobody;
  // Few copies are in flight at a time.
  constexpr std::ptrdiff_t kMostInFlight = 64;
  const auto behind = std::ranges::lower_bound(
      saves_, segment.to, {}, [&](std::uint32_t c) { return run_.copies[c].started; });
  for (auto at = behind - std::min(kMostInFlight, behind - saves_.begin()); at != behind; ++at) {
    const CopyOfRun& copy = run_.copies[*at];
    if (copy.from != node) continue;
    const std::int64_t common =
        std::min(copy.ended, segment.to) - std::max(copy.started, segment.from);
    if (common <= longest) continue;
    longest = common;
    to = copy.to;
  }
  if (to != kNobody) link(node, to).saved += segment.length();
}

void Accountant::add(const IdleInterval& gap) {
  const Interval time{gap.from, std::min(gap.to, of_.path.end)};
  if (time.length() <= 0) return;
  const double weight = weight_of(gap.worker);
  const double ns = weight * static_cast<double>(time.length());
  switch (gap.cause) {
    case IdleCause::data:
      sums_.data += ns;
      return;
    case IdleCause::room:
      sums_.room += ns;
      return;
    case IdleCause::scheduling:
    case IdleCause::nothing_ready:
    case IdleCause::before:
    case IdleCause::after:
      return add_by_path(gap, time, weight);
  }
}

// For what the run as a whole waited then. A policy may have ready tasks because no more are let to the worker until
// data have come.
void Accountant::add_by_path(const IdleInterval& gap, Interval time, double weight) {
  auto at = std::ranges::upper_bound(of_.path.segments, time.from, {}, &PathSegment::to);
  for (; at != of_.path.segments.end() && at->from < time.to; ++at) {
    const Interval part{std::max(time.from, at->from), std::min(time.to, at->to)};
    const double ns = weight * static_cast<double>(part.length());
    switch (at->cause) {
      case PathCause::run:
        if (gap.cause == IdleCause::scheduling) {
          (gap.length() > kWakeUp ? sums_.policy : sums_.runtime) += ns;
        } else {
          add_run_of_others(*at, ns);
        }
        break;
      case PathCause::copy:
      case PathCause::link:
        sums_.data += ns;
        break;
      case PathCause::room:
        sums_.room += ns;
        break;
      case PathCause::worker:
      case PathCause::release:
        sums_.runtime += ns;
        break;
      case PathCause::policy:
        (at->length() > kWakeUp ? sums_.policy : sums_.runtime) += ns;
        break;
      case PathCause::message:
        sums_.dependencies += ns;
        break;
      case PathCause::submission:
        add_submission(part, weight);
        break;
    }
  }
}

// A part of it is as much longer as the task is than on the fastest kind.
void Accountant::add_run_of_others(const PathSegment& segment, double ns) {
  const TaskOfRun& task = run_.tasks[segment.task];
  const std::int64_t took = task.ended - begins_[segment.task];
  const std::int64_t best = least_time(run_, means_, task, took);
  const double slow =
      took > 0 ? ns * static_cast<double>(took - best) / static_cast<double>(took) : 0;
  sums_.slow_worker += slow;
  if (slow > 0) slow_[task.worker] += slow;
  sums_.dependencies += ns - slow;
}

void Accountant::add_submission(const Interval& time, double weight) {
  auto next = std::ranges::upper_bound(submissions_, time.from);
  for (std::int64_t from = time.from; from < time.to;) {
    // The whole time since the submission before, not only what of it is looked at.
    const std::int64_t since = next == submissions_.begin() ? 0 : *std::prev(next);
    const std::int64_t until = next == submissions_.end() ? time.to : *next++;
    const std::int64_t to = std::min(until, time.to);
    const bool is_pause = until - since > kPause * std::max<std::int64_t>(pace_, 1);
    (is_pause ? sums_.application : sums_.submission) += weight * static_cast<double>(to - from);
    from = to;
  }
}

// A simulated core spends the runtime's time for a task within the task.
std::int64_t Accountant::own_time(const TaskOfRun& task, std::int64_t ran) const {
  const auto& workers = run_.facts.machine.workers;
  if (!run_.facts.simulated || task.worker >= workers.size()) return 0;
  if (workers[task.worker].kind != ProcessorKind::cpu) return 0;
  return std::min(workers[task.worker].task_overhead.ns, ran);
}

void Accountant::add_work() {
  for (std::uint32_t w = 0; w < of_.idle.workers.size(); ++w) {
    sums_.work += weight_of(w) * static_cast<double>(of_.idle.workers[w].run);
  }
  double own = 0;
  for (std::uint32_t t = 0; t < run_.tasks.size(); ++t) {
    const TaskOfRun& task = run_.tasks[t];
    if (!ran_on_worker(task)) continue;
    own += weight_of(task.worker) * static_cast<double>(own_time(task, task.ended - begins_[t]));
  }
  own = std::min(own, sums_.work);
  sums_.work -= own;
  sums_.runtime += own;
}

// Of what workers ran, and of what others waited for, a part may be lost to the machine.
void Accountant::finish() {
  const double all = std::max(weight_, 1e-9);
  const auto whole = [&](double ns) { return static_cast<std::int64_t>(ns / all); };
  const double descheduled = 1 - std::clamp(time_.processor_share, 0.0, 1.0);
  const double alone = std::clamp(1 / time_.slowness, 0.0, 1.0);
  const double contention = std::max(0.0, 1 - alone - descheduled);
  // Between tasks, too: there it looks like the runtime's own time, or as if ready tasks were held back.
  for (double* const part : {&sums_.policy, &sums_.runtime}) {
    const double taken = std::min(*part, lost_between_);
    time_.descheduled += whole(taken);
    lost_between_ -= taken;
    *part -= taken;
  }
  for (double* const part : {&sums_.work, &sums_.dependencies, &sums_.slow_worker}) {
    time_.descheduled += whole(*part * descheduled);
    time_.contention += whole(*part * contention);
    *part *= 1 - descheduled - contention;
  }
  time_.work = whole(sums_.work);
  time_.dependencies = whole(sums_.dependencies);
  time_.slow_worker = whole(sums_.slow_worker);
  time_.data = whole(sums_.data);
  time_.room = whole(sums_.room);
  time_.runtime = whole(sums_.runtime);
  time_.policy = whole(sums_.policy);
  time_.submission = whole(sums_.submission);
  time_.application = whole(sums_.application);
  for (const auto& [ends, link] : links_) time_.links.push_back(link);
  std::ranges::stable_sort(
      time_.links, [](const TimeOfLink& a, const TimeOfLink& b) { return a.all() > b.all(); });
  for (const auto& [name, kernel] : kernels_) {
    if (kernel.sum <= time_.kernel_time) continue;
    time_.kernel = name;
    time_.kernel_time = kernel.sum;
    time_.kernel_runs = static_cast<std::uint64_t>(kernel.count);
  }
  double most = 0;
  for (const auto& [worker, lost] : slow_) {
    if (lost > most) time_.slowest = worker;
    most = std::max(most, lost);
  }
}

}  // namespace

TimeOfRun time_of(const RecordedRun& run, const Analyses& analyses) {
  return Accountant(run, analyses).accounted();
}

}  // namespace vicinal::analysis
