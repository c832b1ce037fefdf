// The life of a datum: where it came from, who used it, each copy, each eviction and each reload.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/steps.hpp"
#include "reports/explain_context.hpp"

namespace vicinal::reports::explaining {

using analysis::AccessOfTask;
using analysis::CopyOfRun;
using analysis::RecordedRun;
using analysis::RoomChange;
using analysis::TaskOfRun;

namespace {

struct Moment {
  std::int64_t time = 0;
  std::string text;
};

// In the order of time; of one moment in the order in which they were added.
class Life {
 public:
  Life(const Context& context, std::uint32_t datum)
      : context_(context), run_(context.run), datum_(datum) {}

  std::vector<Moment> told() {
    for (std::uint32_t e = 0; e < context_.of.traffic.evictions.size(); ++e) {
      const RoomChange& change = run_.room[context_.of.traffic.evictions[e].change];
      if (change.datum == datum_) add(change.time, eviction_text(context_, e));
    }
    for (const RoomChange& change : run_.room) {
      if (change.datum != datum_ || change.kind != RoomChange::Kind::became_void) continue;
      add(change.time, fmt::format("its content on {} was out of date: it was written elsewhere",
                                   run_.name_of_node(change.node)));
    }
    for (const std::uint32_t c : context_.copies_of[datum_]) {
      if (run_.copies[c].started != kUnknown) add_copy(c);
    }
    for (const std::uint32_t t : context_.users_of[datum_]) add_task(t);
    add_messages();
    std::ranges::stable_sort(all_, {}, &Moment::time);
    return std::move(all_);
  }

 private:
  void add(std::int64_t time, std::string text) { all_.push_back({time, std::move(text)}); }
  void add_copy(std::uint32_t c) {
    const CopyOfRun& copy = run_.copies[c];
    std::string text = fmt::format("{} from {} to {}, {}: {}",
                                   context_.of.traffic.is_reload[c] ? "copied again" : "copied",
                                   run_.name_of_node(copy.from), run_.name_of_node(copy.to),
                                   size(copy.bytes), cause_of(copy.cause));
    if (copy.wanted != kUnknown && copy.wanted < copy.started) {
      text += fmt::format("; it had waited {} for its link", duration(copy.started - copy.wanted));
    }
    if (copy.ended == kUnknown) {
      text += "; it did not end";
    } else {
      text += fmt::format("; it took {}{}", duration(copy.ended - copy.started),
                          copy.failed ? ", and failed" : "");
    }
    const std::int64_t cost = context_.of.traffic.cost[c];
    text += cost > 0 ? fmt::format("; tasks waited {} for it", duration(cost))
                     : "; nobody waited for it";
    add(copy.started, std::move(text));
  }
  void add_task(std::uint32_t t) {
    const TaskOfRun& task = run_.tasks[t];
    if (!task.ran()) return;
    for (const AccessOfTask& access : run_.accesses_of(task)) {
      if (access.datum != datum_) continue;
      const std::string_view how = leaves_content(access.mode)
                                       ? (reads(access.mode) ? "changed by" : "written by")
                                       : "used by";
      add(task.started,
          fmt::format("{} {}{}, until {}", how, run_.name_of(t),
                      task.worker == kNobody ? "" : " on " + run_.name_of_worker(task.worker),
                      context_.moment(task.ended)));
    }
  }

  // From rank to rank, also those of the ranks that pass the datum on.
  void add_messages() {
    std::set<std::uint32_t> copies{datum_};
    for (const analysis::MessageOfRun& message : run_.messages) {
      if (message.received == datum_ && message.arrived != kUnknown) {
        add(message.arrived, fmt::format("{} came from rank {}, {}", size(message.bytes),
                                         message.from, source(message)));
      }
      if (message.sent == kNobody || !copies.contains(message.sent)) continue;
      if (message.departs != kUnknown) {
        const std::string who =
            message.sent == datum_
                ? fmt::format("sent to rank {}", message.to)
                : fmt::format("rank {} passed it on to rank {}", message.from, message.to);
        add(message.departs,
            fmt::format("{}, {}{}", who, size(message.bytes), until(message.left)));
      }
      if (message.received != kNobody) copies.insert(message.received);
    }
  }
  std::string until(std::int64_t time) const {
    return time == kUnknown ? "" : fmt::format(", until {}", context_.moment(time));
  }
  // Where the sending rank has the datum from.
  std::string source(const analysis::MessageOfRun& message) const {
    const analysis::MessageOfRun* last = nullptr;
    for (const analysis::MessageOfRun& before : run_.messages) {
      if (before.received != message.sent || before.arrived == kUnknown) continue;
      if (message.departs != kUnknown && before.arrived > message.departs) continue;
      if (last == nullptr || before.arrived > last->arrived) last = &before;
    }
    return last == nullptr ? "whose it is" : fmt::format("which had it from rank {}", last->from);
  }

  const Context& context_;
  const RecordedRun& run_;
  const std::uint32_t datum_;
  std::vector<Moment> all_;
};

// Prefetches of the datum that were put off, by the rule.
std::map<std::string_view, std::uint64_t> put_off(const Context& context, std::uint32_t datum) {
  std::map<std::string_view, std::uint64_t> counts;
  for (const analysis::DecisionOfRun& of : context.run.decisions) {
    const trace::Decision& decision = of.decision;
    const trace::ReasonEntry& rule = trace::entry(decision.reason);
    if (rule.kind != trace::DecisionKind::prefetch || decision.winner || !decision.handle) continue;
    if (context.run.datum_of(*decision.handle) == datum) ++counts[rule.name];
  }
  return counts;
}

std::string about_datum(const Context& context, std::uint32_t datum) {
  const RecordedRun& run = context.run;
  const analysis::DatumOfRun& of = run.data[datum];
  std::string text = fmt::format("{}, {}", run.name_of_datum(datum), size(of.bytes));
  text += of.home == kNobody ? ", without a home"
                             : fmt::format(", at home in {}", run.name_of_node(of.home));
  if (of.part_of != kNobody) text += fmt::format(", a part of {}", run.name_of_datum(of.part_of));
  return text + ".\n";
}

std::string travels(const Context& context, std::uint32_t datum) {
  const auto& all = context.of.traffic.data;
  const auto at = std::ranges::find(all, datum, &analysis::TrafficOfDatum::datum);
  if (at == all.end()) return "It was never copied and never evicted.\n";
  std::string text = fmt::format(
      "It travelled {} in {}, {} of them since it had been evicted; tasks waited {} for "
      "them{}. It was evicted {}.\n",
      size(at->bytes), counted(at->copies, "copy", "copies"), at->reloads, duration(at->cost),
      at->copies > 0 ? in_vain_text(context, datum) : "", counted(at->evictions, "time", "times"));
  for (const analysis::TrafficOnNode& on : at->nodes) {
    text += fmt::format("  {}: {}, {} of them again, {}\n", context.run.name_of_node(on.node),
                        counted(on.loads, "load", "loads"), on.reloads,
                        counted(on.evictions, "eviction", "evictions"));
  }
  return text;
}

}  // namespace

std::string handle_text(const Context& context, std::uint32_t datum) {
  std::string text = about_datum(context, datum) + travels(context, datum) + "\nIts life:\n";
  const std::vector<Moment> life = Life(context, datum).told();
  for (const Moment& moment : life) {
    text += fmt::format("  {:>14}  {}\n", context.moment(moment.time), moment.text);
  }
  if (life.empty()) text += "  nothing happened to it\n";
  for (const auto& [rule, count] : put_off(context, datum)) {
    text += fmt::format("{} put off, by the rule \"{}\".\n",
                        counted(count, "prefetch was", "prefetches were"), rule);
  }
  const auto& evictions = context.of.traffic.evictions;
  bool first = true;
  for (std::size_t e = 0; e < evictions.size(); ++e) {
    const std::uint32_t decision = context.links.of_eviction[e];
    if (context.run.room[evictions[e].change].datum != datum || decision == kNobody) continue;
    text += (std::exchange(first, false) ? "\nThe choices behind its evictions:\n\n" : "\n") +
            decision_text(context, decision);
  }
  return text;
}

Json explained_handle_json(const Context& context, std::uint32_t datum) {
  const RecordedRun& run = context.run;
  const analysis::DatumOfRun& of = run.data[datum];
  Json json = datum_json(run, datum);
  json["bytes"] = of.bytes;
  json["home"] = node_json(run, of.home);
  json["part_of"] = datum_json(run, of.part_of);
  json["copies"] = Json::array();
  for (const std::uint32_t c : context.copies_of[datum]) {
    Json copy = copy_json(context, c);
    const std::uint32_t decision = context.links.of_copy[c];
    copy["decision"] = decision == kNobody ? Json(nullptr) : decision_json(context, decision);
    json["copies"].push_back(std::move(copy));
  }
  json["room"] = Json::array();
  for (const RoomChange& change : run.room) {
    if (change.datum != datum) continue;
    json["room"].push_back({{"time_ns", change.time},
                            {"node", node_json(run, change.node)},
                            {"what", to_string(change.kind)}});
  }
  json["uses"] = Json::array();
  for (const std::uint32_t t : context.users_of[datum]) {
    for (const AccessOfTask& access : run.accesses_of(run.tasks[t])) {
      if (access.datum != datum) continue;
      Json use = task_json(run, t);
      use["mode"] = to_string(access.mode);
      use["started_ns"] = time_json(run.tasks[t].started);
      use["ended_ns"] = time_json(run.tasks[t].ended);
      json["uses"].push_back(std::move(use));
    }
  }
  return json;
}

}  // namespace vicinal::reports::explaining
