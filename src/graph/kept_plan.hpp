// A plan in a file: on which memory node each task of a run goes, and in which order tasks begin there. A recorded run, real or
// simulated, is written as one; a run of the same application follows it (Options::plan). docs/plan-file.md describes
// the file.
//
// A task is known by its name and its number among those that have it; one without a name of its own by its codelet's, and
// its number among all tasks of that. Numbers are in the order of submission.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"

namespace vicinal::graph {

struct KeptPlan {
  struct Task {
    std::string name;          // as base::legible has it
    std::uint32_t node = 0;    // index into nodes
    std::uint32_t number = 0;  // among those of its name, in the order of submission
  };

  std::string origin = {};  // the file, as messages name it
  // Of the run that the plan was made from; for those who read the file.
  std::string application = {};
  std::string machine = {};
  std::string policy = {};
  double seconds = 0;
  std::vector<std::string> nodes = {};  // memory nodes by their names in the machine
  std::vector<Task> tasks = {};         // in the order in which they begin
};

// Both throw UsageError, which names the file, the place in it and what is wrong there.
KeptPlan read_plan(const std::string& path);
KeptPlan parse_plan(std::string_view text, const std::string& origin);

// A line per task.
void write_plan(const KeptPlan& plan, base::FunctionRef<void(std::string_view)> sink);

}  // namespace vicinal::graph
