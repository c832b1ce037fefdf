// What a policy sees of the engine, and what it may request.
#pragma once

#include <functional>
#include <span>
#include <utility>

#include "base/warm.hpp"
#include "engine/costs.hpp"
#include "engine/eligibility.hpp"
#include "engine/policy_gate.hpp"
#include "engine/prefetch_requests.hpp"
#include "engine/sleepers.hpp"
#include "graph/task_pool.hpp"
#include "sched/policy.hpp"

namespace vicinal::engine {

// All of it outlives the view.
struct Viewed {
  const MachineDescription& machine;
  const std::function<Time()>& now;
  const memory::Residency& residency;
  const Eligibility& eligibility;
  const Costs& costs;
  Sleepers& sleepers;
  PrefetchRequests& prefetch_requests;
  PolicyGate& gate;
  const std::function<void(WorkerId by)>& notify_waiters;
  trace::DecisionListener* listener;  // null: nobody listens
};

class PolicyView final : public sched::PolicyContext {
 public:
  PolicyView(const Viewed& viewed, std::uint64_t seed) : all_(viewed), random_(seed) {}

  const MachineDescription& machine() const override { return all_.machine; }
  Time now() const override { return all_.now(); }
  bool can_run(const graph::Task& task, WorkerId worker) const override {
    return all_.eligibility.can_run(task, worker);
  }
  bool on_node(const graph::Handle& handle, NodeId node) const override {
    return all_.residency.on_node(handle, node);
  }
  sched::Presence presence(const graph::Handle& handle) const override {
    return {.valid = all_.residency.valid_mask(handle), .on_node = all_.residency.on_nodes(handle)};
  }
  Bytes missing_bytes(const graph::Task& task, NodeId node) const override {
    return all_.costs.missing_bytes(task, node);
  }
  Time transfer_time(const graph::Handle& handle, NodeId node) const override {
    return all_.costs.transfer_time(handle, node);
  }
  Time run_time(const graph::Task& task, WorkerId worker) const override {
    return all_.costs.run_time(task, worker);
  }
  base::Random& random() override { return random_; }
  trace::DecisionListener* listener() const override { return all_.listener; }
  bool away(WorkerId worker) const override { return all_.sleepers.away(worker); }
  // Each step takes its addresses from what the step before asked for one pop ago (by another worker, maybe).
  void coming(std::span<const graph::Task* const> tasks, WorkerId worker) const override {
    if (tasks.size() > 2) graph::warm(*tasks[2]);
    if (all_.residency.trivial()) return;
    if (tasks.size() > 1) {
      graph::warm_handles(*tasks[1]);
      base::warm(&graph::TaskPool::note(*tasks[1]));
    }
    if (!tasks.empty()) {
      all_.residency.warm(*tasks[0], all_.machine.workers[worker.value].node);
    }
  }
  void prefetch(const graph::Task& task, NodeId node) override {
    if (!all_.residency.trivial()) all_.prefetch_requests.add(task, node);
  }
  void load(const graph::Task& task, graph::Handle& handle, NodeId node,
            graph::Handle* victim) override {
    if (!all_.residency.trivial()) all_.prefetch_requests.plan(task, handle, node, victim);
  }
  void wake(WorkerId worker) override { all_.sleepers.wake(worker); }
  // By the policy, under its lock. As many are woken as there are: some may find a task first.
  void defer(std::function<bool()> slice) override {
    all_.gate.defer(std::move(slice));
    all_.sleepers.wake_all();
    all_.notify_waiters(kNoWorker);
  }

 private:
  const Viewed all_;
  base::Random random_;
};

}  // namespace vicinal::engine
