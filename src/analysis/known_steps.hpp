// The way of a task with what its copies tell beside its own events.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/recorded_run.hpp"
#include "analysis/steps.hpp"

namespace vicinal::analysis {

// Copies that came to a node, by when they ended.
class Arrivals {
 public:
  explicit Arrivals(const RecordedRun& run);
  // The last copy of the datum to the node that ended in (after, until]; kNobody: there is none.
  std::uint32_t last(std::uint32_t datum, std::uint32_t node, std::int64_t after,
                     std::int64_t until) const;
  // Of all that the task reads, where it ran.
  std::uint32_t last_for(std::uint32_t task, std::int64_t after, std::int64_t until) const;

 private:
  const RecordedRun& run_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_place_;
};

// As steps_of; but a task that never asked for its operands, as they came early, waited for those that came after it was
// scheduled: from when the first of these copies was wanted to the end of the last.
class KnownSteps {
 public:
  explicit KnownSteps(const RecordedRun& run) : run_(run), arrivals_(run) {}
  // Of a task that has started.
  Steps of(std::uint32_t task) const;
  const Arrivals& arrivals() const { return arrivals_; }

 private:
  const RecordedRun& run_;
  const Arrivals arrivals_;
};

}  // namespace vicinal::analysis
