// Evictions: the victims, the reasons, the rules, and the cost of copies that brought victims back.
#include <set>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/explain_context.hpp"

namespace vicinal::reports::explaining {

using analysis::CopyOfRun;
using analysis::EvictionOfRun;
using analysis::RecordedRun;
using analysis::RoomChange;

std::string eviction_text(const Context& context, std::size_t index) {
  const RecordedRun& run = context.run;
  const EvictionOfRun& eviction = context.of.traffic.evictions[index];
  const RoomChange& change = run.room[eviction.change];
  std::string text = fmt::format(
      "{} of {} {} {}", run.name_of_datum(change.datum), size(run.data[change.datum].bytes),
      eviction.kept ? "was to leave" : "left", run.name_of_node(change.node));
  if (const std::uint32_t d = context.links.of_eviction[index]; d != kNobody) {
    const trace::Decision& decision = run.decisions[d].decision;
    if (decision.bytes) text += fmt::format(", as {} were needed", size(decision.bytes->value));
    text += fmt::format(", by the rule \"{}\" among {}{}", trace::entry(decision.reason).name,
                        decision.candidates.size(), decision.full() ? " or more" : "");
  }
  if (const std::uint32_t task = context.waiting_for_room(change.node, change.time);
      task != kNobody) {
    text += fmt::format("; {} waited for room", run.name_of(task));
  }
  if (change.saved_first) text += "; it was saved first, as it was nowhere else";
  if (eviction.kept) return text + "; it stayed after all, as somebody wanted it";
  if (eviction.reload == kNobody) return text + "; it did not come back";
  const CopyOfRun& copy = run.copies[eviction.reload];
  text += fmt::format("; it came back from {} at {}", run.name_of_node(copy.from),
                      context.moment(copy.ended));
  const std::int64_t cost = context.of.traffic.cost[eviction.reload];
  return text + (cost > 0 ? fmt::format(", and tasks waited {} for that", duration(cost))
                          : ", and nobody waited for that");
}

std::string evictions_text(const Context& context) {
  const RecordedRun& run = context.run;
  const auto& evictions = context.of.traffic.evictions;
  std::uint64_t back = 0;
  std::uint64_t kept = 0;
  std::int64_t cost = 0;
  std::set<trace::Reason> rules;
  std::string lines;
  for (std::size_t e = 0; e < evictions.size(); ++e) {
    const std::uint32_t reload = evictions[e].reload;
    if (evictions[e].kept) ++kept;
    if (reload != kNobody) {
      ++back;
      cost += context.of.traffic.cost[reload];
    }
    const std::uint32_t d = context.links.of_eviction[e];
    if (d != kNobody) rules.insert(run.decisions[d].decision.reason);
    lines += fmt::format("  {:>14}  {}\n", context.moment(run.room[evictions[e].change].time),
                         eviction_text(context, e));
  }
  if (evictions.empty()) return "Nothing was evicted.\n";
  std::string text =
      fmt::format("{}; {} came back, and tasks waited {} for these copies.{}\n",
                  counted(evictions.size(), "eviction", "evictions"), back, duration(cost),
                  kept > 0 ? fmt::format(" {} stayed after all.", kept) : "");
  text += lines;
  if (!rules.empty()) text += "\nThe rules:\n";
  for (const trace::Reason rule : rules) {
    text += fmt::format("  {}: {}\n", trace::entry(rule).name, trace::entry(rule).sentence);
  }
  return text;
}

Json evictions_json(const Context& context) {
  const RecordedRun& run = context.run;
  Json list = Json::array();
  const auto& evictions = context.of.traffic.evictions;
  for (std::size_t e = 0; e < evictions.size(); ++e) {
    const RoomChange& change = run.room[evictions[e].change];
    const std::uint32_t d = context.links.of_eviction[e];
    const std::uint32_t reload = evictions[e].reload;
    list.push_back({{"time_ns", change.time},
                    {"node", node_json(run, change.node)},
                    {"handle", datum_json(run, change.datum)},
                    {"bytes", run.data[change.datum].bytes},
                    {"saved_first", change.saved_first},
                    {"kept", evictions[e].kept},
                    {"waiting", task_json(run, context.waiting_for_room(change.node, change.time))},
                    {"reload", reload == kNobody ? Json(nullptr) : copy_json(context, reload)},
                    {"decision", d == kNobody ? Json(nullptr) : decision_json(context, d)}});
  }
  return list;
}

}  // namespace vicinal::reports::explaining
