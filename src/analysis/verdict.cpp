#include "analysis/verdict.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/binding.hpp"
#include "analysis/steps.hpp"
#include "analysis/what_if.hpp"
#include "base/text.hpp"

namespace vicinal::analysis {

namespace {

constexpr std::array<std::string_view, 16> kBinders{
    "nothing",   "work",        "kernel",     "processors", "contention", "chain",
    "few tasks", "slow worker", "link",       "memory",     "order",      "producers",
    "runtime",   "policy",      "submission", "application"};
static_assert(kBinders.size() == static_cast<std::size_t>(Binder::application) + 1);

std::string share_text(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

std::string bytes_text(std::uint64_t bytes) {
  return base::format_bytes(Bytes{bytes});
}

class Judge {
 public:
  Judge(const RecordedRun& run, const Analyses& analyses)
      : run_(run), of_(analyses), time_(time_of(run, analyses)) {}

  Verdict judged() {
    if (time_.length <= 0 || time_.path_tasks == 0) {
      verdict_.sentence = "No task ran.";
      return std::move(verdict_);
    }
    decide();
    return std::move(verdict_);
  }

 private:
  void decide();
  void processors();
  void contention();
  void policy();
  void submission();
  void application();
  bool has_window() const;
  bool held_by_window();
  void work();
  bool one_is_slow() const;
  void lack_of_tasks();
  void data_moves();
  bool by_simulation();
  std::string more_memory(const WhatIf& what_if, const Prediction& was,
                          const Prediction& most) const;
  void link();
  bool is_one_of_several(const TimeOfLink& link) const;
  void runtime();
  bool made_data_come_back() const;
  std::int64_t moved() const { return time_.data + time_.room; }
  // What `time` is of the run, of a predicted one. In doubles: a product of two times needs more than 64 bits.
  std::int64_t part_of(const Prediction& predicted, std::int64_t time) const {
    const double share = static_cast<double>(time) / static_cast<double>(time_.length);
    return static_cast<std::int64_t>(static_cast<double>(predicted.ns) * share);
  }
  std::uint64_t again_bytes() const;
  std::uint64_t saved_bytes() const;
  std::uint32_t short_node() const;

  void say(Binder binder, std::string subject, std::int64_t time, std::string sentence,
           std::string remedy = {}) {
    const double share = static_cast<double>(time) / static_cast<double>(time_.length);
    verdict_ = {binder, std::move(subject), time, share, std::move(sentence), std::move(remedy)};
  }
  std::string part(std::int64_t time) const {
    return share_text(static_cast<double>(time) / static_cast<double>(time_.length));
  }
  std::string name(std::uint32_t name) const {
    return name < run_.names.size() ? run_.names[name] : "task";
  }
  std::int64_t ran() const { return std::ranges::count_if(run_.tasks, ran_on_worker); }
  std::string workers_text() const {
    const std::uint32_t workers = worker_count(run_);
    return fmt::format("{} worker{}", workers, workers == 1 ? "" : "s");
  }

  const RecordedRun& run_;
  const Analyses& of_;
  const TimeOfRun time_;
  Verdict verdict_;
};

// All but the work is lost. The work binds where no loss is a fifth of both: docs/report.md calls a fifth of idle time much.
void Judge::decide() {
  using Way = void (Judge::*)();
  const std::array<std::pair<std::int64_t, Way>, 8> losses{
      {{time_.dependencies + time_.slow_worker, &Judge::lack_of_tasks},
       {moved(), &Judge::data_moves},
       {time_.runtime, &Judge::runtime},
       {time_.descheduled, &Judge::processors},
       {time_.contention, &Judge::contention},
       {time_.policy, &Judge::policy},
       {time_.submission, &Judge::submission},
       {time_.application, &Judge::application}}};
  const auto most = std::ranges::max_element(losses, {}, &std::pair<std::int64_t, Way>::first);
  if (time_.work > 4 * most->first) return work();
  (this->*most->second)();
}

void Judge::processors() {
  say(Binder::processors, "", time_.descheduled,
      fmt::format("A busy machine binds: tasks had their cores for {} of their time, and other "
                  "programs, or sleep, took {} of the run.",
                  share_text(time_.processor_share), part(time_.descheduled)),
      "Run it alone, or with no more workers than cores are free.");
}

void Judge::contention() {
  say(Binder::contention, "", time_.contention,
      fmt::format("Slow kernels bind: they took {:.1f} times as long as alone, {} of the run more, "
                  "though they had their cores.",
                  time_.slowness, part(time_.contention)),
      "The workers share the memory's bandwidth: compare with fewer of them.");
}

void Judge::policy() {
  const std::string& name = run_.facts.policy;
  say(Binder::policy, name, time_.policy,
      fmt::format("The policy binds: for {} of the run {} held ready tasks back while workers had "
                  "none.",
                  part(time_.policy), name.empty() ? "it" : name),
      "Another policy (--policy) gives them out sooner.");
}

bool Judge::has_window() const {
  return std::ranges::any_of(run_.facts.options, [](const auto& option) {
    return option.first == "window_tasks" || option.first == "window_bytes";
  });
}

void Judge::submission() {
  say(Binder::submission, "", time_.submission,
      fmt::format("The submission binds: for {} of the run the next task was not submitted yet.",
                  part(time_.submission)),
      has_window() ? "A larger window (--window-tasks, --window-bytes) lets more of them in."
                   : "Larger tasks, or less work between submissions, keep the workers busy.");
}

void Judge::application() {
  say(Binder::application, "", time_.application,
      fmt::format("The application binds: for {} of the run it did something else, and no task was "
                  "submitted.",
                  part(time_.application)),
      "Tasks that are submitted before that run meanwhile.");
}

// One codelet takes most of the runs on the path, and half as much again as its share of the path's tasks.
bool Judge::one_is_slow() const {
  const auto tasks = static_cast<double>(time_.path_tasks);
  const double share = static_cast<double>(time_.kernel_time) /
                       static_cast<double>(std::max<std::int64_t>(1, time_.runs));
  return share > 0.5 && share > 1.5 * static_cast<double>(time_.kernel_runs) / tasks;
}

void Judge::work() {
  const std::string kernel = name(time_.kernel);
  const std::int64_t workers = std::max<std::int64_t>(1, worker_count(run_));
  const double busy = of_.idle.wall > 0 ? static_cast<double>(of_.idle.all.run) /
                                              static_cast<double>(of_.idle.wall * workers)
                                        : 0;
  if (one_is_slow()) {
    return say(Binder::kernel, kernel, time_.kernel_time,
               fmt::format("The kernel {} binds: it ran for {} of the critical path, and workers "
                           "had tasks for {} of the time.",
                           kernel, part(time_.kernel_time), share_text(busy)),
               fmt::format("A faster {} gains most.", kernel));
  }
  say(Binder::work, kernel, time_.work,
      fmt::format("The work binds: {} had tasks for {} of the time, most of it {} ({} of the "
                  "critical path).",
                  workers_text(), share_text(busy), kernel, part(time_.kernel_time)),
      "More workers or faster kernels gain; no order of the tasks does.");
}

// Without the bound on submitted tasks most of what is lost would not be.
bool Judge::held_by_window() {
  const WhatIf what_if(run_);
  const auto was = what_if.as_it_was();
  const auto open = what_if.with_window(0);
  if (!was || !open) return false;
  const std::int64_t gain = was->ns - open->ns;
  if (2 * gain < part_of(*was, time_.dependencies)) return false;
  say(Binder::submission, "window", time_.dependencies,
      fmt::format("The submission window binds: for {} of the run workers had nothing, while no "
                  "more tasks were let in.",
                  part(time_.dependencies)),
      fmt::format("A larger window (--window-tasks, --window-bytes) would spare up to {:.0f} % of "
                  "the time (simulated).",
                  100.0 * static_cast<double>(gain) / static_cast<double>(was->ns)));
  return true;
}

void Judge::lack_of_tasks() {
  if (time_.slow_worker > time_.dependencies) {
    const std::string worker = run_.name_of_worker(time_.slowest);
    return say(
        Binder::slow_worker, worker, time_.slow_worker,
        fmt::format("A slow worker binds: others, that had nothing to do, would have run the "
                    "tasks of {} sooner, by {} of the run.",
                    worker, part(time_.slow_worker)),
        "A policy that knows run times (dmdas, darts) gives it fewer tasks, or none.");
  }
  if (has_window() && held_by_window()) return;
  const std::string kernel = name(time_.kernel);
  if (one_is_slow()) {
    return say(
        Binder::kernel, kernel, time_.kernel_time,
        fmt::format("The kernel {} binds: for {} of the run the critical path was in it, and "
                    "other workers had nothing that was ready.",
                    kernel, part(time_.kernel_time)),
        fmt::format("A faster {}, or smaller tasks of it, gains most.", kernel));
  }
  // What keeps the workers from sharing the work evenly: a chain, or that tasks are too few and large.
  const std::int64_t shared = of_.idle.all.run / std::max<std::int64_t>(1, worker_count(run_));
  const auto by_chain = static_cast<double>(std::max<std::int64_t>(0, of_.chain - shared));
  const double links = std::max(1.0, static_cast<double>(time_.path_tasks));
  const double chain = by_chain * (links - 1) / links;
  const double granules = static_cast<double>(time_.length - shared) - chain;
  if (chain >= granules) {
    return say(Binder::chain, kernel, of_.chain,
               fmt::format("One long chain binds: tasks that wait for each other, one after the "
                           "other, take {} of the run, most of it {}.",
                           part(of_.chain), kernel),
               "Shorter tasks on the chain, or fewer dependencies, gain; more workers do not.");
  }
  say(Binder::few_tasks, kernel, time_.dependencies,
      fmt::format(
          "Too few tasks bind: {} {} for {}, and too few ready at a time, which lost {} of the "
          "run.",
          ran(), ran() == 1 ? "task" : "tasks", workers_text(), part(time_.dependencies)),
      fmt::format("Smaller tasks of {} occupy more workers.", kernel));
}

// Of what was loaded again and had to leave for that: most of it was made by tasks of this run.
bool Judge::made_data_come_back() const {
  std::vector<bool> made(run_.data.size(), false);
  std::vector<bool> met(run_.data.size(), false);
  for (const TaskOfRun& task : run_.tasks) {
    if (!ran_on_worker(task)) continue;
    for (const AccessOfTask& access : run_.accesses_of(task)) {
      if (met[access.datum]) continue;
      met[access.datum] = true;
      made[access.datum] = !reads(access.mode);
    }
  }
  std::uint64_t all = 0;
  std::uint64_t of_made = 0;
  for (std::size_t c = 0; c < run_.copies.size(); ++c) {
    if (!of_.traffic.is_reload[c]) continue;
    all += run_.copies[c].bytes;
    if (made[run_.copies[c].datum]) of_made += run_.copies[c].bytes;
  }
  return 2 * of_made > all;
}

std::uint64_t Judge::again_bytes() const {
  std::uint64_t bytes = 0;
  for (std::size_t c = 0; c < run_.copies.size(); ++c) {
    if (of_.traffic.is_reload[c]) bytes += run_.copies[c].bytes;
  }
  return bytes;
}

// The limited memory to which most was loaded again.
std::uint32_t Judge::short_node() const {
  std::vector<std::uint64_t> again(run_.facts.machine.nodes.size(), 0);
  for (std::size_t c = 0; c < run_.copies.size(); ++c) {
    const std::uint32_t to = run_.copies[c].to;
    if (of_.traffic.is_reload[c] && to < again.size()) again[to] += run_.copies[c].bytes;
  }
  if (again.empty()) return kNobody;
  return static_cast<std::uint32_t>(std::ranges::max_element(again) - again.begin());
}

void Judge::data_moves() {
  if (again_bytes() == 0 && time_.room == 0) return link();
  if (by_simulation()) return;
  // Nothing can be played: what was loaded again says it.
  std::int64_t again = 0;
  for (const TimeOfLink& each : time_.links) again += each.again;
  if (2 * again < moved()) return link();
  const std::string node = run_.name_of_node(short_node());
  const std::string loads =
      fmt::format("for {} of the run tasks waited for data, and {} of them came a second time",
                  part(moved()), bytes_text(again_bytes()));
  if (made_data_come_back()) {
    return say(
        Binder::producers, node, moved(),
        fmt::format("Producers run ahead: {}, that tasks had made long before they were used.",
                    loads),
        "A submission window (--window-tasks) keeps what is made near its use.");
  }
  say(Binder::memory, node, moved(), fmt::format("Too little memory in {} binds: {}.", node, loads),
      fmt::format("More memory in {}, or a policy that looks at data (darts, dmdas, hfp), loads "
                  "less.",
                  node));
}

// Finds the possible change that gains most of what unlimited memory would gain.
bool Judge::by_simulation() {
  const WhatIf what_if(run_);
  const std::optional<Prediction> was = what_if.as_it_was();
  const std::optional<Prediction> most = what_if.with_memory(0);
  if (!was || !most) return false;
  const auto gain = [&](const std::optional<Prediction>& other) {
    return other ? was->ns - other->ns : 0;
  };
  // With all the memory there is, most of the data wait for the same link.
  if (2 * gain(most) < part_of(*was, moved()) || gain(most) <= 0) {
    link();
    if (4 * gain(most) > was->ns) verdict_.remedy = more_memory(what_if, *was, *most);
    return true;
  }
  struct Way {
    std::int64_t gain = 0;
    std::string name;
    std::optional<Prediction> run;
  };
  Way policy;
  for (const char* const name : {"darts", "dmdas", "lws", "hfp", "rws"}) {
    if (name == run_.facts.policy) continue;
    const auto run = what_if.with_policy(name);
    if (gain(run) > policy.gain) policy = {gain(run), name, run};
  }
  Way window;
  const std::uint64_t workers = worker_count(run_);
  for (const std::uint64_t tasks : {2 * workers, 4 * workers, 16 * workers}) {
    const auto run = what_if.with_window(tasks);
    if (gain(run) > window.gain) window = {gain(run), fmt::format("{}", tasks), run};
  }
  const std::string waited = fmt::format("for {} of the run tasks waited for data", part(moved()));
  const auto spared = [&](const Way& way) {
    return fmt::format("{} of {} would be copied, and {:.0f} % of the time spared (simulated)",
                       bytes_text(way.run->bytes), bytes_text(was->bytes),
                       100.0 * static_cast<double>(way.gain) / static_cast<double>(was->ns));
  };
  if (2 * window.gain >= gain(most) && made_data_come_back()) {
    say(Binder::producers, run_.name_of_node(short_node()), moved(),
        fmt::format("Producers run ahead: {} that others had made too early, and {} came a second "
                    "time.",
                    waited, bytes_text(again_bytes())),
        fmt::format("With --window-tasks {} {}.", window.name, spared(window)));
    return true;
  }
  if (2 * policy.gain >= gain(most)) {
    say(Binder::order, policy.name, moved(),
        fmt::format("The order of the tasks binds: {}, and under {} {}.", waited, policy.name,
                    spared(policy)),
        fmt::format("Use --policy {}.", policy.name));
    return true;
  }
  if (2 * again_bytes() < saved_bytes()) {
    link();
    verdict_.remedy = more_memory(what_if, *was, *most);
    return true;
  }
  say(Binder::memory, run_.name_of_node(short_node()), moved(),
      fmt::format("Too little memory in {} binds: for {} of the run tasks waited for data or room, "
                  "and {} were loaded a second time.",
                  run_.name_of_node(short_node()), part(moved()), bytes_text(again_bytes())),
      more_memory(what_if, *was, *most));
  return true;
}

// The least memory that gains half of what all would.
std::string Judge::more_memory(const WhatIf& what_if, const Prediction& was,
                               const Prediction& most) const {
  const std::uint32_t node = short_node();
  const std::string name = run_.name_of_node(node);
  const auto& nodes = run_.facts.machine.nodes;
  const auto percent = [&](std::int64_t ns) {
    return 100.0 * static_cast<double>(was.ns - ns) / static_cast<double>(was.ns);
  };
  for (const double factor : {1.25, 1.5, 2.0, 4.0, 8.0}) {
    const auto run = what_if.with_memory(factor);
    if (!run || 2 * (was.ns - run->ns) < was.ns - most.ns) continue;
    if (node >= nodes.size() || !nodes[node].limit) break;
    const auto bytes = static_cast<double>(nodes[node].limit->value) * factor;
    return fmt::format(
        "With {} in {}, {:g} times as much, {} of {} would be copied, and {:.0f} % of the time "
        "spared (simulated).",
        bytes_text(static_cast<std::uint64_t>(bytes)), name, factor, bytes_text(run->bytes),
        bytes_text(was.bytes), percent(run->ns));
  }
  return fmt::format("With room for all in {} {:.0f} % of the time would be spared (simulated).",
                     name, percent(most.ns));
}

std::uint64_t Judge::saved_bytes() const {
  std::uint64_t bytes = 0;
  for (const CopyOfRun& copy : run_.copies) {
    const bool saves = copy.cause == Cause::eviction || copy.cause == Cause::write_behind;
    if (saves && copy.ended != kUnknown) bytes += copy.bytes;
  }
  return bytes;
}

// Other accelerators get data from there, too, at least half as long.
bool Judge::is_one_of_several(const TimeOfLink& link) const {
  const auto& links = of_.traffic.links;
  const auto own = std::ranges::find_if(links, [&](const TrafficOfLink& each) {
    return each.from == link.from && each.to == link.to;
  });
  if (own == links.end()) return false;
  return std::ranges::any_of(links, [&](const TrafficOfLink& each) {
    return each.from == link.from && each.to != link.to && each.to != kRam.value &&
           2 * each.busy >= own->busy;
  });
}

// All links of a disk are one disk; of those from RAM to accelerators the slowest is named.
void Judge::link() {
  const auto& nodes = run_.facts.machine.nodes;
  const auto is_disk = [&](std::uint32_t node) {
    return node < nodes.size() && nodes[node].kind == NodeKind::disk;
  };
  TimeOfLink disk;
  for (const TimeOfLink& each : time_.links) {
    if (!is_disk(each.from) && !is_disk(each.to)) continue;
    (is_disk(each.from) ? disk.first : disk.saved) += each.all();
  }
  const TimeOfLink slowest = time_.links.empty() ? TimeOfLink{} : time_.links.front();
  if (2 * disk.all() >= moved() || (disk.all() > 0 && disk.all() >= slowest.all())) {
    const char* const what = 2 * disk.saved > disk.all()
                                 ? "tasks waited for room while data were written to it"
                                 : "tasks waited for data from it";
    return say(Binder::link, "disk", moved(),
               fmt::format("The disk binds: for {} of the run {}.", part(moved()), what),
               "A faster disk gains, or less data (no order and no memory spares these copies).");
  }
  if (slowest.from == kNobody) {
    return say(Binder::link, "", moved(),
               fmt::format("Copies bind: for {} of the run tasks waited for data.", part(moved())));
  }
  const std::string from = run_.name_of_node(slowest.from);
  const std::string to = run_.name_of_node(slowest.to);
  const bool several = is_one_of_several(slowest);
  say(Binder::link, fmt::format("{}->{}", from, to), moved(),
      fmt::format("The {} from {} to {} bind{}: for {} of the run tasks waited for copies{}.",
                  several ? "links" : "link", from, several ? "accelerators" : to,
                  several ? "" : "s", part(moved()),
                  several ? fmt::format(", as on that to {}", to) : ""),
      "A faster link gains, or tasks that do more with the same data.");
}

void Judge::runtime() {
  const std::int64_t tasks = std::max<std::int64_t>(1, ran());
  say(Binder::runtime, "", time_.runtime,
      fmt::format(
          "Too small tasks bind: they take {} each, and the runtime's own work between them "
          "took {} of the run.",
          base::format_duration(Time{of_.idle.all.run / tasks}), part(time_.runtime)),
      "Fewer and larger tasks gain.");
}

}  // namespace

std::string_view to_string(Binder binder) {
  return kBinders[static_cast<std::size_t>(binder)];
}

Verdict verdict(const RecordedRun& run, const Analyses& analyses) {
  return Judge(run, analyses).judged();
}

}  // namespace vicinal::analysis
