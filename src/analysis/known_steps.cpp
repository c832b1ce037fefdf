#include "analysis/known_steps.hpp"

#include <algorithm>
#include <iterator>

namespace vicinal::analysis {

namespace {

std::uint64_t place(std::uint32_t datum, std::uint32_t node) {
  return std::uint64_t{datum} << 32 | node;
}

}  // namespace

Arrivals::Arrivals(const RecordedRun& run) : run_(run) {
  for (std::uint32_t c = 0; c < run.copies.size(); ++c) {
    const CopyOfRun& copy = run.copies[c];
    if (copy.failed || copy.started == kUnknown || copy.ended == kUnknown) continue;
    by_place_[place(copy.datum, copy.to)].push_back(c);
  }
  for (auto& [at, copies] : by_place_) {
    std::ranges::stable_sort(copies, {}, [&](std::uint32_t c) { return run.copies[c].ended; });
  }
}

std::uint32_t Arrivals::last(std::uint32_t datum, std::uint32_t node, std::int64_t after,
                             std::int64_t until) const {
  const auto at = by_place_.find(place(datum, node));
  if (at == by_place_.end()) return kNobody;
  const auto behind = std::ranges::upper_bound(
      at->second, until, {}, [&](std::uint32_t c) { return run_.copies[c].ended; });
  if (behind == at->second.begin()) return kNobody;
  const std::uint32_t copy = *std::prev(behind);
  return run_.copies[copy].ended > after ? copy : kNobody;
}

std::uint32_t Arrivals::last_for(std::uint32_t task, std::int64_t after, std::int64_t until) const {
  const std::uint32_t node = node_of(run_, run_.tasks[task]);
  std::uint32_t latest = kNobody;
  for (const AccessOfTask& access : run_.accesses_of(run_.tasks[task])) {
    if (!reads(access.mode)) continue;
    const std::uint32_t copy = last(access.datum, node, after, until);
    if (copy == kNobody) continue;
    if (latest == kNobody || run_.copies[copy].ended > run_.copies[latest].ended) latest = copy;
  }
  return latest;
}

Steps KnownSteps::of(std::uint32_t task) const {
  const TaskOfRun& of = run_.tasks[task];
  Steps steps = steps_of(of);
  if (of.wanted != kUnknown || of.scheduled == kUnknown) return steps;
  const std::uint32_t node = node_of(run_, of);
  const std::int64_t scheduled = steps.scheduled;
  std::int64_t wanted = steps.started;
  for (const AccessOfTask& access : run_.accesses_of(of)) {
    if (!reads(access.mode)) continue;
    const std::uint32_t c = arrivals_.last(access.datum, node, scheduled, steps.started);
    if (c == kNobody) continue;
    const CopyOfRun& copy = run_.copies[c];
    const std::int64_t since = copy.wanted != kUnknown ? copy.wanted : copy.started;
    wanted = std::min(wanted, std::max(since, scheduled));
    steps.operands = std::max(steps.operands, copy.ended);
  }
  if (steps.operands > scheduled) steps.wanted = steps.granted = std::min(wanted, steps.operands);
  return steps;
}

}  // namespace vicinal::analysis
