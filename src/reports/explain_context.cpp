#include "reports/explain_context.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace vicinal::reports::explaining {

using analysis::Cause;
using analysis::CopyOfRun;
using analysis::RecordedRun;
using analysis::RoomChange;
using analysis::TaskOfRun;
using trace::Decision;
using trace::DecisionKind;

namespace {

std::vector<std::vector<std::uint32_t>> turned(
    const std::vector<std::vector<std::uint32_t>>& predecessors) {
  std::vector<std::vector<std::uint32_t>> successors(predecessors.size());
  for (std::uint32_t t = 0; t < predecessors.size(); ++t) {
    for (const std::uint32_t before : predecessors[t]) successors[before].push_back(t);
  }
  return successors;
}

std::vector<std::vector<std::uint32_t>> copies_by_datum(const RecordedRun& run) {
  std::vector<std::vector<std::uint32_t>> copies(run.data.size());
  for (std::uint32_t c = 0; c < run.copies.size(); ++c) copies[run.copies[c].datum].push_back(c);
  return copies;
}

// A task that accesses a datum twice is there twice.
std::vector<std::vector<std::uint32_t>> users_by_datum(const RecordedRun& run) {
  std::vector<std::vector<std::uint32_t>> users(run.data.size());
  for (std::uint32_t t = 0; t < run.tasks.size(); ++t) {
    for (const analysis::AccessOfTask& access : run.accesses_of(run.tasks[t])) {
      users[access.datum].push_back(t);
    }
  }
  return users;
}

std::vector<std::vector<std::uint32_t>> waits_for_room(const RecordedRun& run) {
  std::vector<std::vector<std::uint32_t>> waits(run.facts.machine.nodes.size());
  const auto& workers = run.facts.machine.workers;
  for (std::uint32_t t = 0; t < run.tasks.size(); ++t) {
    const TaskOfRun& task = run.tasks[t];
    if (task.wanted == kUnknown || task.granted == kUnknown || task.worker >= workers.size()) {
      continue;
    }
    waits[workers[task.worker].node.value].push_back(t);
  }
  for (auto& of : waits) {
    std::ranges::stable_sort(of, {}, [&](std::uint32_t t) { return run.tasks[t].granted; });
  }
  return waits;
}

std::uint64_t place(std::uint32_t datum, std::uint32_t node) {
  return std::uint64_t{datum} << 32 | node;
}

// What has happened to a datum on a node and is behind a decision about it: the decision that was made last before each.
class Followers {
 public:
  void add(std::uint64_t place, std::int64_t time, std::uint32_t index) {
    by_place_[place].waiting.emplace_back(time, index);
  }
  // In the order of time. The first that follows the decision and has none, or has an older one.
  std::optional<std::uint32_t> of(std::uint64_t place, std::int64_t time) {
    const auto at = by_place_.find(place);
    if (at == by_place_.end()) return std::nullopt;
    Queue& queue = at->second;
    while (queue.next < queue.waiting.size() && queue.waiting[queue.next].first < time) {
      ++queue.next;
    }
    if (queue.next == queue.waiting.size()) return std::nullopt;
    return queue.waiting[queue.next].second;
  }
  void take(std::uint64_t place) { ++by_place_[place].next; }

 private:
  struct Queue {
    std::vector<std::pair<std::int64_t, std::uint32_t>> waiting;
    std::size_t next = 0;
  };
  std::unordered_map<std::uint64_t, Queue> by_place_;
};

class Linker {
 public:
  Linker(const RecordedRun& run, const analysis::Traffic& traffic) : run_(run) {
    links_.of_task.resize(run.tasks.size());
    links_.of_eviction.assign(traffic.evictions.size(), kNobody);
    links_.of_copy.assign(run.copies.size(), kNobody);
    for (std::uint32_t e = 0; e < traffic.evictions.size(); ++e) {
      const RoomChange& change = run.room[traffic.evictions[e].change];
      evictions_.add(place(change.datum, change.node), change.time, e);
    }
    std::vector<std::uint32_t> by_request;
    for (std::uint32_t c = 0; c < run.copies.size(); ++c) {
      if (run.copies[c].wanted != kUnknown) by_request.push_back(c);
    }
    std::ranges::stable_sort(by_request, {}, [&](std::uint32_t c) { return run.copies[c].wanted; });
    for (const std::uint32_t c : by_request) {
      const CopyOfRun& copy = run.copies[c];
      if (copy.cause == Cause::prefetch || copy.cause == Cause::arrival) {
        prefetches_.add(place(copy.datum, copy.to), copy.wanted, c);
      } else if (copy.cause == Cause::write_behind) {
        behind_.add(place(copy.datum, copy.from), copy.wanted, c);
      }
    }
  }

  DecisionLinks linked() {
    for (std::uint32_t d = 0; d < run_.decisions.size(); ++d) {
      if (!link(d)) links_.others.push_back(d);
    }
    std::ranges::sort(links_.others);
    return std::move(links_);
  }

 private:
  bool link(std::uint32_t d) {
    const Decision& decision = run_.decisions[d].decision;
    if (decision.task) return link_to_task(*decision.task, d);
    if (!decision.winner) return false;
    const std::uint64_t winner = decision.candidates[*decision.winner].id;
    if (decision.among == trace::Among::tasks) return link_to_task({winner}, d);
    switch (trace::entry(decision.reason).kind) {
      case DecisionKind::victim:
        return follow(evictions_, links_.of_eviction, HandleId{winner}, d);
      case DecisionKind::prefetch:
        return decision.handle && follow(prefetches_, links_.of_copy, *decision.handle, d);
      case DecisionKind::write_behind:
        return follow(behind_, links_.of_copy, HandleId{winner}, d);
      default:
        return false;
    }
  }

  bool link_to_task(TaskId id, std::uint32_t d) {
    const std::uint32_t task = run_.task_of(id);
    if (task == kNobody) return false;
    links_.of_task[task].push_back(d);
    return true;
  }

  // A decision that is made again before anything followed gives way to the newer one.
  bool follow(Followers& followers, std::vector<std::uint32_t>& links, HandleId id,
              std::uint32_t d) {
    const std::uint32_t datum = run_.datum_of(id);
    const auto& node = run_.decisions[d].decision.node;
    if (datum == kNobody || !node) return false;
    const std::uint64_t at = place(datum, node->value);
    std::optional<std::uint32_t> next = followers.of(at, run_.decisions[d].time);
    // At one moment a datum may leave, come back and leave again.
    if (next && links[*next] != kNobody && same_time(links[*next], d)) {
      followers.take(at);
      next = followers.of(at, run_.decisions[d].time);
    }
    if (!next) return false;
    if (links[*next] != kNobody) links_.others.push_back(links[*next]);
    links[*next] = d;
    return true;
  }
  bool same_time(std::uint32_t a, std::uint32_t b) const {
    return run_.decisions[a].time == run_.decisions[b].time;
  }

  const RecordedRun& run_;
  DecisionLinks links_;
  Followers evictions_;
  Followers prefetches_;
  Followers behind_;
};

}  // namespace

Context::Context(const RecordedRun& recorded)
    : run(recorded),
      of(analysis::analyse(recorded)),
      steps(recorded),
      successors(turned(of.predecessors)),
      links(Linker(recorded, of.traffic).linked()),
      copies_of(copies_by_datum(recorded)),
      users_of(users_by_datum(recorded)),
      room_waits(waits_for_room(recorded)) {}

std::string Context::moment(std::int64_t time) const {
  constexpr std::int64_t kMillisecond = 1'000'000;
  const auto ns = static_cast<double>(time);
  if (run.end < 10 * kMillisecond) return fmt::format("{:.3f} us", ns / 1e3);
  if (run.end < 10'000 * kMillisecond) return fmt::format("{:.3f} ms", ns / 1e6);
  return fmt::format("{:.6f} s", ns / 1e9);
}

std::uint32_t Context::waiting_for_room(std::uint32_t node, std::int64_t time) const {
  if (node >= room_waits.size()) return kNobody;
  const auto& waits = room_waits[node];
  const auto next = std::ranges::lower_bound(waits, time, {},
                                             [&](std::uint32_t t) { return run.tasks[t].granted; });
  return next != waits.end() && run.tasks[*next].wanted <= time ? *next : kNobody;
}

std::string duration(std::int64_t ns) {
  return base::format_duration(Time{ns});
}

std::string size(std::uint64_t bytes) {
  return base::format_bytes(Bytes{bytes});
}

std::string percent(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return "0 %";
  return fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string counted(std::uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

const char* cause_of(Cause cause) {
  switch (cause) {
    case Cause::task:
      return "for a task that could start next";
    case Cause::prefetch:
      return "prefetched, before a task waited for it";
    case Cause::eviction:
      return "to save it, as it was evicted";
    case Cause::write_behind:
      return "to save it before its room is needed";
    case Cause::application:
      return "for the application";
    case Cause::through_ram:
      return "on its way through RAM";
    case Cause::arrival:
      return "on its arrival from another rank";
  }
  return "";
}

namespace {

Json reference(const char* what, std::uint32_t number, std::string name) {
  if (number == kNobody) return nullptr;
  return {{what, number}, {"name", std::move(name)}};
}

}  // namespace

Json task_json(const RecordedRun& run, std::uint32_t task) {
  return reference("task", task, task == kNobody ? "" : run.name_of(task));
}

Json datum_json(const RecordedRun& run, std::uint32_t datum) {
  return reference("handle", datum, datum == kNobody ? "" : run.name_of_datum(datum));
}

Json node_json(const RecordedRun& run, std::uint32_t node) {
  return reference("node", node, node == kNobody ? "" : run.name_of_node(node));
}

Json worker_json(const RecordedRun& run, std::uint32_t worker) {
  return reference("worker", worker, worker == kNobody ? "" : run.name_of_worker(worker));
}

Json time_json(std::int64_t time) {
  return time == kUnknown ? Json(nullptr) : Json(time);
}

Json copy_json(const Context& context, std::uint32_t index) {
  const CopyOfRun& copy = context.run.copies[index];
  return {{"copy", index},
          {"handle", datum_json(context.run, copy.datum)},
          {"from", node_json(context.run, copy.from)},
          {"to", node_json(context.run, copy.to)},
          {"bytes", copy.bytes},
          {"cause", to_string(copy.cause)},
          {"urgent", copy.urgent},
          {"failed", copy.failed},
          {"wanted_ns", time_json(copy.wanted)},
          {"started_ns", time_json(copy.started)},
          {"ended_ns", time_json(copy.ended)},
          {"cost_ns", context.of.traffic.cost[index]},
          {"reload", static_cast<bool>(context.of.traffic.is_reload[index])}};
}

}  // namespace vicinal::reports::explaining
