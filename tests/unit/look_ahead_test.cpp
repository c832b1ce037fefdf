// What one look-ahead pulls, starts, copies and gives away.
#include "engine/look_ahead.hpp"

#include <functional>
#include <mutex>

#include <gtest/gtest.h>

#include "support/fake_context.hpp"
#include "support/fake_memory.hpp"
#include "support/holding_driver.hpp"
#include "support/queue_policy.hpp"

namespace vicinal::engine {
namespace {

using testing::FakeContext;
using testing::FakeMachine;
using testing::FakeMemory;
using testing::HoldingDriver;
using testing::kDevice;
using testing::kOther;
using testing::kR;
using testing::Names;

constexpr WorkerId kOwn{0};
constexpr WorkerId kPeer{1};
constexpr FakeMachine kShape{.ram = 8, .device = 8, .devices = 2};

MachineDescription with_workers() {
  MachineDescription machine = kShape.description();
  machine.workers = {{kOwn, ProcessorKind::emulated, kDevice},
                     {kPeer, ProcessorKind::emulated, kOther}};
  return machine;
}

// Of an accelerator with one worker: two tasks ahead, besides the one that its worker is to start.
class LookAheadTest : public ::testing::Test {
 protected:
  LookAheadTest() { drivers_.attach({}, {&driver_, &driver_}); }

  // A task that reads the datum, as the policy has given it to a worker of the node.
  graph::Task& scheduled(graph::Handle& datum) {
    graph::Task& task = memory_.make(kDevice, {{&datum, kR}}).task;
    task.codelet = &codelet_;
    task.state = graph::TaskState::scheduled;
    return task;
  }
  void copy_to_device(graph::Handle& datum) {
    memory_.run(kDevice, {{&datum, kR}});
    ahead_.note_traffic();
  }
  graph::Task* take_runnable() {
    graph::ReadyList cancelled;
    graph::Task* const task = ahead_.take_runnable(kOwn, memory_.actions, cancelled);
    memory_.collect();
    cancelled_ = cancelled.head;
    return task;
  }
  int pull_all() {
    int pulled = 0;
    for (; ahead_.wants_more(kOwn); ++pulled) {
      ahead_.keep(scheduled(memory_.on_disk("d" + std::to_string(pulled))));
    }
    return pulled;
  }

  const Codelet codelet_{.name = "task", .cpu = [](KernelContext&) {}};
  const std::function<Time()> now_ = [] { return Time{}; };
  const MachineDescription machine_ = with_workers();
  const std::vector<NodeWorkers> nodes_ = workers_by_node(machine_, true);
  FakeMemory memory_{kShape};
  HoldingDriver driver_;
  DriverTable drivers_;
  trace::Recorder recorder_;
  AwaitedTime awaited_;
  ThreadCounters counters_{2, now_, true, recorder_, awaited_};
  Sleepers sleepers_{machine_, nodes_, drivers_, true};
  Errors errors_{sleepers_};
  sched::QueuePolicy policy_;
  PolicyGate gate_{policy_, [](graph::Task&, WorkerId) {}, recorder_};
  Eligibility eligibility_{machine_, memory_.residency, false};
  Costs costs_{machine_, memory_.residency, nullptr};
  PrivateCopies copies_{machine_};
  FakeContext context_;  // to which nobody listens
  LookAhead ahead_{{machine_, memory_.residency, gate_, eligibility_, costs_, counters_, sleepers_,
                    errors_, copies_, context_},
                   machine_.nodes[kDevice.value],
                   nodes_[kDevice.value],
                   {.depth = 2, .moves_tasks = true}};
  graph::Task* cancelled_ = nullptr;
};

TEST_F(LookAheadTest, OneTaskIsPulledWhileNothingMovesAndAsManyAsItMayAfterwards) {
  EXPECT_TRUE(ahead_.bypassed());
  EXPECT_EQ(pull_all(), 1);
  EXPECT_FALSE(ahead_.bypassed());
  ahead_.disturb();
  EXPECT_EQ(pull_all(), 2);  // two and one for the worker
  EXPECT_EQ(ahead_.size(), 3U);
}

TEST_F(LookAheadTest, TheFirstTaskWhoseOperandsAreHereStarts) {
  graph::Handle& absent = memory_.on_disk("absent");
  graph::Handle& here = memory_.on_disk("here");
  copy_to_device(here);
  graph::Task& first = scheduled(absent);
  graph::Task& second = scheduled(here);
  EXPECT_FALSE(ahead_.keep(first));
  EXPECT_TRUE(ahead_.keep(second));  // more than the worker needs at once
  EXPECT_EQ(take_runnable(), &second);
  EXPECT_EQ(take_runnable(), nullptr);
  EXPECT_FALSE(ahead_.anything_ended(kOwn));
  EXPECT_FALSE(ahead_.ask_firmly(kOwn, false, memory_.actions));
  memory_.collect();
  EXPECT_EQ(memory_.finish_all(), (Names{"absent disk->ram", "absent ram->device"}));
  EXPECT_TRUE(ahead_.anything_ended(kOwn));
  EXPECT_EQ(take_runnable(), &first);
  EXPECT_EQ(ahead_.size(), 0U);
}

TEST_F(LookAheadTest, WhatHasNotStartedWhenTheRunIsCancelledIsHandedOut) {
  graph::Task& task = scheduled(memory_.on_disk("a"));
  ahead_.keep(task);
  ahead_.ask_firmly(kOwn, false, memory_.actions);
  memory_.collect();
  errors_.cancel(nullptr);
  EXPECT_EQ(take_runnable(), nullptr);
  EXPECT_EQ(cancelled_, &task);
  EXPECT_EQ(ahead_.size(), 0U);
  memory_.finish_all();
}

TEST_F(LookAheadTest, APeerGetsWhatTheOwnWorkersDoNotWaitFor) {
  graph::Task& first = scheduled(memory_.on_disk("a"));
  graph::Task& second = scheduled(memory_.on_disk("b"));
  ahead_.keep(first);
  EXPECT_EQ(ahead_.give_away(kPeer, memory_.actions), nullptr);  // its worker has nothing else
  ahead_.keep(second);
  EXPECT_EQ(ahead_.give_away(kPeer, memory_.actions), &second);
  EXPECT_EQ(second.state, graph::TaskState::scheduled);
  EXPECT_EQ(ahead_.size(), 1U);
}

}  // namespace
}  // namespace vicinal::engine
