// The copies of a run.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/events/data.hpp"
#include "analysis/events/machine_of_run.hpp"
#include "analysis/recorded_run.hpp"
#include "base/id_map.hpp"
#include "trace/event_source.hpp"

namespace vicinal::analysis {

class CopiesOfRun {
 public:
  CopiesOfRun(std::vector<CopyOfRun>& copies, DataOfRun& data, MachineOfRun& machine)
      : copies_(copies), data_(data), machine_(machine) {}

  // False: the event is not about a copy.
  bool take(const trace::RecordedEvent& event);
  // After the last event.
  void finish();

 private:
  void take_wanted(const trace::RecordedEvent& event);
  void take_started(const trace::RecordedEvent& event);
  void take_ended(const trace::RecordedEvent& event);

  std::vector<CopyOfRun>& copies_;
  DataOfRun& data_;
  MachineOfRun& machine_;
  std::vector<CopyOfRun> wanted_;  // `started` says of them whether they have begun
  base::IdMap wanted_for_;         // by node and datum: the last in wanted_
  base::IdMap open_;               // by number of a copy: in copies_
};

}  // namespace vicinal::analysis
