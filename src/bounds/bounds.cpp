#include "bounds/bounds.hpp"

#include <algorithm>
#include <vector>

namespace vicinal::bounds {

namespace {

constexpr std::string_view kCounting = "counting";

// Which data the tasks access, and how first.
struct Access {
  bool read_first = false;
  bool written = false;
};

std::vector<Access> accesses_of(std::span<const graph::PlannedTask> tasks, std::size_t data_count) {
  std::vector<Access> accesses(data_count);
  for (const graph::PlannedTask& task : tasks) {
    // All reads of a task come before its writes, in whatever order it names them.
    for (const auto& [data, mode] : task.accesses) {
      if (reads(mode) && !accesses[data].written) accesses[data].read_first = true;
    }
    for (const auto& [data, mode] : task.accesses) {
      if (writes(mode)) accesses[data].written = true;
    }
  }
  return accesses;
}

// Beyond what a Time holds (292 years) it stays the largest one.
Time from_nanoseconds(double ns) {
  constexpr double kMost = 9.2e18;
  return {static_cast<std::int64_t>(std::min(ns, kMost))};
}

}  // namespace

TimeBound work_bound(std::span<const graph::PlannedTask> tasks, std::uint32_t workers) {
  TimeBound bound{.value = {}, .name = "work", .source = kCounting};
  for (const graph::PlannedTask& task : tasks) bound.value += task.duration;
  bound.value = workers == 0 ? Time{0} : Time{bound.value.ns / workers};
  return bound;
}

TimeBound work_bound(double flops, std::uint32_t workers, FlopsPerSecond rate) {
  TimeBound bound{.value = {}, .name = "work", .source = kCounting};
  const double together = workers * rate.value;
  if (together > 0) bound.value = from_nanoseconds(flops / together * 1e9);
  return bound;
}

TimeBound critical_path_bound(std::span<const graph::PlannedTask> tasks, std::size_t data_count) {
  TimeBound bound{.value = {}, .name = "critical path", .source = kCounting};
  for (const Time level : graph::bottom_levels(tasks, data_count)) {
    bound.value = std::max(bound.value, level);
  }
  return bound;
}

TimeBound transfer_bound(const BytesBound& bytes, BytesPerSecond rate) {
  TimeBound bound{.value = {}, .name = bytes.name, .source = bytes.source};
  if (rate.value > 0) {
    bound.value = from_nanoseconds(static_cast<double>(bytes.value.value) / rate.value * 1e9);
  }
  return bound;
}

BytesBound compulsory_loads(std::span<const graph::PlannedTask> tasks,
                            std::span<const DatumUse> data) {
  BytesBound bound{.value = {}, .leading = {}, .name = "compulsory loads", .source = kCounting};
  const auto accesses = accesses_of(tasks, data.size());
  for (std::size_t d = 0; d < data.size(); ++d) {
    if (data[d].initially_outside && accesses[d].read_first) bound.value += data[d].size;
  }
  return bound;
}

BytesBound compulsory_write_backs(std::span<const graph::PlannedTask> tasks,
                                  std::span<const DatumUse> data, Bytes memory) {
  BytesBound bound{
      .value = {}, .leading = {}, .name = "compulsory write-backs", .source = kCounting};
  const auto accesses = accesses_of(tasks, data.size());
  Bytes may_stay;
  for (std::size_t d = 0; d < data.size(); ++d) {
    if (!accesses[d].written) continue;
    if (data[d].finally == FinalPlace::outside) bound.value += data[d].size;
    if (data[d].finally == FinalPlace::anywhere) may_stay += data[d].size;
  }
  if (may_stay > memory) bound.value += may_stay - memory;
  return bound;
}

}  // namespace vicinal::bounds
