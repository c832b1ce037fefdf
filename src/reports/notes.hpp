// What the recording of a run is told of it, beside what happens: command, parameters, result and bounds. Without a
// recording nothing is told.
#pragma once

#include "reports/report.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::reports {

// "command", "application", "parameter.size", "machine.blas" ...
void note_run(Runtime& runtime, const Report& report);
// "result.seconds", "bound.work_seconds" ...; bytes and counts are whole numbers. What is not known is left out.
void note_result(Runtime& runtime, const RunRecord& record);
// The last that a run does. A recording that could not be written whole is the record's; of events for which there
// was no memory a warning tells.
void end_recording(Runtime& runtime, RunRecord& record);

}  // namespace vicinal::reports
