// The parts of a run, from nothing to a checked result, and what it was like.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "linalg/product_check.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::linalg {

struct RunOutcome {
  // Around the timed part: from its first submission to the return of wait(). Filling the matrices
  // and the check are outside. With a limited memory, some tiles lie on the disk when it begins,
  // and some of the result only in memory when it ends: there is no flush in the timed part.
  Statistics before;
  Statistics after;
  Statistics last;  // when all is done: peaks include the check
  std::optional<Residual> residual;
};

// Told when a part of the run begins ("fill", "factorise" or "multiply", "check", "write") and how many
// tasks it has.
using PhaseObserver = std::function<void(std::string_view phase, std::uint64_t tasks)>;

struct RunPart {
  std::string_view name;
  std::uint64_t tasks = 0;
  std::function<void()> submit;
};

struct RunParts {
  RunPart fill;
  RunPart timed;
  std::uint64_t check_tasks = 0;
  std::function<Residual()> check;   // none: it is not asked for
  std::function<void()> unregister;  // the data, results written home
};

// Throws what the parts throw, after all tasks have ended.
RunOutcome run_parts(Runtime& runtime, const RunParts& parts, const PhaseObserver& observer);

}  // namespace vicinal::linalg
