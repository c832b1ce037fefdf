// Puts a run together from the events of a recording, in the order of their times.
//
// A recording may begin in the middle of a run, leave out categories, and have lost events: what an event speaks of is
// made when it is first spoken of. What cannot have happened in any run throws UsageError. In what comes out every number
// of a task, datum, name, worker or node has its place in the run's lists, or is kNobody.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/events/copies.hpp"
#include "analysis/events/data.hpp"
#include "analysis/events/machine_of_run.hpp"
#include "analysis/events/messages.hpp"
#include "analysis/events/names.hpp"
#include "analysis/events/tasks.hpp"
#include "analysis/recorded_run.hpp"
#include "base/id_map.hpp"
#include "trace/event_source.hpp"

namespace vicinal::analysis {

class RunBuilder {
 public:
  // Of an empty run.
  RunBuilder(RecordedRun& run, const trace::EventSource& source, bool with_decisions);
  void build();

 private:
  void take(const trace::RecordedEvent& event);
  bool take_room(const trace::RecordedEvent& event);
  void take_other(const trace::RecordedEvent& event);
  void take_slept(std::uint32_t worker, std::int64_t time);
  void take_woke(std::uint32_t worker, std::int64_t time);
  void take_mark(const trace::RecordedEvent& event);
  void take_region_end(const trace::RecordedEvent& event);
  void take_rank(const trace::RecordedEvent& event);
  void take_decision(const trace::RecordedEvent& event);
  void finish();

  RecordedRun& run_;
  const trace::EventSource& source_;
  const bool with_decisions_;
  MachineOfRun machine_;
  NamesOfRun names_;
  DataOfRun data_;
  TasksOfRun tasks_;
  CopiesOfRun copies_;
  MessagesOfRun messages_;
  base::IdMap last_sleep_;  // by worker, in run_.sleeps
  base::IdMap regions_;     // by number, in run_.marks
};

}  // namespace vicinal::analysis
