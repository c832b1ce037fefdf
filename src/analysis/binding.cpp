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

std::size_t kind_of_worker(const RecordedRun& run, std::uint32_t worker) {
  const auto& workers = run.facts.machine.workers;
  return worker < workers.size() ? static_cast<std::size_t>(workers[worker].kind) : 0;
}

// How many workers of a kind were idle for each cause, from each of these times on.
class IdleCounts {
 public:
  using Counts = std::array<std::int32_t, kIdleCauses>;

  IdleCounts(const RecordedRun& run, const Idle& idle, std::size_t kind) {
    struct Change {
      std::int64_t time = 0;
      std::size_t cause = 0;
      std::int32_t by = 0;
    };
    std::vector<Change> changes;
    for (const IdleInterval& interval : idle.intervals) {
      if (kind_of_worker(run, interval.worker) != kind) continue;
      const auto cause = static_cast<std::size_t>(interval.cause);
      changes.push_back({interval.from, cause, 1});
      changes.push_back({interval.to, cause, -1});
    }
    std::ranges::sort(changes, {}, &Change::time);
    Counts counts{};
    for (const Change& change : changes) {
      counts[change.cause] += change.by;
      if (times_.empty() || times_.back() != change.time) {
        times_.push_back(change.time);
        counts_.emplace_back();
      }
      counts_.back() = counts;
    }
  }

  // Calls visit(length, counts) for each piece of the time.
  template <typename Visit>
  void each(Interval time, const Visit& visit) const {
    auto at =
        static_cast<std::size_t>(std::ranges::upper_bound(times_, time.from) - times_.begin());
    while (time.from < time.to) {
      const std::int64_t to = at < times_.size() ? std::min(times_[at], time.to) : time.to;
      visit(to - time.from, at == 0 ? Counts{} : counts_[at - 1]);
      time.from = to;
      ++at;
    }
  }

 private:
  std::vector<std::int64_t> times_;
  std::vector<Counts> counts_;
};

struct Mean {
  std::int64_t sum = 0;
  std::int64_t count = 0;
  std::int64_t value() const { return count > 0 ? sum / count : 0; }
};

class Accountant {
 public:
  Accountant(const RecordedRun& run, const Analyses& analyses)
      : run_(run), of_(analyses), begins_(begins_of_runs(run, runs_of_workers(run))) {
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      idle_.emplace_back(run, analyses.idle, kind);
    }
    workers_.resize(kProcessorKinds);
    for (std::uint32_t w = 0; w < worker_count(run); ++w) ++workers_[kind_of_worker(run, w)];
    measure();
  }

  TimeOfRun accounted() {
    time_.length = of_.path.length();
    for (const PathSegment& segment : of_.path.segments) add(segment);
    share_out();
    for (const auto& [ends, link] : links_) time_.links.push_back(link);
    std::ranges::stable_sort(
        time_.links, [](const TimeOfLink& a, const TimeOfLink& b) { return a.all() > b.all(); });
    for (const auto& [name, kernel] : kernels_) {
      if (kernel.sum <= time_.kernel_time) continue;
      time_.kernel = name;
      time_.kernel_time = kernel.sum;
      time_.kernel_runs = static_cast<std::uint64_t>(kernel.count);
    }
    std::int64_t most = 0;
    for (const auto& [worker, lost] : slow_) {
      if (lost > most) time_.slowest = worker;
      most = std::max(most, lost);
    }
    return std::move(time_);
  }

 private:
  void measure();
  void measure_processors();
  void add(const PathSegment& segment);
  void add_run(const PathSegment& segment);
  void add_copy(const PathSegment& segment);
  void add_room(const PathSegment& segment);
  void add_submission(const PathSegment& segment);
  std::int64_t lost_to_slowness(const PathSegment& segment) const;
  void share_out();
  TimeOfLink& link(std::uint32_t from, std::uint32_t to) {
    TimeOfLink& link = links_[{from, to}];
    link.from = from;
    link.to = to;
    return link;
  }

  const RecordedRun& run_;
  const Analyses& of_;
  const std::vector<std::int64_t> begins_;
  std::vector<IdleCounts> idle_;                                 // by kind
  std::vector<std::int32_t> workers_;                            // by kind
  std::map<std::pair<std::uint32_t, std::size_t>, Mean> means_;  // of a codelet on a kind
  std::vector<std::uint32_t> save_copies_;
  std::vector<std::int64_t> submissions_;  // in order
  std::int64_t pace_ = 0;                  // the median time between two
  std::map<std::pair<std::uint32_t, std::uint32_t>, TimeOfLink> links_;
  std::map<std::uint32_t, Mean> kernels_;
  std::map<std::uint32_t, std::int64_t> slow_;  // by worker
  double idle_data_ = 0;                        // ns of runs in which others waited for data
  double idle_room_ = 0;
  double idle_scheduling_ = 0;
  TimeOfRun time_;
};

void Accountant::measure() {
  for (std::uint32_t t = 0; t < run_.tasks.size(); ++t) {
    const TaskOfRun& task = run_.tasks[t];
    if (!ran_on_worker(task)) continue;
    Mean& mean = means_[{task.name, kind_of_worker(run_, task.worker)}];
    mean.sum += task.ended - begins_[t];
    ++mean.count;
    if (task.submitted != kUnknown) submissions_.push_back(task.submitted);
  }
  std::ranges::sort(submissions_);
  std::vector<std::int64_t> gaps;
  for (std::size_t i = 1; i < submissions_.size(); ++i) {
    gaps.push_back(submissions_[i] - submissions_[i - 1]);
  }
  if (!gaps.empty()) {
    const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
    std::ranges::nth_element(gaps, middle);
    pace_ = *middle;
  }
  for (std::uint32_t c = 0; c < run_.copies.size(); ++c) {
    const CopyOfRun& copy = run_.copies[c];
    if (copy.ended == kUnknown ||
        (copy.cause != Cause::eviction && copy.cause != Cause::write_behind)) {
      continue;
    }
    save_copies_.push_back(c);
  }
  std::ranges::stable_sort(save_copies_, {},
                           [&](std::uint32_t c) { return run_.copies[c].started; });
  measure_processors();
}

void Accountant::measure_processors() {
  double wall = 0;
  double processor = 0;
  double ran = 0;
  for (std::uint32_t t = 0; t < run_.tasks.size(); ++t) {
    const TaskOfRun& task = run_.tasks[t];
    if (!ran_on_worker(task)) continue;
    ran += static_cast<double>(task.ended - begins_[t]);
    if (task.processor == kUnknown) continue;
    wall += static_cast<double>(task.ended - task.started);
    processor += static_cast<double>(std::min(task.processor, task.ended - task.started));
  }
  if (wall > 0) time_.processor_share = processor / wall;
  if (run_.facts.simulated) return;
  for (const auto& [name, value] : run_.facts.told) {
    if (name != "bound.work_seconds") continue;
    double work = 0;
    std::from_chars(value.data(), value.data() + value.size(), work);
    const double alone = work * 1e9 * worker_count(run_);
    if (alone > 0) time_.slowness = std::max(1.0, ran / alone);
  }
}

void Accountant::add(const PathSegment& segment) {
  switch (segment.cause) {
    case PathCause::run:
      return add_run(segment);
    case PathCause::copy:
    case PathCause::link:
      return add_copy(segment);
    case PathCause::room:
      return add_room(segment);
    case PathCause::worker:
    case PathCause::release:
      time_.runtime += segment.length();
      return;
    case PathCause::policy:
      (segment.length() > kWakeUp ? time_.policy : time_.runtime) += segment.length();
      return;
    case PathCause::submission:
      return add_submission(segment);
  }
}

// As much of it as another kind, of which a worker had nothing to do, would have saved.
std::int64_t Accountant::lost_to_slowness(const PathSegment& segment) const {
  const TaskOfRun& task = run_.tasks[segment.task];
  const std::size_t own = kind_of_worker(run_, task.worker);
  const std::int64_t took = task.ended - begins_[segment.task];
  std::int64_t most = 0;
  for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
    const auto mean = means_.find({task.name, kind});
    if (kind == own || mean == means_.end() || mean->second.value() >= took || took <= 0) continue;
    std::int64_t idle = 0;
    idle_[kind].each({segment.from, segment.to}, [&](std::int64_t length, const auto& counts) {
      if (std::ranges::any_of(counts, [](std::int32_t count) { return count > 0; })) idle += length;
    });
    most = std::max(most, idle * (took - mean->second.value()) / took);
  }
  return most;
}

void Accountant::add_run(const PathSegment& segment) {
  const TaskOfRun& task = run_.tasks[segment.task];
  Mean& kernel = kernels_[task.name];
  kernel.sum += segment.length();
  ++kernel.count;
  time_.runs += segment.length();
  ++time_.path_tasks;
  const std::int64_t slow = lost_to_slowness(segment);
  time_.slow_worker += slow;
  if (slow > 0) slow_[task.worker] += slow;
  const std::size_t kind = kind_of_worker(run_, task.worker);
  const double all = std::max(1, workers_[kind]);
  const double rest = 1 - static_cast<double>(slow) / static_cast<double>(segment.length());
  double nothing = 0;
  idle_[kind].each({segment.from, segment.to}, [&](std::int64_t length, const auto& counts) {
    const auto part = [&](IdleCause cause) {
      return rest * static_cast<double>(length) * counts[static_cast<std::size_t>(cause)] / all;
    };
    nothing += part(IdleCause::nothing_ready) + part(IdleCause::before) + part(IdleCause::after);
    idle_data_ += part(IdleCause::data);
    idle_room_ += part(IdleCause::room);
    idle_scheduling_ += part(IdleCause::scheduling);
  });
  time_.dependencies += static_cast<std::int64_t>(nothing);
}

void Accountant::add_copy(const PathSegment& segment) {
  time_.data += segment.length();
  if (segment.copy == kNobody) return;
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
void Accountant::add_room(const PathSegment& segment) {
  time_.room += segment.length();
  const std::uint32_t node = node_of(run_, run_.tasks[segment.task]);
  std::int64_t longest = 0;
  std::uint32_t to = kNobody;
  // By their start: the last ones that had begun. Few are in course at a time.
  constexpr std::ptrdiff_t kMostInCourse = 64;
  const auto behind = std::ranges::lower_bound(
      save_copies_, segment.to, {}, [&](std::uint32_t c) { return run_.copies[c].started; });
  const auto first = behind - std::min(kMostInCourse, behind - save_copies_.begin());
  for (auto at = first; at != behind; ++at) {
    const CopyOfRun& copy = run_.copies[*at];
    if (copy.from != node) continue;
    const std::int64_t common =
        std::min(copy.ended, segment.to) - std::max(copy.started, segment.from);
    if (common > longest) {
      longest = common;
      to = copy.to;
    }
  }
  if (to != kNobody) link(node, to).saved += segment.length();
}

void Accountant::add_submission(const PathSegment& segment) {
  const bool is_pause = segment.length() > kPause * std::max<std::int64_t>(pace_, 1);
  (is_pause ? time_.application : time_.submission) += segment.length();
}

// Runs whose time is not lost otherwise are work, and of these a part may be lost to the machine.
void Accountant::share_out() {
  const auto whole = [](double ns) { return static_cast<std::int64_t>(ns); };
  time_.data += whole(idle_data_);
  time_.room += whole(idle_room_);
  time_.runtime += whole(idle_scheduling_);
  time_.work = time_.runs - time_.slow_worker - time_.dependencies - whole(idle_data_) -
               whole(idle_room_) - whole(idle_scheduling_);
  const double lost = 1 - std::clamp(time_.processor_share, 0.0, 1.0);
  const double alone = std::clamp(1 / time_.slowness, 0.0, 1.0);
  const double contention = std::max(0.0, 1 - alone - lost);
  for (std::int64_t* part : {&time_.work, &time_.dependencies, &time_.slow_worker}) {
    const auto all = static_cast<double>(*part);
    time_.descheduled += whole(all * lost);
    time_.contention += whole(all * contention);
    *part -= whole(all * lost) + whole(all * contention);
  }
}

}  // namespace

TimeOfRun time_of(const RecordedRun& run, const Analyses& analyses) {
  return Accountant(run, analyses).accounted();
}

}  // namespace vicinal::analysis
