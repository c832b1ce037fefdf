// Times the runs of tasks for the performance model: each worker keeps some runs of its own and hands
// them on together, so that no lock is shared for each task.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "graph/task.hpp"
#include "machine/performance_model.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/units.hpp"

namespace vicinal::engine {

machine::Footprint footprint_of(const graph::Task& task);

// Of one worker: one call at a time.
class alignas(64) RunTimer {
 public:
  RunTimer(machine::PerformanceModel& model, ProcessorKind kind) : model_(&model), kind_(kind) {}

  // Before the task runs. Of tasks whose times are known to be even only one in kSparsely is timed; of
  // the others the clock is not read.
  static constexpr std::uint32_t kSparsely = 16;
  void begin(const graph::Task& task, const std::function<Time()>& now);
  // When its kernel has returned. Not after one that has failed, which says nothing.
  void end(const std::function<Time()>& now);
  // In place of `end`, where the driver has measured the run.
  void note(const graph::Task& task, Time run_time);
  // Hands on what it keeps.
  void flush();

 private:
  static constexpr std::size_t kSlots = 64;
  static constexpr std::size_t kMostKept = 8;
  // Runs of one footprint, not yet handed on: one at first, so that it is known soon, later more.
  struct Slot {
    std::string codelet;  // a copy: the codelet may be gone when the runs are handed on
    machine::Footprint footprint;
    std::array<Time, kMostKept> runs;
    std::uint32_t kept = 0;
    std::uint32_t hand_on_at = 1;
    std::uint32_t skip = 0;  // tasks that will not be timed
    bool even = false;
  };
  void hand_on(Slot& slot);
  Slot& slot_of(const graph::Task& task);
  void keep(Slot& slot, Time run_time);

  machine::PerformanceModel* model_;
  ProcessorKind kind_;
  std::vector<Slot> slots_{kSlots};
  Slot* timed_ = nullptr;  // of the task that runs now; null: it is not timed
  Time began_;
};

}  // namespace vicinal::engine
