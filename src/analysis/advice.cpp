#include "analysis/advice.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "analysis/steps.hpp"
#include "base/text.hpp"

namespace vicinal::analysis {

namespace {

constexpr std::array<std::string_view, 9> kKinds{"memory",     "link",          "policy",
                                                 "order",      "smaller tasks", "larger tasks",
                                                 "submission", "workers",       "kernel"};
static_assert(kKinds.size() == static_cast<std::size_t>(AdviceKind::kernel) + 1);

std::string duration(std::int64_t ns) {
  return base::format_duration(Time{ns});
}

// How many workers of one kind had nothing that was ready, from each of these times on.
using IdleWorkers = std::vector<std::pair<std::int64_t, std::int64_t>>;

class Advisor {
 public:
  Advisor(const RecordedRun& run, const Analyses& analyses)
      : run_(run), of_(analyses), workers_(runs_of_workers(run)) {}

  std::vector<Advice> given() {
    memory();
    links();
    policy();
    order();
    smaller_tasks();
    larger_tasks();
    submission();
    more_workers();
    kernels();
    std::erase_if(all_, [](const Advice& a) { return a.gain <= 0; });
    std::ranges::stable_sort(all_,
                             [](const Advice& a, const Advice& b) { return a.gain > b.gain; });
    if (all_.size() > kMostAdvice) all_.resize(kMostAdvice);
    return std::move(all_);
  }

 private:
  void add(AdviceKind kind, std::string subject, std::int64_t gain, std::string change,
           std::string reason) {
    all_.push_back({kind, std::move(subject), gain, std::move(change), std::move(reason)});
  }
  const std::string& codelet(std::uint32_t task) const { return run_.names[run_.tasks[task].name]; }
  std::size_t kind_of(std::uint32_t worker) const { return kind_of_worker(run_, worker); }

  void memory();
  void links();
  void policy();
  void order();
  void smaller_tasks();
  void larger_tasks();
  void submission();
  void more_workers();
  void kernels();
  std::vector<IdleWorkers> idle_workers() const;
  std::int64_t least_work() const;

  const RecordedRun& run_;
  const Analyses& of_;
  const std::vector<RunsOfWorker> workers_;
  std::vector<Advice> all_;
};

// Room that tasks waited for, and copies of what had been there or had to go.
void Advisor::memory() {
  struct Times {
    std::int64_t room = 0;
    std::int64_t copies = 0;
  };
  std::map<std::uint32_t, Times> nodes;
  for (const PathSegment& segment : of_.path.segments) {
    if (segment.cause == PathCause::room) {
      nodes[node_of(run_, run_.tasks[segment.task])].room += segment.length();
    } else if (segment.copy != kNobody) {
      const CopyOfRun& copy = run_.copies[segment.copy];
      if (copy.cause == Cause::eviction) {
        nodes[copy.from].copies += segment.length();
      } else if (of_.traffic.is_reload[segment.copy]) {
        nodes[copy.to].copies += segment.length();
      }
    }
  }
  for (const auto& [node, times] : nodes) {
    if (node == kNobody) continue;
    const std::string name = run_.name_of_node(node);
    add(AdviceKind::memory, name, times.room + times.copies, fmt::format("More memory in {}", name),
        fmt::format(
            "on the critical path tasks waited {} for room there, and {} for copies of what "
            "had been evicted",
            duration(times.room), duration(times.copies)));
  }
}

void Advisor::links() {
  struct Times {
    std::int64_t copies = 0;
    std::int64_t queue = 0;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Times> links;
  for (const PathSegment& segment : of_.path.segments) {
    if (segment.copy == kNobody) continue;
    const CopyOfRun& copy = run_.copies[segment.copy];
    Times& times = links[{copy.from, copy.to}];
    (segment.cause == PathCause::link ? times.queue : times.copies) += segment.length();
  }
  for (const auto& [ends, times] : links) {
    const std::string from = run_.name_of_node(ends.first);
    const std::string to = run_.name_of_node(ends.second);
    add(AdviceKind::link, fmt::format("{}->{}", from, to), times.copies + times.queue,
        fmt::format("A faster link from {} to {}", from, to),
        fmt::format("the critical path waits {} for its copies, and {} for copies before them",
                    duration(times.copies), duration(times.queue)));
  }
}

void Advisor::policy() {
  add(AdviceKind::policy, "", of_.path.of(PathCause::policy),
      "Another policy, that gives ready tasks to free workers sooner",
      "so long, on the critical path, a task was ready and its worker had nothing");
}

// A task that any kind of worker could have run counts with the shortest of their means.
std::int64_t Advisor::least_work() const {
  const std::vector<std::int64_t> begins = begins_of_runs(run_, workers_);
  const MeanTimes means = mean_times(run_, begins);
  std::int64_t work = 0;
  for (std::uint32_t t = 0; t < run_.tasks.size(); ++t) {
    const TaskOfRun& task = run_.tasks[t];
    if (ran_on_worker(task)) work += least_time(run_, means, task, task.ended - begins[t]);
  }
  return work;
}

// No order of these tasks is faster than their work, shared evenly, nor than a chain of them.
void Advisor::order() {
  if (workers_.empty()) return;
  const std::int64_t shared = least_work() / static_cast<std::int64_t>(workers_.size());
  const std::int64_t least = std::max(shared, of_.chain);
  add(AdviceKind::order, "", of_.path.length() - least,
      "Another order of the tasks: other priorities, or another policy",
      fmt::format("the work of all tasks, shared evenly by the workers, takes {}, and the longest "
                  "chain of dependent tasks {}: no order ends sooner",
                  duration(shared), duration(of_.chain)));
}

std::vector<IdleWorkers> Advisor::idle_workers() const {
  std::vector<IdleWorkers> counts(kProcessorKinds);
  for (const IdleInterval& interval : of_.idle.intervals) {
    if (interval.cause != IdleCause::nothing_ready) continue;
    IdleWorkers& changes = counts[kind_of(interval.worker)];
    changes.emplace_back(interval.from, 1);
    changes.emplace_back(interval.to, -1);
  }
  for (IdleWorkers& changes : counts) {
    std::ranges::sort(changes);
    std::int64_t idle = 0;
    for (auto& [time, change] : changes) change = idle += change;
  }
  return counts;
}

// While m others have nothing, a task that is divided among all of them gives m / (m + 1) of its time back.
void Advisor::smaller_tasks() {
  const std::vector<IdleWorkers> idle = idle_workers();
  struct Times {
    std::int64_t alone = 0;  // ns while others had nothing
    std::int64_t gain = 0;
  };
  std::map<std::string, Times> codelets;
  for (const PathSegment& segment : of_.path.segments) {
    if (segment.cause != PathCause::run) continue;
    Times& times = codelets[codelet(segment.task)];
    const IdleWorkers& counts = idle[kind_of(run_.tasks[segment.task].worker)];
    auto at = std::ranges::upper_bound(counts, segment.from, {},
                                       &std::pair<std::int64_t, std::int64_t>::first);
    std::int64_t workers = at == counts.begin() ? 0 : std::prev(at)->second;
    for (std::int64_t from = segment.from; from < segment.to;) {
      const std::int64_t to = at == counts.end() ? segment.to : std::min(at->first, segment.to);
      if (workers > 0) times.alone += to - from;
      times.gain += (to - from) * workers / (workers + 1);
      from = to;
      while (at != counts.end() && at->first <= from) workers = (at++)->second;
    }
  }
  for (const auto& [name, times] : codelets) {
    add(AdviceKind::smaller_tasks, name, times.gain, fmt::format("Smaller tasks of {}", name),
        fmt::format("for {} the critical path goes through tasks of {} while other workers have "
                    "nothing ready: divided among them they would take so much less",
                    duration(times.alone), name));
  }
}

void Advisor::larger_tasks() {
  const std::int64_t gain = of_.path.of(PathCause::worker) + of_.path.of(PathCause::release);
  const auto runs = std::ranges::count(of_.path.segments, PathCause::run, &PathSegment::cause);
  add(AdviceKind::larger_tasks, "", gain, "Fewer and larger tasks",
      fmt::format("so long, between the {} tasks of the critical path, there was nothing but the "
                  "runtime's own work",
                  runs));
}

void Advisor::submission() {
  add(AdviceKind::submission, "", of_.path.of(PathCause::submission),
      "Faster or earlier submission",
      "so long, on the critical path, a task was not submitted yet");
}

// Workers that are added take over runs at most, on the critical path and in all; and a chain stays a chain.
void Advisor::more_workers() {
  if (workers_.empty()) return;
  const std::int64_t run_of_each = of_.idle.all.run / static_cast<std::int64_t>(workers_.size());
  const std::int64_t run_on_path = of_.path.of(PathCause::run);
  add(AdviceKind::workers, "", std::min({of_.path.length() - of_.chain, run_of_each, run_on_path}),
      "More workers",
      fmt::format(
          "workers ran tasks for {} each, {} of the critical path are runs, and the longest "
          "chain of dependent tasks takes {} with any number of workers",
          duration(run_of_each), duration(run_on_path), duration(of_.chain)));
}

void Advisor::kernels() {
  std::map<std::string, std::int64_t> codelets;
  for (const PathSegment& segment : of_.path.segments) {
    if (segment.cause == PathCause::run) codelets[codelet(segment.task)] += segment.length();
  }
  for (const auto& [name, time] : codelets) {
    add(AdviceKind::kernel, name, time, fmt::format("A faster kernel for {}", name),
        "so long it runs on the critical path");
  }
}

}  // namespace

std::string_view to_string(AdviceKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

Analyses analyse(const RecordedRun& run) {
  Analyses analyses;
  analyses.predecessors = predecessors(run);
  analyses.path = critical_path(run, analyses.predecessors);
  analyses.chain = longest_chain(run, analyses.predecessors);
  analyses.idle = idle_times(run);
  analyses.traffic = traffic(run);
  return analyses;
}

std::vector<Advice> advice(const RecordedRun& run, const Analyses& analyses) {
  return Advisor(run, analyses).given();
}

}  // namespace vicinal::analysis
