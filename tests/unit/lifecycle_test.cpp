// Small parts of the way of a task: the table of its states, and the gate to a policy.
#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/policy_gate.hpp"
#include "engine/task_state.hpp"
#include "sched/policy.hpp"

namespace vicinal::engine {
namespace {

using graph::Task;
using graph::TaskState;

constexpr TaskState kStates[] = {TaskState::free,      TaskState::submitted, TaskState::ready,
                                 TaskState::scheduled, TaskState::fetching,  TaskState::runnable,
                                 TaskState::running,   TaskState::done,      TaskState::let_go};

TEST(TaskStates, TheLegalTransitionsAreThoseOfTheWayItsShortCutsAndCancellation) {
  using enum TaskState;
  const std::set<std::pair<TaskState, TaskState>> expected{
      {free, submitted},     {submitted, ready},  {ready, scheduled},    {scheduled, fetching},
      {fetching, runnable},  {runnable, running}, {running, done},       {done, free},
      {done, let_go},        {let_go, free},      {scheduled, runnable},  // operands all there
      {ready, running},                                                   // an acquisition
      {fetching, scheduled},                                              // moved to another node
      {ready, done},         {scheduled, done},   {fetching, done}};      // cancelled
  for (const TaskState from : kStates) {
    for (const TaskState to : kStates) {
      EXPECT_EQ(legal(from, to), expected.contains({from, to}))
          << to_string(from) << " -> " << to_string(to);
    }
  }
}

TEST(TaskStates, HaveDifferentNames) {
  std::set<std::string_view> names;
  for (const TaskState state : kStates) names.insert(to_string(state));
  EXPECT_EQ(names.size(), std::size(kStates));
}

// First in, first out; notices that two threads are in it at once.
class SerialPolicy final : public sched::Policy {
 public:
  std::string_view name() const override { return "serial"; }
  void start(sched::PolicyContext& /*context*/) override {}
  sched::PolicyTraits traits() const override { return {.wants_ends = true}; }
  void push(Task& task, WorkerId /*releasing*/) override {
    const Inside inside(*this);
    tasks_.push_back(&task);
    if (on_push) on_push();
  }
  Task* pop(WorkerId /*worker*/) override {
    const Inside inside(*this);
    if (tasks_.empty()) return nullptr;
    Task* task = tasks_.front();
    tasks_.pop_front();
    return task;
  }
  void task_done(Task& /*task*/, WorkerId /*worker*/) override {
    const Inside inside(*this);
    ++ends;
  }
  std::function<void()> on_push;
  std::uint64_t ends = 0;
  std::atomic<int> clashes{0};

 private:
  struct Inside {
    explicit Inside(SerialPolicy& p) : policy(p) {
      if (policy.inside_.fetch_add(1) != 0) ++policy.clashes;
    }
    ~Inside() { policy.inside_.fetch_sub(1); }
    SerialPolicy& policy;
  };
  std::atomic<int> inside_{0};
  std::deque<Task*> tasks_;
};

TEST(PolicyGate, WhatFindsThePolicyBusyIsHandedOnByWhoeverHoldsIt) {
  SerialPolicy policy;
  trace::Recorder recorder;
  PolicyGate gate(
      policy, [](Task&, WorkerId) {}, recorder);
  Task first;
  Task second;
  // While the policy takes the first, another thread brings the second; it does not wait.
  bool once = true;
  policy.on_push = [&] {
    if (!std::exchange(once, false)) return;
    std::thread([&] { gate.push(second, kNoWorker); }).join();
  };
  gate.push(first, kNoWorker);
  EXPECT_EQ(gate.pop(WorkerId{0}), &first);
  EXPECT_EQ(gate.pop(WorkerId{0}), &second);
  EXPECT_EQ(gate.pop(WorkerId{0}), nullptr);
  EXPECT_EQ(policy.clashes, 0);
}

TEST(PolicyGate, ATaskIsRetiredOnceWhenThePolicyAndTheEngineHaveDoneWithIt) {
  SerialPolicy policy;
  int retired = 0;
  trace::Recorder recorder;
  PolicyGate gate(
      policy, [&](Task&, WorkerId) { ++retired; }, recorder);
  Task task;
  task.state.store(TaskState::done);  // the policy has its slot, and the engine
  gate.task_done(task, WorkerId{0});
  EXPECT_EQ(policy.ends, 1U);
  EXPECT_EQ(retired, 0);  // the engine has not
  EXPECT_TRUE(let_slot_go(task));
  task.state.store(TaskState::done);
  EXPECT_FALSE(let_slot_go(task));
  gate.task_done(task, WorkerId{0});
  EXPECT_EQ(retired, 1);  // the engine had
}

TEST(PolicyGate, TheTimeInsideThePolicyIsCountedIfItIsAskedFor) {
  for (const bool timed : {false, true}) {
    SerialPolicy policy;
    policy.on_push = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
    trace::Recorder recorder;
    PolicyGate gate(
        policy, [](Task&, WorkerId) {}, recorder, [] {}, timed);
    Task task;
    gate.push(task, kNoWorker);
    EXPECT_EQ(gate.pop(WorkerId{0}), &task);
    EXPECT_EQ(gate.time_in_policy() > Time{10'000'000}, timed);
  }
}

// The first work takes two slices, the second fails in its first: it is over.
TEST(PolicyGate, DeferredWorkIsDoneOneSliceAtATimeFirstComeFirstServed) {
  SerialPolicy policy;
  trace::Recorder recorder;
  PolicyGate gate(
      policy, [](Task&, WorkerId) {}, recorder);
  std::string done;
  gate.defer([&] { return (done += "a").size() < 2; });
  gate.defer([&]() -> bool { throw std::runtime_error(done + "b"); });
  std::exception_ptr error;
  const auto failed = [&](std::exception_ptr thrown) { error = std::move(thrown); };
  EXPECT_EQ(gate.run_slice(kNoWorker, failed), PolicyGate::Slice::done);
  EXPECT_EQ(gate.run_slice(kNoWorker, failed), PolicyGate::Slice::last);
  EXPECT_EQ(error, nullptr);
  EXPECT_TRUE(gate.has_deferred());
  EXPECT_EQ(gate.run_slice(kNoWorker, failed), PolicyGate::Slice::last);
  EXPECT_THROW(std::rethrow_exception(error), std::runtime_error);
  EXPECT_FALSE(gate.has_deferred());
  EXPECT_EQ(gate.run_slice(kNoWorker, failed), PolicyGate::Slice::none);
  EXPECT_EQ(done, "aa");
}

// Otherwise another thread might be given tasks of the plan before its failure is known.
TEST(PolicyGate, AFailureIsToldWhileThePolicyIsHeld) {
  SerialPolicy policy;
  trace::Recorder recorder;
  PolicyGate gate(
      policy, [](Task&, WorkerId) {}, recorder);
  Task task;
  std::atomic<bool> told{false};
  bool popped_before = false;
  gate.push(task, kNoWorker);
  gate.defer([&]() -> bool { throw std::runtime_error("no plan"); });
  std::thread other;
  gate.run_slice(kNoWorker, [&](const std::exception_ptr&) {
    std::atomic<bool> started{false};
    other = std::thread([&] {
      started = true;
      gate.pop(WorkerId{0});
      popped_before = !told;
    });
    while (!started) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    told = true;
  });
  other.join();
  EXPECT_FALSE(popped_before);
}

TEST(PolicyGate, ASliceIsLeftToTheThreadThatIsAtIt) {
  SerialPolicy policy;
  trace::Recorder recorder;
  PolicyGate gate(
      policy, [](Task&, WorkerId) {}, recorder);
  const auto failed = [](const std::exception_ptr&) { FAIL(); };
  PolicyGate::Slice other = PolicyGate::Slice::done;
  gate.defer([&] {
    std::thread([&] { other = gate.run_slice(kNoWorker, failed); }).join();
    return false;
  });
  EXPECT_EQ(gate.run_slice(kNoWorker, failed), PolicyGate::Slice::last);
  EXPECT_EQ(other, PolicyGate::Slice::none);
}

TEST(PolicyGate, ManyThreadsMeetASerialPolicyOneAtATimeAndNoTaskIsLost) {
  constexpr std::size_t kTasks = 20'000;
  SerialPolicy policy;
  trace::Recorder recorder;
  std::atomic<std::size_t> retired{0};
  PolicyGate gate(
      policy, [&](Task&, WorkerId) { ++retired; }, recorder);
  std::vector<Task> tasks(kTasks);
  std::atomic<std::size_t> popped{0};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < kTasks; i += 2) gate.push(tasks[i], WorkerId{t});
    });
    threads.emplace_back([&, t] {
      while (popped < kTasks) {
        Task* task = gate.pop(WorkerId{t});
        if (task == nullptr) {
          std::this_thread::yield();
          continue;
        }
        EXPECT_EQ(task->priority, 0);
        task->priority = 1;                    // popped once
        task->state.store(TaskState::let_go);  // by the engine
        ++popped;
        gate.task_done(*task, WorkerId{t});
      }
    });
  }
  for (auto& thread : threads) thread.join();
  gate.pop(WorkerId{0});  // what was left in the inbox
  EXPECT_EQ(popped, kTasks);
  EXPECT_EQ(retired, kTasks);
  EXPECT_EQ(policy.ends, kTasks);
  EXPECT_EQ(policy.clashes, 0);
}

}  // namespace
}  // namespace vicinal::engine
