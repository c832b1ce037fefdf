// What a recorded run would have been with more memory, by another policy, or with fewer tasks submitted at a time: its
// graph, simulated on its machine with the times that were measured. All values are those of simulations, and are to
// be compared with the one of the run as it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/recorded_job.hpp"
#include "analysis/recorded_run.hpp"
#include "machine/machine_model.hpp"
#include "vicinal/options.hpp"

namespace vicinal::analysis {

struct Prediction {
  std::int64_t ns = 0;      // to the end of the last task
  std::uint64_t bytes = 0;  // of all copies until then
};

class WhatIf {
 public:
  // Graphs of more tasks take too long for an answer that somebody waits for.
  static constexpr std::size_t kMostTasks = 2500;

  // The run proper (phases.hpp).
  explicit WhatIf(const RecordedRun& run);

  // Each none: the recording does not hold the graph, it is too large, or the machine cannot run it so.
  std::optional<Prediction> as_it_was() const;
  // Limits of all memories but disks, times `factor`; 0: all data have room.
  std::optional<Prediction> with_memory(double factor) const;
  std::optional<Prediction> with_policy(const std::string& policy) const;
  // Tasks submitted and not executed at most; 0: no bound.
  std::optional<Prediction> with_window(std::uint64_t tasks) const;

 private:
  std::optional<Prediction> played(const machine::MachineModel& machine,
                                   const Options& options) const;

  std::optional<RecordedJob> job_;
};

}  // namespace vicinal::analysis
