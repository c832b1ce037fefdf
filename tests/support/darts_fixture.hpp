// What the tests of DARTS share: a policy on accelerators whose replicas lie where the test says.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/fake_candidates.hpp"
#include "support/policy_fixture.hpp"

namespace vicinal::testing {

// Accelerators with one worker each, and RAM without: node i of `nodes` has worker i.
class DartsTest : public PolicyTest {
 protected:
  DartsTest() : PolicyTest("darts") {}

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
    FakeCandidates list(candidates);
    return policy->victims()->choose(nodes[0], Bytes{100}, reason, list);
  }

  std::vector<NodeId> nodes;
};

}  // namespace vicinal::testing
