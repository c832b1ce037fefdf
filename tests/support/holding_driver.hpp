// A driver that counts wake-ups and keeps copies and tasks until the test ends them.
#pragma once

#include <deque>

#include "engine/driver.hpp"

namespace vicinal::testing {

class HoldingDriver final : public engine::Driver {
 public:
  void start(engine::Completions& /*completions*/) override {}
  std::byte* reserve(NodeId, Bytes) override { return nullptr; }
  std::byte* allocate(NodeId, Bytes) override { return nullptr; }
  void release(NodeId, std::byte*, Bytes) override {}
  void relocate(NodeId, std::byte*, const std::byte*, Bytes) override {}
  void start_copy(const memory::Copy& copy) override { copies.push_back(copy); }
  void start_task(graph::Task& task, WorkerId) override { tasks.push_back(&task); }
  void wake(WorkerId) override { ++wakes; }
  void stop() override {}

  std::deque<memory::Copy> copies;
  std::deque<graph::Task*> tasks;
  int wakes = 0;
};

}  // namespace vicinal::testing
