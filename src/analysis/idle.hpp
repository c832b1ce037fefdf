// Why workers stood still: the time of each worker outside of its tasks, by cause.
//
// Of each worker the time from the beginning to the end of the run is either in a task or idle for one cause: nothing is
// counted twice, and nothing is left out. Tasks in the queue of an accelerator overlap: their union counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/recorded_run.hpp"

namespace vicinal::analysis {

enum class IdleCause : std::uint8_t {
  nothing_ready,
  data,
  room,
  scheduling,
  before,
  after,
};
inline constexpr std::size_t kIdleCauses = 6;

struct IdleCauseEntry {
  IdleCause cause;
  std::string_view name;
  std::string_view sentence;
};
// In the order of the enumeration.
std::span<const IdleCauseEntry> idle_causes();

struct IdleInterval {
  std::uint32_t worker = kNobody;
  std::int64_t from = 0;
  std::int64_t to = 0;
  IdleCause cause = IdleCause::nothing_ready;
  std::uint32_t task = kNobody;  // that the worker ran next; kNobody: none
  std::int64_t length() const { return to - from; }
  friend bool operator==(const IdleInterval&, const IdleInterval&) = default;
};

struct IdleOfWorker {
  std::int64_t run = 0;  // in tasks
  std::array<std::int64_t, kIdleCauses> by_cause{};
  std::int64_t of(IdleCause cause) const { return by_cause[static_cast<std::size_t>(cause)]; }
};

struct Idle {
  std::int64_t wall = 0;                // of the run
  std::vector<IdleInterval> intervals;  // by worker, then in the order of time; none empty
  std::vector<IdleOfWorker> workers;    // run and by_cause of each: `wall` together
  IdleOfWorker all;                     // the sums
};

Idle idle_times(const RecordedRun& run);

// How many tasks were ready and not given to a worker, from each of these times on.
struct ReadyTasks {
  std::int64_t time = 0;
  std::uint32_t count = 0;
  friend bool operator==(const ReadyTasks&, const ReadyTasks&) = default;
};
std::vector<ReadyTasks> ready_tasks(const RecordedRun& run);

}  // namespace vicinal::analysis
