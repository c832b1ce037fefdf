// The bottleneck of a run, in a sentence: the cause of most of its time, and the remedy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/advice.hpp"
#include "analysis/recorded_run.hpp"

namespace vicinal::analysis {

enum class Binder : std::uint8_t {
  nothing,      // no task ran
  work,         // all workers have tasks
  kernel,       // one codelet, that others wait for
  processors,   // other programs have the cores
  contention,   // kernels take longer than alone
  chain,        // tasks that depend on each other
  few_tasks,    // fewer than workers need
  slow_worker,  // a slow kind of worker keeps the others
  link,         // a disk, or a link to an accelerator
  memory,       // too little of it
  order,        // another policy loads less
  producers,    // tasks make data long before others use them
  runtime,      // tasks that are too small for it
  policy,       // it holds ready tasks back
  submission,   // tasks are submitted too late
  application,  // it does something else meanwhile
};
std::string_view to_string(Binder binder);

struct Verdict {
  Binder binder = Binder::nothing;
  std::string subject;    // the link, codelet, node or policy; empty: there is none
  std::int64_t time = 0;  // ns of the run that went to it
  double share = 0;       // of the run
  std::string sentence;   // "The disk binds: for 62 % of the run tasks waited for data from it."
  std::string remedy;     // a sentence, too; empty: none is known
};

// Of the run proper (phases.hpp). Whether memory, the policy or the number of tasks submitted is behind loads is found by
// simulation, where the recording has the graph and it is no larger than WhatIf::kMostTasks; else it is concluded from
// what was loaded again.
Verdict verdict(const RecordedRun& run, const Analyses& analyses);

}  // namespace vicinal::analysis
