// What the tests of DARTS share: a policy on accelerators whose replicas lie where the test says.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "support/fake_candidates.hpp"
#include "support/policy_fixture.hpp"

namespace vicinal::testing {

class DartsTest : public AcceleratorPolicyTest {
 protected:
  DartsTest() : AcceleratorPolicyTest("darts") {}

  void start(std::size_t accelerators) { AcceleratorPolicyTest::start(accelerators, Bytes{1000}); }
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
};

// One accelerator, that has `loaded`, x and y. A task that reads `loaded` is pulled; the pull has planned three more
// tasks: two read `loaded` and x, the third reads `loaded` and y.
class PlannedDartsTest : public DartsTest {
 protected:
  void SetUp() override {
    start_and_open();
    x = &data_on(0);
    y = &data_on(0);
    push("x1", {reading(loaded), reading(*x)});
    push("y1", {reading(loaded), reading(*y)});
    push("x2", {reading(loaded), reading(*x)});
    push("pulled", {reading(loaded)});  // the newest, so the head of the plan
    EXPECT_EQ(pop(), "pulled");         // planned: x2 y1 x1
    context.put(loaded, nodes[0]);
    policy->data_loaded(loaded, nodes[0]);
  }
  graph::Handle& loaded = data();
  graph::Handle* x = nullptr;
  graph::Handle* y = nullptr;
};

}  // namespace vicinal::testing
