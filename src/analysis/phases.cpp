#include "analysis/phases.hpp"

#include <algorithm>

namespace vicinal::analysis {

namespace {

std::int64_t end_of_region(const RecordedRun& run, const MarkOfRun& region) {
  return region.to != kUnknown ? region.to : run.end;
}

void cut_task(TaskOfRun& task, const Interval& time) {
  const std::int64_t first = task.started != kUnknown ? task.started : task.submitted;
  const bool is_before = task.ended != kUnknown ? task.ended <= time.from : first < time.from;
  if (is_before || first >= time.to) {
    for (auto step :
         {&TaskOfRun::submitted, &TaskOfRun::ready, &TaskOfRun::scheduled, &TaskOfRun::wanted,
          &TaskOfRun::granted, &TaskOfRun::operands, &TaskOfRun::started, &TaskOfRun::ended}) {
      task.*step = kUnknown;
    }
    return;
  }
  for (auto step :
       {&TaskOfRun::submitted, &TaskOfRun::ready, &TaskOfRun::scheduled, &TaskOfRun::wanted,
        &TaskOfRun::granted, &TaskOfRun::operands, &TaskOfRun::started, &TaskOfRun::ended}) {
    if (task.*step != kUnknown) task.*step = std::clamp(task.*step, time.from, time.to);
  }
}

void cut_copy(CopyOfRun& copy, const Interval& time) {
  if (copy.ended == kUnknown || copy.ended <= time.from || copy.ended > time.to) {
    copy.wanted = copy.started = copy.ended = kUnknown;
    return;
  }
  if (copy.wanted != kUnknown) copy.wanted = std::max(copy.wanted, time.from);
  copy.started = std::max(copy.started, time.from);
}

}  // namespace

std::optional<Interval> time_of_run(const RecordedRun& run) {
  std::optional<Interval> time;
  for (const MarkOfRun& mark : run.marks) {
    if (!mark.is_region || mark.text != kRunRegion) continue;
    const std::int64_t end = end_of_region(run, mark);
    if (!time) time = Interval{mark.from, end};
    time->from = std::min(time->from, mark.from);
    time->to = std::max(time->to, end);
  }
  if (time && time->length() <= 0) return std::nullopt;
  return time;
}

std::vector<PhaseOfRun> phases(const RecordedRun& run) {
  std::vector<PhaseOfRun> all;
  if (!time_of_run(run)) return all;
  for (const MarkOfRun& mark : run.marks) {
    if (mark.is_region) all.push_back({mark.text, {mark.from, end_of_region(run, mark)}});
  }
  // The longer phase first, so that the phases inside it come behind it.
  std::ranges::stable_sort(all, [](const PhaseOfRun& a, const PhaseOfRun& b) {
    return a.time.from != b.time.from ? a.time.from < b.time.from : a.time.to > b.time.to;
  });
  std::int64_t covered = -1;
  std::erase_if(all, [&](const PhaseOfRun& phase) {
    const bool is_inside = phase.time.to <= covered;
    covered = std::max(covered, phase.time.to);
    return is_inside;
  });
  return all;
}

RecordedRun run_proper(const RecordedRun& run) {
  RecordedRun proper = run.without_decisions();
  const std::optional<Interval> time = time_of_run(run);
  if (!time) return proper;
  proper.begin = time->from;
  proper.end = time->to;
  for (TaskOfRun& task : proper.tasks) cut_task(task, *time);
  for (CopyOfRun& copy : proper.copies) cut_copy(copy, *time);
  std::erase_if(proper.processor_times, [&](const ProcessorTime& each) {
    return each.time < time->from || each.time > time->to;
  });
  std::erase_if(proper.messages, [&](const MessageOfRun& message) {
    const std::int64_t last = std::max(
        {message.departs, message.left, message.expected, message.arrived});  // kUnknown is least
    return last < time->from || last > time->to;
  });
  std::erase_if(proper.room, [&](const RoomChange& change) {
    return change.time < time->from || change.time > time->to;
  });
  return proper;
}

}  // namespace vicinal::analysis
