// The tasks of a run: events make them, and say what became of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/events/data.hpp"
#include "analysis/events/machine_of_run.hpp"
#include "analysis/events/names.hpp"
#include "analysis/recorded_run.hpp"
#include "base/id_map.hpp"
#include "trace/event_source.hpp"

namespace vicinal::analysis {

class TasksOfRun {
 public:
  struct Parts {  // of the run
    NamesOfRun& names;
    DataOfRun& data;
    MachineOfRun& machine;
  };
  TasksOfRun(RecordedRun& run, const Parts& parts, const std::string& path)
      : run_(run), parts_(parts), path_(path) {}

  // False: the event is not about a task.
  bool take(const trace::RecordedEvent& event);
  // After the last event: numbers the tasks, and resolves what names them.
  void finish();
  base::IdMap take_index() { return std::move(by_id_); }

 private:
  struct LateDependency {  // by the runtime's ids
    std::uint64_t before = 0;
    std::uint64_t task = 0;
  };

  TaskOfRun& at(std::uint64_t id, std::int64_t time);
  void take_codelet(const trace::RecordedEvent& event);
  void take_reduction(const trace::RecordedEvent& event);
  CodeletOfRun codelet_of(std::uint64_t name);
  void take_submitted(const trace::RecordedEvent& event);
  void take_started(const trace::RecordedEvent& event);
  void take_ended(const trace::RecordedEvent& event);
  void take_moved(const trace::RecordedEvent& event);
  void take_request(const trace::RecordedEvent& event);
  void take_ready(const trace::RecordedEvent& event);
  [[noreturn]] void refuse(const TaskOfRun& task, std::string_view what) const;

  void begin_when_devices_do();
  std::vector<std::uint32_t> order() const;
  void renumber(const std::vector<std::uint32_t>& order);
  void resolve_dependencies();

  RecordedRun& run_;
  const Parts parts_;
  const std::string& path_;
  base::IdMap by_id_;
  base::IdMap codelets_;                  // by the number of their name, in run_.codelets
  std::vector<std::uint32_t> submitted_;  // in their order
  std::vector<std::int64_t> first_seen_;  // by task
  std::vector<std::int64_t> run_ns_;      // by task: how long it ran, at most
  std::vector<LateDependency> late_;
  std::vector<LateDependency> inside_;  // the outer task before the one that it submits
};

}  // namespace vicinal::analysis
