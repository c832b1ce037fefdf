// How long tasks take on each node, as DARTS compares nodes: durations that count as equal, what stands for unknown ones,
// and tasks that take equally long everywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sure_memory.hpp"
#include "sched/nodes.hpp"
#include "sched/policies/darts_records.hpp"
#include "sched/policy.hpp"

namespace vicinal::sched::darts {

// DARTS lives on ties: among data that set equally much work free, the next rules choose. Measured durations of equal tasks differ a little, and a choice by such differences is one by
// chance. So a duration counts as the nearest one that is known and not more than 2 % away; without one it
// becomes known itself. Comparisons stay exact, and what really differs differs still.
class Durations {
 public:
  // O(log n) of n known ones, of which there are no more than 120 for each factor of 10.
  std::int64_t nearest(std::int64_t ns) {
    const auto above = std::ranges::lower_bound(known_, ns);
    const std::int64_t up = above != known_.end() ? *above - ns : kFar;
    const std::int64_t down = above != known_.begin() ? ns - *(above - 1) : kFar;
    if (std::min(up, down) <= ns / kOneIn) return up < down ? *above : *(above - 1);
    known_.insert(above, ns);
    return ns;
  }

 private:
  static constexpr std::int64_t kFar = INT64_MAX;
  static constexpr std::int64_t kOneIn = 50;

  base::SureVector<std::int64_t> known_;  // ascending
};

class Estimates {
 public:
  explicit Estimates(const Nodes& nodes) : nodes_(nodes) {}
  void start(const PolicyContext& context) { context_ = &context; }
  // Sets can_run and duration_ns of the record for each node, `bound` and `least_ns`. A task whose time is nowhere
  // known counts as 1 ns: then ratios compare numbers of tasks. Beside devices a core counts as kDevicesFaster times slower
  // until both times are known: what a core takes too early may hold up the others for longer than devices take for all.
  void assess(TaskRecord& record);

 private:
  static constexpr std::int64_t kDevicesFaster = 16;
  TaskOnNode assess_on(const graph::Task& task, NodeIndex node) const;
  void guess_unknown(TaskRecord& record) const;
  std::int64_t slowness(NodeIndex node) const {
    return nodes_.any_device() && nodes_[node].of_host ? kDevicesFaster : 1;
  }

  const Nodes& nodes_;
  const PolicyContext* context_ = nullptr;
  Durations durations_;
};

// Tasks that take equally long on each node, taken together: whether a node leaves a task to a faster one
// depends on nothing else of it.
struct Speeds {
  base::SureVector<std::int64_t> duration_ns;  // by NodeIndex; 0: cannot run them
  std::int64_t least_ns = 1;
  NodeIndex fastest = 0;    // the first of the fastest nodes
  std::size_t in_main = 0;  // tasks of main
  std::size_t place = 0;    // in SpeedTable::in_main(), while there are some
  bool left = false;        // as Ledger::begin_look has said
};

class SpeedTable {
 public:
  // O(log n) of n different ones, unless the last task had the same.
  Speeds& of(const TaskRecord& record);
  void enter_main(Speeds& speeds) {
    if (speeds.in_main++ > 0) return;
    speeds.place = in_main_.size();
    in_main_.push_back(&speeds);
  }
  void leave_main(Speeds& speeds) {
    if (--speeds.in_main > 0) return;
    in_main_.back()->place = speeds.place;
    in_main_[speeds.place] = in_main_.back();
    in_main_.pop_back();
  }
  // Those of the tasks of main.
  std::span<Speeds* const> in_main() const { return in_main_; }

 private:
  base::SureMap<base::SureVector<std::int64_t>, Speeds> all_;
  Speeds* last_ = nullptr;
  base::SureVector<std::int64_t> key_;  // a member to keep its room
  base::SureVector<Speeds*> in_main_;
};

}  // namespace vicinal::sched::darts
