// Tasks that take equally long on each node, taken together: whether a node leaves a task to a faster one
// depends on nothing else of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sure_memory.hpp"
#include "sched/policies/darts_records.hpp"

namespace vicinal::sched::darts {

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
