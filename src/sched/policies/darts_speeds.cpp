#include "sched/policies/darts_speeds.hpp"

#include <algorithm>

namespace vicinal::sched::darts {

Speeds& SpeedTable::of(const TaskRecord& record) {
  key_.clear();
  for (const TaskOnNode& here : record.nodes) key_.push_back(here.can_run ? here.duration_ns : 0);
  if (last_ != nullptr && last_->duration_ns == key_) return *last_;
  const auto [at, is_new] = all_.try_emplace(key_);
  last_ = &at->second;
  if (is_new) {
    last_->duration_ns = key_;
    last_->least_ns = record.least_ns;
    last_->fastest =
        static_cast<NodeIndex>(std::ranges::find(key_, record.least_ns) - key_.begin());
  }
  return *last_;
}

}  // namespace vicinal::sched::darts
