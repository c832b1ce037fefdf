// What would have helped most: changes to the machine, the options or the program, each with the time that it would
// have gained at most.
//
// None of these is a promise: each is an upper bound. Where it comes from the critical path it is the time that the path
// spends on what the change would take away: if all of that were gone the rest of the path would still be there. Where
// it comes from the workers' idle times or the longest chain of dependent tasks, its reason says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/critical_path.hpp"
#include "analysis/idle.hpp"
#include "analysis/recorded_run.hpp"
#include "analysis/traffic.hpp"

namespace vicinal::analysis {

// All that is found out about a run, once.
struct Analyses {
  std::vector<std::vector<std::uint32_t>> predecessors;
  CriticalPath path;
  std::int64_t chain = 0;  // see longest_chain
  Idle idle;
  Traffic traffic;
};
Analyses analyse(const RecordedRun& run);

enum class AdviceKind : std::uint8_t {
  memory,
  link,
  policy,
  order,
  smaller_tasks,
  larger_tasks,
  submission,
  workers,
  kernel,
};
std::string_view to_string(AdviceKind kind);

struct Advice {
  AdviceKind kind{};
  std::string subject;    // the node, link or codelet; empty: there is none
  std::int64_t gain = 0;  // ns, at most
  std::string change;     // "More memory on gpu0"
  std::string reason;     // a sentence: where the time was, and why it is no more than that
};

inline constexpr std::size_t kMostAdvice = 10;

// Those with the greatest gains first, none without gain, kMostAdvice at most.
std::vector<Advice> advice(const RecordedRun& run, const Analyses& analyses);

}  // namespace vicinal::analysis
