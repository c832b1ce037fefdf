// What some workers did last before a moment: who of their tasks had started or ended.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "analysis/steps.hpp"

namespace vicinal::analysis {

class LastRuns {
 public:
  // Each of the groups holds tasks that no other one holds.
  LastRuns(const RecordedRun& run, std::vector<RunsOfWorker> groups)
      : run_(run), groups_(std::move(groups)), places_(run.tasks.size()) {
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
      const RunsOfWorker& group = groups_[g];
      for (std::uint32_t i = 0; i < group.by_start.size(); ++i) {
        places_[group.by_start[i]].group = g;
        places_[group.by_start[i]].by_start = i;
        places_[group.by_end[i]].by_end = i;
      }
    }
  }

  struct Last {
    std::uint32_t task = kNobody;  // kNobody: there is nothing
    bool ended = false;            // else it had started
    std::int64_t time = kUnknown;
  };
  // Of the group of the task, which ran: the last start or end until `time`, of tasks that stand before this one.
  Last before(std::uint32_t task, std::int64_t time) const {
    const PlaceInGroup& place = places_[task];
    const RunsOfWorker& group = groups_[place.group];
    const Last end = last(group.by_end, place.by_end, time, &TaskOfRun::ended);
    const Last start = last(group.by_start, place.by_start, time, &TaskOfRun::started);
    return end.time >= start.time ? Last{end.task, true, end.time} : start;
  }

 private:
  struct PlaceInGroup {
    std::uint32_t group = 0;
    std::uint32_t by_start = 0;
    std::uint32_t by_end = 0;
  };

  Last last(const std::vector<std::uint32_t>& tasks, std::uint32_t place, std::int64_t time,
            std::int64_t TaskOfRun::*when) const {
    const auto all = std::span(tasks).first(place);
    const auto behind = std::ranges::upper_bound(
        all, time, {}, [&](std::uint32_t t) { return run_.tasks[t].*when; });
    if (behind == all.begin()) return {};
    const std::uint32_t task = *std::prev(behind);
    return {task, false, run_.tasks[task].*when};
  }

  const RecordedRun& run_;
  const std::vector<RunsOfWorker> groups_;
  std::vector<PlaceInGroup> places_;  // by task
};

}  // namespace vicinal::analysis
