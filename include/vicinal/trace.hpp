// Recordings of runs: what each task, copy and piece of data did, and when. See docs/trace.md.
//
//   runtime.start_trace("run.vtrace");
//   {
//     const vicinal::TraceRegion region = runtime.region("first step");
//     ... submit, wait ...
//   }
//   runtime.stop_trace();
//
// The option `trace` records the whole life of a runtime; of several runtimes in a process the second one records into
// run.2.vtrace, and so on; of several ranks each records into a file of its own, see file_of_rank; simulated ones share one. `vicinal report`, `explain` and `export` read it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal {

namespace internals {
struct Recorder;
}

// The file of a rank, where several have the option `trace` or `status` in common: run.rank2.vtrace for run.vtrace. What
// is there and no file (/dev/null) remains as it is.
std::string file_of_rank(const std::string& file, RankId rank);

// A recording that has ended.
struct TraceSummary {
  std::string file = {};          // its name; empty: nothing was recorded
  Bytes written;                  // size of the file; 0: other simulated ranks still record into it
  std::uint64_t events_lost = 0;  // there was no memory for, see the option trace_memory
};

// A part of the application's work, from the making of this object to its end, in the active recording; without a
// recording it costs a look. The object may end on another thread, and must end before the runtime.
class TraceRegion {
 public:
  TraceRegion(TraceRegion&& other) noexcept;
  TraceRegion& operator=(TraceRegion&&) = delete;
  ~TraceRegion();

 private:
  friend class Runtime;
  TraceRegion() = default;
  internals::Recorder* recorder_ = nullptr;  // null: it is not recorded
  std::uint64_t number_ = 0;
};

}  // namespace vicinal
