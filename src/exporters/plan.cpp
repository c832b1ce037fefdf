// The run as a plan that another run of the same application follows.
#include "analysis/recorded_plan.hpp"
#include "exporters/exporters.hpp"
#include "graph/kept_plan.hpp"
#include "trace/reader.hpp"

namespace vicinal::exporters {

void write_plan(const Recording& recording, Sink sink) {
  graph::write_plan(
      analysis::plan_of(recording.run,
                        recording.file == nullptr ? "the recording" : recording.file->path()),
      sink);
}

}  // namespace vicinal::exporters
