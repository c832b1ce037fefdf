// What the tests of single policies share: the policy, on a fake machine, and what it gives to a worker.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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

  FakeContext context;
  FakeGraph graph;
  std::unique_ptr<sched::Policy> policy;
};

}  // namespace vicinal::testing
