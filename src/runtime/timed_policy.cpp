#include "runtime/timed_policy.hpp"

#include <utility>

#include "drivers/clock.hpp"

namespace vicinal::runtime {

namespace {

// The counter of the processor: the monotonic clock, read twice per call, took a twentieth of a simulation.
std::int64_t ticks_now() {
  return static_cast<std::int64_t>(__builtin_ia32_rdtsc());
}

// Adds the ticks of its life to the sum.
class Stopwatch {
 public:
  explicit Stopwatch(std::atomic<std::int64_t>& sum) : sum_(sum) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { sum_.fetch_add(ticks_now() - start_, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t>& sum_;
  const std::int64_t start_ = ticks_now();
};

}  // namespace

TimedPolicy::TimedPolicy(std::unique_ptr<sched::Policy> policy)
    : policy_(std::move(policy)),
      first_ticks_(ticks_now()),
      first_time_(drivers::monotonic_now()) {}

// How long a tick is comes out of the whole life until now.
Time TimedPolicy::time() const {
  const auto passed = static_cast<double>((drivers::monotonic_now() - first_time_).ns);
  const auto passed_ticks = static_cast<double>(ticks_now() - first_ticks_);
  const auto ticks = static_cast<double>(ticks_.load(std::memory_order_relaxed));
  return {passed_ticks > 0 ? static_cast<std::int64_t>(ticks * passed / passed_ticks) : 0};
}

void TimedPolicy::push(graph::Task& task, WorkerId releasing) {
  const Stopwatch stopwatch(ticks_);
  policy_->push(task, releasing);
}

graph::Task* TimedPolicy::pop(WorkerId worker) {
  const Stopwatch stopwatch(ticks_);
  return policy_->pop(worker);
}

bool TimedPolicy::may_move(graph::Task& task, WorkerId to) {
  const Stopwatch stopwatch(ticks_);
  return policy_->may_move(task, to);
}

void TimedPolicy::task_done(graph::Task& task, WorkerId worker) {
  const Stopwatch stopwatch(ticks_);
  policy_->task_done(task, worker);
}

void TimedPolicy::data_loaded(graph::Handle& handle, NodeId node) {
  const Stopwatch stopwatch(ticks_);
  policy_->data_loaded(handle, node);
}

void TimedPolicy::data_evicted(graph::Handle& handle, NodeId node) {
  const Stopwatch stopwatch(ticks_);
  policy_->data_evicted(handle, node);
}

void TimedPolicy::submission_closed() {
  const Stopwatch stopwatch(ticks_);
  policy_->submission_closed();
}

graph::Handle* TimedPolicy::choose(NodeId node, Bytes needed, memory::EvictionReason reason,
                                   memory::Candidates& candidates) {
  const Stopwatch stopwatch(ticks_);
  return policy_->victims()->choose(node, needed, reason, candidates);
}

}  // namespace vicinal::runtime
