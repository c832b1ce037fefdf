// What `vicinal explain` tells of a recorded run: why a task ran where and when it did, what became of a datum, why data
// were evicted, what was waited for; without a question a summary. As text for people, and as JSON for programs with
// every number exact: docs/explain.md.
#pragma once

#include <span>
#include <string>

#include "analysis/recorded_run.hpp"

namespace vicinal::reports {

struct ExplainRequest {
  std::string task = {};    // a number or a name; empty: none is asked about
  std::string handle = {};  // likewise
  std::string codelet = {};
  std::string worker = {};  // a number or a name
  std::string at = {};      // a moment: "12.5 ms"
  bool evictions = false;
  bool waits = false;
  bool decisions = false;  // all tasks and evictions with the decisions about them

  bool asks() const {
    return !task.empty() || !handle.empty() || !codelet.empty() || !worker.empty() || !at.empty() ||
           evictions || waits || decisions;
  }
};

struct Explanation {
  std::string text;
  std::string json;  // empty: it was not wanted
};

// Throws UsageError: there is no such task or handle, with the nearest that there is.
Explanation explain(const analysis::RecordedRun& run, const ExplainRequest& request,
                    bool with_json);
// Two runs: what differs. Names are those by which sentences call them.
struct NamedRun {
  const analysis::RecordedRun& run;
  std::string name;
};
Explanation explain_difference(const NamedRun& first, const NamedRun& second, bool with_json);
// Of the files of one run; of the files of two runs what differs. See trace/open_runs.hpp. Throws what open_runs and
// RecordedRun throw, too, and UsageError: a question about two runs.
Explanation explain(std::span<const std::string> files, const ExplainRequest& request,
                    bool with_json);

}  // namespace vicinal::reports
