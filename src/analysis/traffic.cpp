#include "analysis/traffic.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/intervals.hpp"
#include "analysis/known_steps.hpp"
#include "analysis/steps.hpp"

namespace vicinal::analysis {

namespace {

using DatumOnNode = std::pair<std::uint32_t, std::uint32_t>;  // a datum, a node

bool has_come(const CopyOfRun& copy) {
  return !copy.failed && copy.ended != kUnknown;
}

// What happened to a datum on a node, in the order of time.
struct Step {
  enum class What : std::uint8_t { evicted, kept, copied };
  std::int64_t time = 0;
  What what = What::copied;
  std::uint32_t index = 0;  // of room or of copies
};

std::map<DatumOnNode, std::vector<Step>> steps_by_place(const RecordedRun& run) {
  std::map<DatumOnNode, std::vector<Step>> steps;
  for (std::uint32_t i = 0; i < run.room.size(); ++i) {
    const RoomChange& change = run.room[i];
    const bool kept = change.kind == RoomChange::Kind::kept;
    if (!kept && change.kind != RoomChange::Kind::evicted) continue;
    steps[{change.datum, change.node}].push_back(
        {change.time, kept ? Step::What::kept : Step::What::evicted, i});
  }
  for (std::uint32_t c = 0; c < run.copies.size(); ++c) {
    const CopyOfRun& copy = run.copies[c];
    if (has_come(copy))
      steps[{copy.datum, copy.to}].push_back({copy.started, Step::What::copied, c});
  }
  for (auto& [place, of] : steps) {
    // At one moment the eviction comes first: the copy could not begin before.
    std::ranges::stable_sort(
        of, {}, [](const Step& s) { return std::pair(s.time, s.what == Step::What::copied); });
  }
  return steps;
}

class Collector {
 public:
  explicit Collector(const RecordedRun& run) : run_(run) {
    traffic_.cost = copy_costs(run);
    traffic_.is_reload.assign(run.copies.size(), false);
  }

  Traffic collected() {
    for (const auto& [place, steps] : steps_by_place(run_)) follow(place, steps);
    for (std::uint32_t c = 0; c < run_.copies.size(); ++c) {
      if (run_.copies[c].started != kUnknown) count(run_.copies[c], traffic_.cost[c]);
    }
    for (auto& [ends, intervals] : busy_) {
      for (const Interval& interval : united(std::move(intervals))) {
        links_[ends].busy += interval.length();
      }
    }
    finish();
    return std::move(traffic_);
  }

 private:
  void follow(const DatumOnNode& place, const std::vector<Step>& steps) {
    TrafficOfDatum& datum = data_[place.first];
    TrafficOnNode& on = datum.nodes.emplace_back();
    on.node = place.second;
    bool is_gone = false;  // by the last of the evictions
    for (const Step& step : steps) {
      if (step.what == Step::What::evicted) {
        ++on.evictions;
        traffic_.evictions.push_back({step.index, kNobody, false});
        is_gone = true;
        continue;
      }
      const bool kept = step.what == Step::What::kept;
      if (!kept) ++on.loads;
      if (!std::exchange(is_gone, false)) continue;
      if (kept) {
        --on.evictions;
        traffic_.evictions.back().kept = true;
      } else {
        ++on.reloads;
        traffic_.is_reload[step.index] = true;
        traffic_.evictions.back().reload = step.index;
      }
    }
    datum.reloads += on.reloads;
    datum.evictions += on.evictions;
  }

  void count(const CopyOfRun& copy, std::int64_t cost) {
    TrafficOfDatum& datum = data_[copy.datum];
    datum.bytes += copy.bytes;
    datum.cost += cost;
    ++datum.copies;
    TrafficOfLink& link = links_[{copy.from, copy.to}];
    link.bytes += copy.bytes;
    ++link.copies;
    busy_[{copy.from, copy.to}].push_back(
        {copy.started, copy.ended != kUnknown ? copy.ended : run_.end});
    if (copy.wanted != kUnknown) {
      link.waited += std::max<std::int64_t>(0, copy.started - copy.wanted);
    }
  }

  void finish() {
    for (auto& [number, datum] : data_) {
      datum.datum = number;
      traffic_.data.push_back(std::move(datum));
    }
    for (auto& [ends, link] : links_) {
      std::tie(link.from, link.to) = ends;
      traffic_.links.push_back(link);
    }
    const auto by_bytes = [](const auto& a, const auto& b) { return a.bytes > b.bytes; };
    std::ranges::stable_sort(traffic_.data, by_bytes);
    std::ranges::stable_sort(traffic_.links, by_bytes);
    std::ranges::sort(traffic_.evictions, {}, &EvictionOfRun::change);
  }

  const RecordedRun& run_;
  Traffic traffic_;
  std::map<std::uint32_t, TrafficOfDatum> data_;
  std::map<DatumOnNode, TrafficOfLink> links_;  // from, to
  std::map<DatumOnNode, std::vector<Interval>> busy_;
};

// Who waited for a datum.
struct Wait {
  Interval time;
  std::uint32_t node = kNobody;
};

std::unordered_map<std::uint32_t, std::vector<Wait>> waits_by_datum(const RecordedRun& run) {
  std::unordered_map<std::uint32_t, std::vector<Wait>> waits;
  const KnownSteps known(run);
  for (std::uint32_t t = 0; t < run.tasks.size(); ++t) {
    const TaskOfRun& task = run.tasks[t];
    if (!ran_on_worker(task)) continue;
    const Steps steps = known.of(t);
    if (steps.operands <= steps.granted) continue;
    for (const AccessOfTask& access : run.accesses_of(task)) {
      if (!reads(access.mode)) continue;
      waits[access.datum].push_back({{steps.granted, steps.operands}, node_of(run, task)});
    }
  }
  return waits;
}

}  // namespace

std::vector<std::int64_t> copy_costs(const RecordedRun& run) {
  const auto waits = waits_by_datum(run);
  std::vector<std::int64_t> costs(run.copies.size(), 0);
  for (std::uint32_t c = 0; c < run.copies.size(); ++c) {
    const CopyOfRun& copy = run.copies[c];
    const auto of_datum = waits.find(copy.datum);
    if (of_datum == waits.end() || copy.ended == kUnknown) continue;
    const std::int64_t from = copy.wanted != kUnknown ? copy.wanted : copy.started;
    std::vector<Interval> parts;
    for (const Wait& wait : of_datum->second) {
      if (wait.node != copy.to && copy.cause != Cause::through_ram) continue;
      parts.push_back({std::max(wait.time.from, from), std::min(wait.time.to, copy.ended)});
    }
    for (const Interval& part : united(std::move(parts))) costs[c] += part.length();
  }
  return costs;
}

Traffic traffic(const RecordedRun& run) {
  return Collector(run).collected();
}

}  // namespace vicinal::analysis
