#include "runtime/timed_policy.hpp"

#include <utility>

#include "drivers/clock.hpp"

namespace vicinal::runtime {

namespace {

// Adds the time of its life to the sum.
class Stopwatch {
 public:
  explicit Stopwatch(std::atomic<std::int64_t>& sum) : sum_(sum) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    sum_.fetch_add((drivers::monotonic_now() - start_).ns, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t>& sum_;
  const Time start_ = drivers::monotonic_now();
};

}  // namespace

TimedPolicy::TimedPolicy(std::unique_ptr<sched::Policy> policy) : policy_(std::move(policy)) {}

void TimedPolicy::push(graph::Task& task, WorkerId releasing) {
  const Stopwatch stopwatch(ns_);
  policy_->push(task, releasing);
}

graph::Task* TimedPolicy::pop(WorkerId worker) {
  const Stopwatch stopwatch(ns_);
  return policy_->pop(worker);
}

bool TimedPolicy::may_move(graph::Task& task, WorkerId to) {
  const Stopwatch stopwatch(ns_);
  return policy_->may_move(task, to);
}

void TimedPolicy::task_done(graph::Task& task, WorkerId worker) {
  const Stopwatch stopwatch(ns_);
  policy_->task_done(task, worker);
}

void TimedPolicy::data_loaded(graph::Handle& handle, NodeId node) {
  const Stopwatch stopwatch(ns_);
  policy_->data_loaded(handle, node);
}

void TimedPolicy::data_evicted(graph::Handle& handle, NodeId node) {
  const Stopwatch stopwatch(ns_);
  policy_->data_evicted(handle, node);
}

void TimedPolicy::submission_closed() {
  const Stopwatch stopwatch(ns_);
  policy_->submission_closed();
}

graph::Handle* TimedPolicy::choose(NodeId node, Bytes needed, memory::EvictionReason reason,
                                   std::span<const memory::Candidate> candidates) {
  const Stopwatch stopwatch(ns_);
  return policy_->victims()->choose(node, needed, reason, candidates);
}

}  // namespace vicinal::runtime
