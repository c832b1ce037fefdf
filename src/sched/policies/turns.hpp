// Whether the turn of a task of a followed plan may still come. Each node runs its tasks in the order of the plan, as long as
// something is under way that may make the next one ready. When nothing is, that one waits for something outside of the
// plan (what a recursive task submits stands behind what waits for it; an application may hold data): then others run, so
// that no order hangs.
//
// Methods are called inside those of the policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sched/policy.hpp"

namespace vicinal::sched {

class Turns {
 public:
  void start(const PolicyContext& context) {
    context_ = &context;
    is_ending_.resize(context.machine().workers.size());
  }
  // What waits for no other task is pushed next,
  void planned() { ++being_passed_on_; }
  // and has been.
  void passed_on() {
    if (being_passed_on_ > 0) --being_passed_on_;
  }
  // A worker pushes what its task releases after the policy has heard of its end, and before it asks.
  void ended(WorkerId worker) {
    if (worker != kNoWorker) is_ending_[worker.value] = true;
  }
  void asks(WorkerId worker) { is_ending_[worker.value] = false; }

  // Somebody is about to push tasks.
  bool any_comes() const {
    if (being_passed_on_ > 0) return true;
    for (std::uint32_t worker = 0; worker < is_ending_.size(); ++worker) {
      if (is_ending_[worker] && !context_->away(WorkerId{worker})) return true;
    }
    return false;
  }

 private:
  const PolicyContext* context_ = nullptr;
  std::vector<bool> is_ending_;      // by worker
  std::size_t being_passed_on_ = 0;  // plans whose tasks are
};

}  // namespace vicinal::sched
