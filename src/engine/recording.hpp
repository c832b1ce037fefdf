// What is recorded of submissions and a task and its accesses do not say.
#pragma once

#include "graph/reduction.hpp"
#include "graph/task.hpp"
#include "trace/recorder.hpp"

namespace vicinal::engine {

void record_reduction(trace::Recorder& recorder, const graph::Reduction& reduction);
void record_inside(trace::Recorder& recorder, const graph::Task& task, const graph::Task& outer);

}  // namespace vicinal::engine
