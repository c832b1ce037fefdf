// What the engine does for policies with two gears: the gate lets calls through or one after the other, and changes while
// they come; what was submitted is told to the policy as it grows.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "engine/policy_gate.hpp"
#include "engine/submission_log.hpp"
#include "engine/task_state.hpp"
#include "graph/task_pool.hpp"
#include "support/random_runs.hpp"

namespace vicinal::engine {
namespace {

using graph::Task;
using graph::TaskState;
using ::testing::ElementsAre;

// A list; under its own lock in the first gear, and under none in the second.
class ListPolicy final : public sched::Policy {
 public:
  std::string_view name() const override { return "list"; }
  sched::PolicyTraits traits() const override { return {.concurrent = true, .two_gears = true}; }
  void start(sched::PolicyContext& /*context*/) override {}
  void gear_changed(sched::Gear gear) override {
    const int inside = inside_.fetch_add(1);
    faults += inside != 0;
    gear_ = gear;
    ++changes;
    --inside_;
  }
  void push(Task& task, WorkerId /*releasing*/) override {
    in_its_gear([&] { list_.push_back(&task); });
  }
  Task* pop(WorkerId /*worker*/) override {
    Task* task = nullptr;
    in_its_gear([&] {
      if (list_.empty()) return;
      task = list_.back();
      list_.pop_back();
    });
    return task;
  }
  void task_done(Task& /*task*/, WorkerId /*worker*/) override {
    const int inside = inside_.fetch_add(1);
    faults += inside != 0 || gear_ != sched::Gear::planned;
    ++ends;
    --inside_;
  }
  void plan(const sched::KnownTasks& known) override {
    for (std::size_t i = known.planned_before; i < known.tasks.size(); ++i) {
      told.push_back(known.first + i);
      tasks.push_back(known.tasks[i]);
    }
    graph = known.graph;
  }

  std::atomic<int> faults{0};
  std::atomic<int> ends{0};
  int changes = 0;
  std::vector<std::uint64_t> told;
  std::vector<Task*> tasks;
  graph::Graph graph;

 private:
  template <typename Call>
  void in_its_gear(const Call& call) {
    const int inside = inside_.fetch_add(1);
    if (gear_ == sched::Gear::planned) {
      faults += inside != 0;
      call();
    } else {
      const std::lock_guard lock(mutex_);
      call();
    }
    --inside_;
  }

  sched::Gear gear_ = sched::Gear::immediate;
  std::atomic<int> inside_{0};
  std::mutex mutex_;
  std::vector<Task*> list_;
};

TEST(PolicyGate, ChangesGearWhileThreadsPushPopAndEnd) {
  constexpr std::uint32_t kThreads = 4;
  constexpr int kTasks = 3000;  // of each
  testing::for_each_seed(3, [](base::Random&, std::uint64_t seed) {
    graph::TaskPool pool(kThreads + 1);
    SubmissionLog submissions(pool);
    ListPolicy policy;
    trace::Recorder recorder{std::function<Time()>{}};
    std::atomic<int> retired{0};
    PolicyGate gate(
        policy, [&](Task&, WorkerId) { ++retired; }, recorder);
    gate.set_gears(submissions, kThreads);
    std::atomic<std::uint32_t> at_work{kThreads};
    std::atomic<int> popped{0};
    std::vector<std::vector<Task*>> tasks(kThreads);
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      for (int i = 0; i < kTasks; ++i) tasks[t].push_back(&pool.take(t));
    }
    const auto work = [&](std::uint32_t number) {
      const WorkerId worker{number};
      std::size_t next = 0;
      while (popped.load() < static_cast<int>(kThreads) * kTasks) {
        if (next < tasks[number].size()) {
          Task& task = *tasks[number][next++];
          task.state.store(TaskState::ready);
          gate.push(task, next % 2 == 0 ? kNoWorker : worker);
        }
        Task* const task = gate.pop(worker);
        if (task == nullptr) continue;
        ++popped;
        task->state.store(TaskState::done);
        gate.task_done(*task, worker);
        if (let_slot_go(*task)) ++retired;
      }
      --at_work;
    };
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
    base::Random random(seed);
    while (at_work.load() > 0) {
      gate.change_gear(random.below(2) == 0 ? sched::Gear::immediate : sched::Gear::planned);
      for (std::uint64_t i = random.below(20); i > 0; --i) std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    gate.submission_closed();  // what was left in the inbox is done
    EXPECT_EQ(policy.faults, 0);
    EXPECT_EQ(popped, static_cast<int>(kThreads) * kTasks);
    EXPECT_EQ(retired, static_cast<int>(kThreads) * kTasks);
    EXPECT_FALSE(gate.change_gear(gate.gear()));
  });
}

// --- what is known

class SubmissionsFixture : public ::testing::Test {
 protected:
  Task& submit(std::vector<std::pair<graph::Handle*, AccessMode>> accesses,
               const std::vector<TaskId>& after = {}) {
    Task& task = pool_.take(0, accesses.size());
    task.codelet = &codelet_;
    task.access_count = accesses.size() & 0x3fffU;
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      task.accesses()[i] =
          graph::Access(*accesses[i].first, 1, accesses[i].second, i, task.outside);
    }
    task.state.store(TaskState::submitted);
    const std::lock_guard lock(log_.order());
    log_.prepare(task, after);
    log_.append();
    return task;
  }
  // As the engine does it: the policy hears first.
  void end(Task& task, bool is_told = true) {
    task.state.store(TaskState::done);
    if (is_told) log_.ended(task);
    graph::ReadyList ready;
    precedences_.end_life(task, ready);
    task.state.store(TaskState::free);
    pool_.give_back(task, 0);
  }
  bool grow(std::size_t most = 1000) { return log_.grow(policy_, most); }

  graph::TaskPool pool_{1};
  graph::Precedences precedences_{pool_};
  SubmissionLog log_{pool_};
  ListPolicy policy_;
  const Codelet codelet_{.name = "kernel", .flops = 3, .expected = {Time{1000}}};
  graph::Handle x_;
  graph::Handle y_;
};

TEST_F(SubmissionsFixture, GrowTheGraphByWhatIsNew) {
  Task& first = submit({{&x_, AccessMode::W}});
  const TaskId before = graph::TaskPool::id(first);
  Task& second = submit({{&x_, AccessMode::R}, {&y_, AccessMode::W}}, {before});
  EXPECT_EQ(log_.fresh(), 2U);
  EXPECT_TRUE(grow(1));
  EXPECT_EQ(log_.fresh(), 1U);
  EXPECT_THAT(policy_.tasks, ElementsAre(&first));
  EXPECT_FALSE(grow(1));
  EXPECT_THAT(policy_.tasks, ElementsAre(&first, &second));
  EXPECT_THAT(policy_.told, ElementsAre(0U, 1U));
  ASSERT_EQ(policy_.graph.tasks().size(), 2U);
  EXPECT_THAT(policy_.graph.predecessors_of(1), ElementsAre(0U));
  ASSERT_EQ(policy_.graph.kernels().size(), 1U);
  EXPECT_EQ(policy_.graph.kernels()[0].name, "kernel");
  EXPECT_EQ(policy_.graph.kernels()[0].flops, 3);
  ASSERT_EQ(policy_.graph.accesses_of(policy_.graph.tasks()[1]).size(), 2U);
  EXPECT_EQ(policy_.graph.accesses_of(policy_.graph.tasks()[1])[0].datum, 0U);
  EXPECT_FALSE(grow());
  EXPECT_EQ(policy_.told.size(), 2U);  // each once
  end(first);
  end(second);
}

TEST_F(SubmissionsFixture, LeaveOutWhatHasEndedBeforeItIsPlanned) {
  Task& first = submit({{&x_, AccessMode::W}});
  end(first);
  Task& second = submit({{&x_, AccessMode::R}});  // in the slot of the first
  EXPECT_EQ(&first, &second);
  Task& third = submit({{&y_, AccessMode::W}});
  third.state.store(TaskState::done);  // its end is on its way to the policy
  EXPECT_FALSE(grow());
  EXPECT_THAT(policy_.tasks, ElementsAre(&second));
  EXPECT_EQ(policy_.graph.tasks().size(), 1U);
  third.state.store(TaskState::running);
  end(third);
  end(second);
}

TEST_F(SubmissionsFixture, TellAllThatHasNotEndedWhenThePolicyPlansAnew) {
  Task& first = submit({{&x_, AccessMode::W}});
  Task& second = submit({{&x_, AccessMode::R}});
  grow();
  log_.begin_anew();
  EXPECT_EQ(log_.fresh(), 2U);
  end(first, false);
  policy_.tasks.clear();
  grow();
  EXPECT_THAT(policy_.tasks, ElementsAre(&second));
  EXPECT_EQ(policy_.told.back(), 2U);  // no number comes twice
  end(second);
}

// 20,000 tasks of which 100 are there at a time, one of them from the beginning: what is known stays small.
TEST_F(SubmissionsFixture, KnowNoMoreThanTwiceWhatIsThere) {
  Task& stays = submit({{&y_, AccessMode::W}});
  std::vector<Task*> there;
  for (int i = 0; i < 20'000; ++i) {
    there.push_back(&submit({{i % 2 == 0 ? &x_ : &y_, AccessMode::RW}}));
    if (there.size() < 100) continue;
    if (i % 3 == 0) grow(64);
    end(*there.front());
    there.erase(there.begin());
  }
  grow();
  EXPECT_LE(policy_.graph.tasks().size(), 2U * 1024 + 300);
  EXPECT_LE(policy_.graph.data().size(), 2U);
  EXPECT_TRUE(std::ranges::is_sorted(policy_.told));
  end(stays);
  for (Task* const task : there) end(*task);
}

}  // namespace
}  // namespace vicinal::engine
