// What every policy of the table must do, whatever it is good at.

#include "sched/policy.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/fake_candidates.hpp"
#include "support/fake_context.hpp"
#include "support/known_tasks.hpp"
#include "support/tested.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"
#include "vicinal/error.hpp"

namespace vicinal {
namespace {

using testing::FakeContext;
using testing::FakeGraph;
using testing::FakeOperand;

// Plays the engine for one policy: operands come when a task is popped, written replicas make the
// others invalid, and every rule that a pop must keep is checked.
class FakeEngine {
 public:
  FakeEngine(const sched::PolicyEntry& entry, FakeContext& context)
      : policy_(sched::make_policy(entry.name)), context_(context) {
    policy_->start(context_);
  }

  void push(graph::Task& task, WorkerId releasing) {
    ASSERT_TRUE(waiting_.insert(&task).second);
    testing::make_known(*policy_, {&task}, known_++);
    policy_->push(task, releasing);
  }
  graph::Task* pop(WorkerId worker) {
    context_.expected.clear();
    graph::Task* const task = policy_->pop(worker);
    if (task == nullptr) return nullptr;
    EXPECT_EQ(waiting_.erase(task), 1U) << task->name() << " was not pushed, or popped twice";
    for (const graph::Task* const coming : context_.expected) {
      EXPECT_NE(std::ranges::find(waiting_, coming), waiting_.end()) << coming->name();
    }
    EXPECT_TRUE(context_.can_run(*task, worker)) << task->name() << " on " << worker.value;
    for (const graph::Access& access : task->accesses()) {
      load(*access.handle, context_.node_of(worker));
    }
    popped_.push_back({task, worker});
    return task;
  }
  void end(std::size_t index) {
    const auto [task, worker] = popped_[index];
    popped_[index] = popped_.back();
    popped_.pop_back();
    for (const graph::Access& access : task->accesses()) {
      if (writes(access.mode)) invalidate_others(*access.handle, context_.node_of(worker));
    }
    if (policy_->traits().wants_ends) policy_->task_done(*task, worker);
    EXPECT_EQ(task->next, nullptr) << "a task that has ended hangs in a list of the policy";
  }
  // Asks for a victim among the data that no popped task uses. Must not refuse for ever: the caller
  // does what the engine does and takes the first.
  void evict_from(NodeId node, std::deque<graph::Handle*>& data) {
    std::vector<memory::Candidate> candidates;
    for (graph::Handle* handle : data) {
      if (context_.on_node(*handle, node) && !in_use(*handle)) {
        candidates.push_back({.handle = handle, .dirty = false, .claims = 0});
      }
    }
    if (candidates.empty()) return;
    graph::Handle* victim = candidates.front().handle;
    if (memory::VictimChoice* choice = policy_->victims()) {
      testing::FakeCandidates list(candidates);
      victim = choice->choose(node, Bytes{100}, memory::EvictionReason::firm, list);
      ASSERT_TRUE(std::any_of(candidates.begin(), candidates.end(),
                              [&](const auto& one) { return one.handle == victim; }));
    }
    context_.take_away(*victim, node);
    if (!policy_->traits().concurrent) policy_->data_evicted(*victim, node);
  }
  void forget(graph::Handle& handle) { policy_->data_forgotten(handle); }
  // Every worker asks in turn, and ends what it got, until nobody gets anything.
  void drain() {
    for (bool progress = true; progress;) {
      progress = false;
      for (const WorkerDescription& worker : context_.machine().workers) {
        progress = pop(worker.id) != nullptr || progress;
        while (!popped_.empty()) end(0);
      }
    }
    EXPECT_TRUE(waiting_.empty()) << waiting_.size() << " tasks are never given to any worker, as "
                                  << (*waiting_.begin())->name();
  }
  std::size_t popped() const { return popped_.size(); }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  void load(graph::Handle& handle, NodeId node) {
    if (context_.on_node(handle, node)) return;
    context_.put(handle, node);
    if (!policy_->traits().concurrent) policy_->data_loaded(handle, node);
  }
  void invalidate_others(graph::Handle& handle, NodeId owner) {
    for (const NodeDescription& node : context_.machine().nodes) {
      if (node.id == owner || !context_.on_node(handle, node.id)) continue;
      context_.take_away(handle, node.id);
      if (!policy_->traits().concurrent) policy_->data_evicted(handle, node.id);
    }
  }
  bool in_use(const graph::Handle& handle) const {
    for (const auto& [task, worker] : popped_) {
      for (const graph::Access& access : task->accesses()) {
        if (access.handle == &handle) return true;
      }
    }
    return false;
  }

  std::unique_ptr<sched::Policy> policy_;
  FakeContext& context_;
  std::uint64_t known_ = 0;
  std::set<graph::Task*> waiting_;
  std::vector<std::pair<graph::Task*, WorkerId>> popped_;
};

void add_cores(FakeContext& context) {
  for (int i = 0; i < 4; ++i) context.add_worker();
}

// Two cores; an accelerator with two workers; one with a memory that not all tasks fit.
void add_cores_and_accelerators(FakeContext& context) {
  context.add_worker();
  context.add_worker();
  const NodeId large = context.add_device(Bytes{2000});
  context.add_worker(large);
  context.add_worker(large);
  context.add_worker(context.add_device(Bytes{250}));
}

struct Case {
  sched::PolicyEntry policy;
  void (*add_workers)(FakeContext&);
  const char* machine;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const sched::PolicyEntry& entry : testing::tested_policies()) {
    cases.push_back({entry, add_cores, "cores"});
    cases.push_back({entry, add_cores_and_accelerators, "accelerators"});
  }
  return cases;
}

class PolicyConformance : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { GetParam().add_workers(context); }
  const sched::PolicyEntry& entry() const { return GetParam().policy; }
  std::vector<WorkerId> workers() const {
    std::vector<WorkerId> ids;
    for (const WorkerDescription& worker : context.machine().workers) ids.push_back(worker.id);
    return ids;
  }

  FakeContext context;
  FakeGraph graph;
};

INSTANTIATE_TEST_SUITE_P(Table, PolicyConformance, ::testing::ValuesIn(all_cases()),
                         [](const auto& instance) {
                           return std::string(instance.param.policy.name) + "_on_" +
                                  instance.param.machine;
                         });

TEST_P(PolicyConformance, IsNamedAsInTheTable) {
  EXPECT_EQ(sched::make_policy(entry().name)->name(), entry().name);
  EXPECT_FALSE(entry().sentence.empty());
}

TEST_P(PolicyConformance, GivesNothingWhenNothingWasPushed) {
  FakeEngine engine(entry(), context);
  for (const WorkerId worker : workers()) EXPECT_EQ(engine.pop(worker), nullptr);
}

TEST_P(PolicyConformance, GivesEachTaskOnceToAWorkerThatCanRunItUnderRandomEvents) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    std::deque<graph::Handle*> data;
    for (int i = 0; i < 25; ++i) {
      data.push_back(&graph.data("d" + std::to_string(i)));
      context.put(*data.back(), kRam);
    }
    const auto random_worker = [&] { return workers()[random.below(workers().size())]; };
    const auto random_task = [&] {
      std::vector<FakeOperand> operands;
      std::set<graph::Handle*> used;
      for (std::uint64_t i = random.below(4); i > 0; --i) {
        graph::Handle* const handle = data[random.below(data.size())];
        if (!used.insert(handle).second) continue;
        operands.push_back({handle, static_cast<AccessMode>(1 + random.below(3))});
      }
      FakeGraph::Attributes attributes{.priority = static_cast<int>(random.below(3))};
      if (random.below(10) == 0) attributes.worker = WorkerId{0};
      if (workers().size() > 4 && random.below(10) == 0) attributes.worker = WorkerId{2};
      if (workers().size() > 4 && !attributes.worker) {
        attributes.accelerators_only = random.below(5) == 0;
      }
      return &graph.task("t", operands, attributes);
    };
    FakeEngine engine(entry(), context);
    for (int step = 0; step < 400; ++step) {
      switch (random.below(5)) {
        case 0:
        case 1: {
          graph::Task& task = *random_task();
          const bool by_worker = random.below(2) == 0;
          engine.push(task, by_worker ? random_worker() : kNoWorker);
          break;
        }
        case 2:
          engine.pop(random_worker());
          break;
        case 3:
          if (engine.popped() > 0) engine.end(random.below(engine.popped()));
          break;
        default:
          engine.evict_from(context.node_of(random_worker()), data);
          break;
      }
      if (HasFatalFailure()) return;
    }
    while (engine.popped() > 0) engine.end(0);
    engine.drain();
  }
}

TEST_P(PolicyConformance, GivesATaskBoundToAWorkerToThatWorkerAlone) {
  FakeEngine engine(entry(), context);
  graph::Handle& shared = graph.data("shared");
  for (const WorkerId worker : workers()) {
    for (int i = 0; i < 3; ++i) {
      engine.push(graph.task("bound", {testing::reading(shared)}, {.worker = worker}),
                  workers()[0]);
    }
  }
  for (const WorkerId worker : workers()) {
    for (int i = 0; i < 3; ++i) EXPECT_NE(engine.pop(worker), nullptr);
    EXPECT_EQ(engine.pop(worker), nullptr);
  }
}

// The others are away: what they released or were meant to run is not kept for them.
TEST_P(PolicyConformance, GivesAllItCanRunToTheOnlyWorkerThatAsks) {
  for (const WorkerId asking : workers()) {
    FakeContext lonely;
    GetParam().add_workers(lonely);
    for (const WorkerId other : workers()) {
      if (other != asking) lonely.set_away(other);
    }
    FakeEngine engine(entry(), lonely);
    std::vector<graph::Handle*> data;
    for (int i = 0; i < 6; ++i) data.push_back(&graph.data("d"));
    for (std::size_t i = 0; i < 60; ++i) {
      lonely.put(*data[i % 6], lonely.node_of(workers()[i % workers().size()]));
      const auto releasing = i % 3 == 0 ? kNoWorker : workers()[i % workers().size()];
      engine.push(
          graph.task("t", {testing::reading(*data[i % 6]), testing::reading(*data[(i + 1) % 6])}),
          releasing);
    }
    while (engine.pop(asking) != nullptr) engine.end(0);
    EXPECT_EQ(engine.waiting(), 0U) << "worker " << asking.value;
  }
}

TEST_P(PolicyConformance, TwoInstancesShareNothing) {
  FakeContext other_context;
  GetParam().add_workers(other_context);
  FakeEngine engine(entry(), context);
  FakeEngine other(entry(), other_context);
  for (int i = 0; i < 20; ++i) {
    engine.push(graph.task("one"), kNoWorker);
    if (i % 2 == 0) other.push(graph.task("other"), workers()[0]);
  }
  // FakeEngine checks that each gives back only what was pushed to it.
  for (const WorkerId worker : workers()) {
    other.pop(worker);
    engine.pop(worker);
  }
  while (engine.popped() > 0) engine.end(0);
  while (other.popped() > 0) other.end(0);
  engine.drain();
  other.drain();
}

TEST_P(PolicyConformance, ForgetsDataBetweenTheTasksThatUseThem) {
  FakeEngine engine(entry(), context);
  graph::Handle& lasting = graph.data("lasting");
  for (int round = 0; round < 10; ++round) {
    graph::Handle& short_lived = graph.data("short-lived");
    context.put(short_lived, kRam);
    engine.push(graph.task("t", {testing::reading(lasting), testing::changing(short_lived)}),
                kNoWorker);
    engine.drain();
    engine.forget(short_lived);
    EXPECT_EQ(short_lived.policy_data, nullptr);
  }
}

// Threads that push and pop as fast as they can; a policy that is not concurrent is called under a
// lock, as the engine does.
TEST_P(PolicyConformance, GivesEachTaskOnceToThreadsThatPushAndPopAtOnce) {
  constexpr std::size_t kPerThread = 400;
  const testing::Watchdog watchdog(nullptr, "policy " + std::string(entry().name), 60);
  const std::unique_ptr<sched::Policy> policy = sched::make_policy(entry().name);
  policy->start(context);
  const std::size_t threads = workers().size();
  std::vector<graph::Task*> tasks;
  std::map<const graph::Task*, std::size_t> index;
  graph::Handle& read_by_all = graph.data("read by all");
  for (std::size_t i = 0; i < threads * kPerThread; ++i) {
    FakeGraph::Attributes attributes{.priority = i % 5 == 0 ? 1 : 0};
    if (i % 7 == 0) attributes.worker = workers()[i % threads];
    tasks.push_back(&graph.task("t", {testing::reading(read_by_all)}, attributes));
    index[tasks.back()] = i;
  }
  std::vector<std::atomic<int>> times_popped(tasks.size());
  std::atomic<std::size_t> left{tasks.size()};
  std::mutex mutex;
  std::atomic<std::uint64_t> known{0};
  const auto exclusively = [&](auto&& call) {
    if (policy->traits().concurrent) return call();
    const std::lock_guard held(mutex);
    return call();
  };
  const auto work = [&](std::size_t thread) {
    const WorkerId worker = workers()[thread];
    std::size_t pushed = 0;
    while (left.load() > 0) {
      for (std::size_t i = 0; i < 3 && pushed < kPerThread; ++i, ++pushed) {
        graph::Task& task = *tasks[thread * kPerThread + pushed];
        const WorkerId releasing = pushed % 4 == 0 ? kNoWorker : worker;
        exclusively([&] {
          testing::make_known(*policy, {&task}, known++);
          policy->push(task, releasing);
        });
      }
      graph::Task* const task = exclusively([&] { return policy->pop(worker); });
      if (task == nullptr) {
        std::this_thread::yield();
        continue;
      }
      times_popped[index.at(task)].fetch_add(1);
      EXPECT_TRUE(context.can_run(*task, worker));
      if (policy->traits().wants_ends) exclusively([&] { policy->task_done(*task, worker); });
      left.fetch_sub(1);
    }
  };
  testing::in_threads(threads, work);
  for (const auto& times : times_popped) EXPECT_EQ(times.load(), 1);
}

TEST(Policies, AnUnknownNameIsRefusedAndTheNearestOffered) {
  try {
    sched::make_policy("dart");
    FAIL() << "no exception";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"darts\""), std::string::npos)
        << error.what();
  }
}

TEST(Policies, ANameLikeNoOtherGetsTheListOfAll) {
  try {
    sched::make_policy("zzzzzzzz");
    FAIL() << "no exception";
  } catch (const UsageError& error) {
    for (const sched::PolicyEntry& entry : testing::tested_policies()) {
      EXPECT_NE(std::string(error.what()).find(entry.name), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace vicinal
