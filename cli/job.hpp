// What `vicinal run` runs: an application with its data, its check and its bounds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "linalg/check.hpp"
#include "linalg/run.hpp"
#include "reports/report.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/ranks.hpp"
#include "vicinal/runtime.hpp"
#include "vicinal/statistics.hpp"

namespace vicinal::cli {

inline constexpr std::uint64_t kPage = 4096;  // replicas are padded to pages
inline Bytes padded(Bytes bytes) {
  return {(bytes.value + kPage - 1) / kPage * kPage};
}

// What a run asks of a limited memory, replicas padded as the runtime pads them.
struct MemoryNeed {
  Bytes task;  // the largest task, and on several ranks what comes from another meanwhile
  Bytes all;   // all data that the rank owns
  bool has_home = false;  // what does not fit has a file to go to
  std::string task_name;  // "3 tiles of 512 x 512 doubles"
  std::string smaller;    // what makes tasks smaller: "a smaller --tile"
};

struct JobOutcome {
  linalg::RunOutcome run;  // the residual is that of the check
  double flops = 0;
};

class Job {
 public:
  virtual ~Job() = default;
  virtual MemoryNeed memory_need(const Ranks& ranks) const = 0;
  // What a report says of the application and its options, and of what its kernels are made of.
  virtual reports::Facts parameters() const = 0;
  virtual reports::Facts kernels() const = 0;
  // The data are tiles, for which there is a choice of distributions.
  virtual bool has_tiles() const = 0;
  // How data are dealt to several ranks.
  virtual std::string distribution() const = 0;
  // Before the first run, on the rank that reports: what bounds need to know.
  virtual void measure() {}
  // In each runtime anew.
  virtual JobOutcome run(Runtime& runtime, const linalg::PhaseObserver& observer) = 0;
  // Of that run. `on_cores`: all workers run kernels of cores.
  virtual reports::RunBounds bounds(const MachineDescription& machine, bool on_cores,
                                    const JobOutcome& outcome) const = 0;
};

}  // namespace vicinal::cli
