#include "analysis/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "analysis/steps.hpp"
#include "base/text.hpp"

namespace vicinal::analysis {

namespace {

using Parts = std::map<std::string, std::int64_t>;

constexpr std::size_t kMostNamed = 4;
constexpr std::size_t kMostChanges = 3;
// Measured run times of real runs differ by less for no reason.
constexpr double kOtherTime = 1.1;

std::string name_of_copy(const RecordedRun& run, const Analyses& of, std::uint32_t copy) {
  const CopyOfRun& it = run.copies[copy];
  const bool saves = it.cause == Cause::eviction || it.cause == Cause::write_behind;
  return fmt::format("copies from {} to {}{}", run.name_of_node(it.from), run.name_of_node(it.to),
                     saves                        ? ", saved"
                     : of.traffic.is_reload[copy] ? ", again"
                                                  : "");
}

std::string name_of_segment(const RecordedRun& run, const Analyses& of,
                            const PathSegment& segment) {
  switch (segment.cause) {
    case PathCause::run: {
      const std::uint32_t name = run.tasks[segment.task].name;
      return fmt::format("runs of {}", name < run.names.size() ? run.names[name] : "task");
    }
    case PathCause::copy:
    case PathCause::link:
      return segment.copy == kNobody ? "copies" : name_of_copy(run, of, segment.copy);
    case PathCause::room:
      return fmt::format("room in {}", run.name_of_node(node_of(run, run.tasks[segment.task])));
    case PathCause::worker:
    case PathCause::release:
      return "the runtime's own time";
    case PathCause::policy:
      return "ready tasks with the policy";
    case PathCause::message:
      return "messages between ranks";
    case PathCause::submission:
      break;
  }
  return "submission";
}

// The parts of a critical path.
class PathParts {
 public:
  explicit PathParts(const RunToCompare& of) : run_(of.run), of_(of.analyses) {
    for (std::uint32_t c = 0; c < run_.copies.size(); ++c) {
      if (run_.copies[c].started != kUnknown) begun_.push_back(c);
    }
    std::ranges::stable_sort(begun_, {}, [&](std::uint32_t c) { return run_.copies[c].started; });
  }

  Parts found() {
    for (const PathSegment& segment : of_.path.segments) {
      if (segment.cause == PathCause::policy) {
        add_policy(segment);
      } else {
        parts_[name_of_segment(run_, of_, segment)] += segment.length();
      }
    }
    return std::move(parts_);
  }

 private:
  // A ready task is with the policy while its worker waits for the data of others: then it is these that were awaited.
  void add_policy(const PathSegment& segment) {
    const TaskOfRun& task = run_.tasks[segment.task];
    const std::uint32_t node = node_of(run_, task);
    std::int64_t rest = segment.length();
    const auto& gaps = of_.idle.intervals;
    auto gap = std::ranges::lower_bound(
        gaps, std::pair(task.worker, segment.from), std::less<>(),
        [](const IdleInterval& each) { return std::pair(each.worker, each.to); });
    for (; gap != gaps.end() && gap->worker == task.worker && gap->from < segment.to; ++gap) {
      const std::int64_t from = std::max(gap->from, segment.from);
      const std::int64_t to = std::min(gap->to, segment.to);
      if (to <= from) continue;
      if (gap->cause == IdleCause::room) {
        parts_[fmt::format("room in {}", run_.name_of_node(node))] += to - from;
      } else if (gap->cause == IdleCause::data) {
        parts_[name_of_copy_to(node, from, to)] += to - from;
      } else {
        continue;
      }
      rest -= to - from;
    }
    if (rest > 0) parts_["ready tasks with the policy"] += rest;
  }

  // Of those in flight to the node, or on their way to RAM, the one that was so longest.
  std::string name_of_copy_to(std::uint32_t node, std::int64_t from, std::int64_t to) const {
    constexpr std::ptrdiff_t kMostInFlight = 64;
    std::uint32_t found = kNobody;
    std::int64_t longest = 0;
    const auto behind = std::ranges::lower_bound(
        begun_, to, {}, [&](std::uint32_t c) { return run_.copies[c].started; });
    for (auto at = behind - std::min(kMostInFlight, behind - begun_.begin()); at != behind; ++at) {
      const CopyOfRun& copy = run_.copies[*at];
      if (copy.ended == kUnknown || (copy.to != node && copy.cause != Cause::through_ram)) continue;
      const std::int64_t common = std::min(copy.ended, to) - std::max(copy.started, from);
      if (common <= longest) continue;
      longest = common;
      found = *at;
    }
    return found == kNobody ? "copies" : name_of_copy(run_, of_, found);
  }

  const RecordedRun& run_;
  const Analyses& of_;
  std::vector<std::uint32_t> begun_;  // copies, by their start
  Parts parts_;
};

// --- what was different

class Changes {
 public:
  Changes(const RecordedRun& first, const RecordedRun& second) : first_(first), second_(second) {}

  std::vector<std::string> found() {
    const RunFacts& a = first_.facts;
    const RunFacts& b = second_.facts;
    add("policy", a.policy, b.policy);
    memories();
    workers();
    links();
    options();
    tasks();
    return std::move(all_);
  }

 private:
  void add(std::string_view what, const std::string& first, const std::string& second) {
    if (first == second) return;
    const auto value = [](const std::string& text) { return text.empty() ? "none" : text; };
    all_.push_back(fmt::format("{} {} instead of {}", what, value(second), value(first)));
  }

  void memories() {
    const auto& a = first_.facts.machine.nodes;
    const auto& b = second_.facts.machine.nodes;
    const auto limit = [](const NodeDescription& node) {
      return node.limit ? base::format_bytes(*node.limit) : std::string("no limit");
    };
    std::string last;
    for (std::size_t n = 0; n < std::min(a.size(), b.size()); ++n) {
      if (a[n].limit == b[n].limit) continue;
      const std::string change = fmt::format("{} instead of {}", limit(b[n]), limit(a[n]));
      if (change == last) continue;  // each of several accelerators
      last = change;
      all_.push_back(fmt::format("memory of {} {}",
                                 second_.name_of_node(static_cast<std::uint32_t>(n)), change));
    }
  }

  void workers() {
    const auto count = [](const RecordedRun& run, ProcessorKind kind) {
      return std::ranges::count(run.facts.machine.workers, kind, &WorkerDescription::kind);
    };
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      const auto of = static_cast<ProcessorKind>(kind);
      const auto a = count(first_, of);
      const auto b = count(second_, of);
      if (a == b) continue;
      all_.push_back(fmt::format("{} {} worker{} instead of {}", b, vicinal::to_string(of),
                                 b == 1 ? "" : "s", a));
    }
  }

  // Only a simulated link has the same bandwidth each time. All links of one kind are told of once.
  void links() {
    if (!first_.facts.simulated || !second_.facts.simulated) return;
    const auto& nodes = second_.facts.machine.nodes;
    const auto is_disk = [&](NodeId node) {
      return node.value < nodes.size() && nodes[node.value].kind == NodeKind::disk;
    };
    std::vector<std::string> changes;
    for (const LinkDescription& a : first_.facts.machine.links) {
      for (const LinkDescription& b : second_.facts.machine.links) {
        if (a.from != b.from || a.to != b.to || a.bandwidth == b.bandwidth) continue;
        const std::string what =
            is_disk(b.from) || is_disk(b.to)
                ? "a disk"
                : fmt::format("a link from {} to {}", second_.name_of_node(b.from.value),
                              second_.name_of_node(b.to.value));
        std::string change = fmt::format("{} of {:.3g} GB/s instead of {:.3g} GB/s", what,
                                         b.bandwidth.value / 1e9, a.bandwidth.value / 1e9);
        if (std::ranges::find(changes, change) == changes.end()) changes.push_back(change);
      }
    }
    all_.insert(all_.end(), changes.begin(), changes.end());
  }

  void options() {
    std::map<std::string, std::pair<std::string, std::string>> values;
    for (const auto& [name, value] : first_.facts.options) values[name].first = value;
    for (const auto& [name, value] : second_.facts.options) values[name].second = value;
    for (const auto& [name, pair] : values) {
      const bool said = name == "policy" || name == "memory" || name == "workers" ||
                        name.starts_with("trace") || name == "accelerators";
      if (!said) add(name, pair.first, pair.second);
    }
  }

  struct Codelet {
    std::int64_t sum = 0;
    std::int64_t count = 0;
    double mean() const { return static_cast<double>(sum) / static_cast<double>(count); }
  };
  static std::map<std::string, Codelet> codelets(const RecordedRun& run) {
    std::map<std::string, Codelet> all;
    for (const TaskOfRun& task : run.tasks) {
      if (!ran_on_worker(task) || task.name >= run.names.size()) continue;
      Codelet& codelet = all[run.names[task.name]];
      codelet.sum += task.ended - task.started;
      ++codelet.count;
    }
    return all;
  }

  void tasks() {
    const auto a = codelets(first_);
    const auto b = codelets(second_);
    const auto count = [](const auto& all) {
      std::int64_t sum = 0;
      for (const auto& each : all) sum += each.second.count;
      return sum;
    };
    if (count(a) != count(b)) {
      all_.push_back(fmt::format("{} tasks instead of {}", count(b), count(a)));
      return;
    }
    bool same_kinds = true;
    for (const auto& [name, codelet] : b) {
      const auto other = a.find(name);
      same_kinds = same_kinds && other != a.end() && other->second.count == codelet.count;
      if (other == a.end()) continue;
      const double ratio = codelet.mean() / std::max(1.0, other->second.mean());
      if (ratio < kOtherTime && 1 / ratio < kOtherTime) continue;
      all_.push_back(fmt::format(
          "{} a task of {} instead of {}",
          base::format_duration(Time{static_cast<std::int64_t>(codelet.mean())}), name,
          base::format_duration(Time{static_cast<std::int64_t>(other->second.mean())})));
    }
    if (!same_kinds) {
      all_.emplace_back("other tasks");
    } else if (order_of(first_) != order_of(second_)) {
      all_.emplace_back("the tasks submitted in another order");
    }
  }

  // What each task is and accesses, as they were submitted.
  static std::vector<std::uint64_t> order_of(const RecordedRun& run) {
    std::map<std::string, std::uint64_t> names;
    std::vector<std::uint64_t> order;
    for (const TaskOfRun& task : run.tasks) {
      if (!ran_on_worker(task) || task.name >= run.names.size()) continue;
      order.push_back(names.try_emplace(run.names[task.name], names.size()).first->second);
      for (const AccessOfTask& access : run.accesses_of(task)) {
        const std::string& name = run.data[access.datum].name;
        if (name.empty()) continue;
        order.push_back(names.try_emplace(name, names.size()).first->second);
      }
    }
    return order;
  }

  const RecordedRun& first_;
  const RecordedRun& second_;
  std::vector<std::string> all_;
};

std::string signed_duration(std::int64_t ns) {
  return (ns < 0 ? "-" : "+") + base::format_duration(Time{std::abs(ns)});
}

std::string sentence_of(const Comparison& of, const RunToCompare& first,
                        const RunToCompare& second) {
  const std::int64_t difference = of.second - of.first;
  const auto time = [](std::int64_t ns) { return base::format_duration(Time{ns}); };
  std::string text =
      difference == 0
          ? fmt::format("{} takes as long as {} ({})", second.name, first.name, time(of.first))
          : fmt::format("{} is {} {} than {} ({} instead of {})", second.name,
                        time(std::abs(difference)), difference < 0 ? "sooner" : "later", first.name,
                        time(of.second), time(of.first));
  for (std::size_t i = 0; i < std::min(of.changes.size(), kMostChanges); ++i) {
    text += (i == 0 ? ", with " : ", ") + of.changes[i];
  }
  std::int64_t rest = difference;
  std::size_t named = 0;
  for (const PartOfDifference& part : of.parts) {
    if (part.difference() == 0 || named == kMostNamed || (part.is_small && named > 0)) break;
    text += fmt::format("{} {} {}", named == 0 ? ":" : ",", part.name,
                        signed_duration(part.difference()));
    rest -= part.difference();
    ++named;
  }
  if (named > 0 && rest != 0) text += fmt::format(", the rest {}", signed_duration(rest));
  return text + ".";
}

}  // namespace

Comparison compared(const RunToCompare& first, const RunToCompare& second) {
  Comparison result{.first = first.analyses.path.length(),
                    .second = second.analyses.path.length(),
                    .changes = Changes(first.run, second.run).found(),
                    .parts = {},
                    .sentence = {}};
  const Parts a = PathParts(first).found();
  std::map<std::string, PartOfDifference> both;
  for (const auto& [name, time] : a) both[name].first = time;
  for (const auto& [name, time] : PathParts(second).found()) both[name].second = time;
  const std::int64_t longer = std::max(result.first, result.second);
  for (auto& [name, part] : both) {
    part.name = name;
    part.is_small = std::abs(part.difference()) * 100 < longer;
    result.parts.push_back(part);
  }
  // What the difference is made of comes before what goes against it, where both are as large.
  std::ranges::stable_sort(result.parts, [](const PartOfDifference& x, const PartOfDifference& y) {
    return std::abs(x.difference()) > std::abs(y.difference());
  });
  result.sentence = sentence_of(result, first, second);
  return result;
}

}  // namespace vicinal::analysis
