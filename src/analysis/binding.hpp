// What the time of a run went to. The time of every worker is in tasks or idle, and adds up to the whole: work is what is
// in tasks; of the rest each moment has its cause, and where nothing was ready, that of the critical path then.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/advice.hpp"
#include "analysis/recorded_run.hpp"

namespace vicinal::analysis {

// Why a copy was on the path.
enum class CopyReason : std::uint8_t { first, again, saved };

struct TimeOfLink {
  std::uint32_t from = kNobody;
  std::uint32_t to = kNobody;
  std::int64_t first = 0;  // ns waited for what had not been there before
  std::int64_t again = 0;  // for what had been evicted
  std::int64_t saved = 0;  // for what had to leave
  std::int64_t all() const { return first + again + saved; }
};

// All in ns.
struct TimeOfRun {
  std::int64_t length = 0;          // the sum of all that follows, to rounding
  std::int64_t work = 0;            // in tasks
  std::int64_t dependencies = 0;    // nothing was ready while others ran
  std::int64_t slow_worker = 0;     // likewise, as much longer as a slow kind took
  std::int64_t descheduled = 0;     // tasks had no core
  std::int64_t contention = 0;      // kernels took longer than alone, and had their cores
  std::int64_t data = 0;            // copies were awaited
  std::int64_t room = 0;            // room for operands was
  std::int64_t runtime = 0;         // its own work
  std::int64_t policy = 0;          // ready tasks that it held back
  std::int64_t submission = 0;      // tasks came one by one, and too late
  std::int64_t application = 0;     // it did something else, and nothing was submitted
  std::vector<TimeOfLink> links;    // of data and room: the greatest first
  std::uint32_t kernel = kNobody;   // a name: ran longest on the path
  std::int64_t kernel_time = 0;     // of it
  std::int64_t runs = 0;            // on the path, of all
  std::uint64_t kernel_runs = 0;    // how many of the path's tasks are of it
  std::uint64_t path_tasks = 0;     // that ran on the path
  std::uint32_t slowest = kNobody;  // the worker of most of slow_worker
  double processor_share = 1;       // of their time tasks had their core; 1: not known
  double slowness = 1;              // times what kernels take alone; 1: not known
};

TimeOfRun time_of(const RecordedRun& run, const Analyses& analyses);

}  // namespace vicinal::analysis
