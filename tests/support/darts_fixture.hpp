// What the tests of DARTS share: a policy on accelerators whose replicas lie where the test says.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sched/policy.hpp"
#include "support/fake_context.hpp"

namespace vicinal::testing {

// Accelerators with one worker each, and RAM without: node i of `nodes` has worker i.
class DartsTest : public ::testing::Test {
 protected:
  void start(std::size_t accelerators) {
    for (std::size_t i = 0; i < accelerators; ++i) {
      nodes.push_back(context.add_device(Bytes{1000}));
      context.add_worker(nodes.back());
    }
    policy->start(context);
  }
  // With the first choice of every node, which is by priority alone, behind it.
  void start_and_open(std::size_t accelerators = 1) {
    start(accelerators);
    for (std::uint32_t worker = 0; worker < accelerators; ++worker) {
      graph::Task& opener = push("opener", {reading(graph.data("opener's"))});
      EXPECT_EQ(policy->pop(WorkerId{worker}), &opener);
      policy->task_done(opener, WorkerId{worker});
    }
  }
  graph::Handle& data(Bytes bytes = {100}) { return graph.data("d", bytes); }
  graph::Handle& data_on(std::size_t node) {
    graph::Handle& handle = data();
    context.put(handle, nodes[node]);
    return handle;
  }
  graph::Task& push(const std::string& name, const std::vector<FakeOperand>& operands,
                    const FakeGraph::Attributes& attributes = {}) {
    graph::Task& task = graph.task(name, operands, attributes);
    policy->push(task, kNoWorker);
    return task;
  }
  std::string pop(std::uint32_t worker = 0) { return name_of(policy->pop(WorkerId{worker})); }
  // What the worker is given until it gets nothing, with spaces.
  std::string pop_all(std::uint32_t worker = 0) {
    std::string names;
    while (const graph::Task* task = policy->pop(WorkerId{worker})) {
      names += (names.empty() ? "" : " ") + name_of(task);
    }
    return names;
  }
  // The victim on the first node, which then really leaves.
  graph::Handle* evict(const std::vector<graph::Handle*>& candidates,
                       memory::EvictionReason reason = memory::EvictionReason::firm) {
    graph::Handle* const victim = choose(candidates, reason);
    if (victim != nullptr) {
      context.take_away(*victim, nodes[0]);
      policy->data_evicted(*victim, nodes[0]);
    }
    return victim;
  }
  graph::Handle* choose(const std::vector<graph::Handle*>& candidates,
                        memory::EvictionReason reason = memory::EvictionReason::firm) {
    std::vector<memory::Candidate> list;
    for (graph::Handle* handle : candidates) list.push_back({.handle = handle});
    return policy->victims()->choose(nodes[0], Bytes{100}, reason, list);
  }

  FakeContext context;
  FakeGraph graph;
  std::vector<NodeId> nodes;
  std::unique_ptr<sched::Policy> policy = sched::make_policy("darts");
};

}  // namespace vicinal::testing
