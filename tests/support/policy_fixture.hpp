// What the tests of single policies share: the policy, on a fake machine, and what it gives to a worker.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "sched/policy.hpp"
#include "support/fake_context.hpp"

namespace vicinal::testing {

// The test adds the workers, and then starts the policy.
class PolicyTest : public ::testing::Test {
 protected:
  explicit PolicyTest(std::string_view name) : policy(sched::make_policy(name)) {}

  std::string pop(std::uint32_t worker = 0) { return name_of(policy->pop(WorkerId{worker})); }
  // What the worker is given until it gets nothing, with spaces.
  std::string pop_all(std::uint32_t worker = 0) {
    std::string names;
    while (const graph::Task* task = policy->pop(WorkerId{worker})) {
      names += (names.empty() ? "" : " ") + name_of(task);
    }
    return names;
  }

  // Released by no worker.
  graph::Task& push(const std::string& name, const std::vector<FakeOperand>& operands = {},
                    const FakeGraph::Attributes& attributes = {}) {
    graph::Task& task = graph.task(name, operands, attributes);
    policy->push(task, kNoWorker);
    return task;
  }

  FakeContext context;
  FakeGraph graph;
  std::unique_ptr<sched::Policy> policy;
};

// Accelerators with one worker each, and RAM without: nodes[i] has worker i.
class AcceleratorPolicyTest : public PolicyTest {
 protected:
  using PolicyTest::PolicyTest;

  void start(std::size_t accelerators, std::optional<Bytes> memory = {}) {
    for (std::size_t i = 0; i < accelerators; ++i) {
      nodes.push_back(context.add_device(memory));
      context.add_worker(nodes.back());
    }
    policy->start(context);
  }

  std::vector<NodeId> nodes;
};

}  // namespace vicinal::testing
