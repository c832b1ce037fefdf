// What the tests of the list schedulers and of belady share: accelerators whose replicas lie where the test says.
#pragma once

#include <gtest/gtest.h>

#include "support/policy_fixture.hpp"

namespace vicinal::testing {

// A byte takes 1 ns.
class DequeModelTest : public AcceleratorPolicyTest {
 protected:
  using AcceleratorPolicyTest::AcceleratorPolicyTest;

  graph::Handle& data_on(NodeId node, Bytes bytes = {100}) {
    graph::Handle& handle = graph.data("d", bytes);
    context.put(handle, node);
    return handle;
  }
  void load(graph::Handle& handle, NodeId node) {
    context.put(handle, node);
    policy->data_loaded(handle, node);
  }
  void evict(graph::Handle& handle, NodeId node) {
    context.take_away(handle, node);
    policy->data_evicted(handle, node);
  }
};

}  // namespace vicinal::testing
