// Which task may run when, from what it accesses: examples by hand, threads, and random graphs against
// a reference that looks at all pairs.
#include "graph/dependencies.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/access_modes.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graph {
namespace {

struct Named {
  Handle* handle;
  AccessMode mode;
};

class SubmittedTasks {
 public:
  Handle& data(bool written = true) {
    Handle& handle = handles_.emplace_back();
    handle.name = "h" + std::to_string(handles_.size() - 1);
    handle.content = written ? Content::written : Content::none;
    return handle;
  }
  Task& task(const std::vector<Named>& accesses) {
    Task& task = tasks_.emplace_back();
    task.codelet = &codelet_;
    task.access_count = static_cast<std::uint8_t>(accesses.size());
    const bool outside = accesses.size() > kInlineAccesses;
    if (outside) allocate_outside(task, accesses.size());
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      task.accesses()[i] = Access(*accesses[i].handle, accesses[i].mode, i, outside);
    }
    return task;
  }
  // As the engine does: 1 for the submission itself.
  static bool submit(Task& task) {
    task.blocked.store(1);
    return insert(task);
  }
  // True if it may run at once.
  bool submit(const std::vector<Named>& accesses, Task** made = nullptr) {
    Task& one = task(accesses);
    if (made != nullptr) *made = &one;
    return submit(one);
  }
  Task& last() { return tasks_.back(); }

 private:
  Codelet codelet_{.name = "task"};
  std::deque<Handle> handles_;
  std::deque<Task> tasks_;
};

std::vector<Task*> end(Task& task) {
  ReadyList list;
  release(task, list);
  std::vector<Task*> ready;
  while (Task* next = list.take()) ready.push_back(next);
  return ready;
}

using Tasks = std::vector<Task*>;
using testing::kR;
using testing::kRW;
using testing::kW;

TEST(Dependencies, ReadersRunTogetherAndAWriterAlone) {
  SubmittedTasks graph;
  Handle& x = graph.data();
  Task *r1, *r2, *w, *r3, *r4, *w2;
  EXPECT_TRUE(graph.submit({{&x, kR}}, &r1));
  EXPECT_TRUE(graph.submit({{&x, kR}}, &r2));
  EXPECT_FALSE(graph.submit({{&x, kW}}, &w));
  EXPECT_FALSE(graph.submit({{&x, kR}}, &r3));  // behind the writer, although readers are at it
  EXPECT_FALSE(graph.submit({{&x, kR}}, &r4));
  EXPECT_FALSE(graph.submit({{&x, kRW}}, &w2));
  EXPECT_EQ(end(*r2), Tasks{});
  EXPECT_EQ(end(*r1), Tasks{w});
  EXPECT_EQ(end(*w), (Tasks{r3, r4}));  // in their order
  EXPECT_EQ(end(*r3), Tasks{});
  EXPECT_EQ(end(*r4), Tasks{w2});
  EXPECT_FALSE(idle(x));
  EXPECT_EQ(end(*w2), Tasks{});
  EXPECT_TRUE(idle(x));
}

Tasks downgraded(Task& task) {
  ReadyList list;
  downgrade(task.accesses()[0], list);
  Tasks ready;
  while (Task* next = list.take()) ready.push_back(next);
  return ready;
}

TEST(Dependencies, AWriterThatGoesOnAsAReaderLetsReadersInAndWritersWait) {
  SubmittedTasks graph;
  Handle& x = graph.data();
  Task *w, *r1, *r2, *w2, *r3;
  ASSERT_TRUE(graph.submit({{&x, kW}}, &w));
  ASSERT_FALSE(graph.submit({{&x, kR}}, &r1));
  ASSERT_FALSE(graph.submit({{&x, kR}}, &r2));
  ASSERT_FALSE(graph.submit({{&x, kW}}, &w2));
  EXPECT_EQ(downgraded(*w), (Tasks{r1, r2}));
  ASSERT_FALSE(graph.submit({{&x, kR}}, &r3));
  EXPECT_EQ(end(*r1), Tasks{});
  EXPECT_EQ(end(*r2), Tasks{});
  EXPECT_EQ(end(*w), Tasks{w2});
  EXPECT_EQ(end(*w2), Tasks{r3});
  EXPECT_EQ(end(*r3), Tasks{});
  EXPECT_TRUE(idle(x));
  // With nobody behind it: who comes later reads at once.
  ASSERT_TRUE(graph.submit({{&x, kW}}, &w));
  EXPECT_EQ(downgraded(*w), Tasks{});
  ASSERT_TRUE(graph.submit({{&x, kR}}, &r1));
  ASSERT_FALSE(graph.submit({{&x, kW}}, &w2));
  EXPECT_EQ(end(*w), Tasks{});
  EXPECT_EQ(end(*r1), Tasks{w2});
  EXPECT_EQ(end(*w2), Tasks{});
  EXPECT_TRUE(idle(x));
}

TEST(Dependencies, TheWritersThatAWriterHasTakenAlongWaitIfItGoesOnAsAReader) {
  for (const std::size_t behind : {1U, 2U, 20U}) {
    for (const bool any_reader : {false, true}) {
      SubmittedTasks graph;
      Handle& x = graph.data();
      Task *holds, *w, *r = nullptr;
      ASSERT_TRUE(graph.submit({{&x, kW}}, &holds));
      ASSERT_FALSE(graph.submit({{&x, kW}}, &w));
      Tasks writers(behind);
      for (Task*& writer : writers) ASSERT_FALSE(graph.submit({{&x, kRW}}, &writer));
      if (any_reader) {
        ASSERT_FALSE(graph.submit({{&x, kR}}, &r));
      }
      EXPECT_EQ(end(*holds), Tasks{w});
      EXPECT_EQ(downgraded(*w), Tasks{});
      EXPECT_EQ(end(*w), Tasks{writers[0]});
      for (std::size_t i = 1; i < behind; ++i) EXPECT_EQ(end(*writers[i - 1]), Tasks{writers[i]});
      EXPECT_EQ(end(*writers.back()), any_reader ? Tasks{r} : Tasks{});
      if (any_reader) {
        EXPECT_EQ(end(*r), Tasks{});
      }
      EXPECT_TRUE(idle(x));
    }
  }
}

// And looks neither at the handle nor at those behind the writer that it hands on to.
TEST(Dependencies, AWriterTakesAlongThoseBehindItUpToTheFirstReader) {
  SubmittedTasks graph;
  Handle& x = graph.data();
  Task* holds;
  ASSERT_TRUE(graph.submit({{&x, kW}}, &holds));
  Tasks writers(20);
  for (Task*& writer : writers) ASSERT_FALSE(graph.submit({{&x, kRW}}, &writer));
  Task *r1, *r2, *w, *r3;
  ASSERT_FALSE(graph.submit({{&x, kR}}, &r1));
  ASSERT_FALSE(graph.submit({{&x, kR}}, &r2));
  ASSERT_FALSE(graph.submit({{&x, kRW}}, &w));
  ASSERT_FALSE(graph.submit({{&x, kR}}, &r3));
  EXPECT_EQ(end(*holds), Tasks{writers[0]});
  EXPECT_EQ(x.head, r1->accesses().data());
  for (std::size_t i = 1; i < writers.size(); ++i) {
    EXPECT_EQ(end(*writers[i - 1]), Tasks{writers[i]});
  }
  EXPECT_EQ(end(*writers.back()), (Tasks{r1, r2}));
  EXPECT_EQ(end(*r2), Tasks{});
  EXPECT_EQ(end(*r1), Tasks{w});
  EXPECT_EQ(end(*w), Tasks{r3});
  EXPECT_EQ(end(*r3), Tasks{});
  EXPECT_TRUE(idle(x));
}

TEST(Dependencies, ATaskWaitsForAllOfItsOperands) {
  SubmittedTasks graph;
  Handle& a = graph.data();
  Handle& b = graph.data();
  Handle& c = graph.data();
  Task *first, *second, *both;
  EXPECT_TRUE(graph.submit({{&a, kRW}}, &first));
  EXPECT_TRUE(graph.submit({{&b, kRW}}, &second));
  EXPECT_FALSE(graph.submit({{&a, kR}, {&c, kW}, {&b, kR}}, &both));
  EXPECT_EQ(end(*second), Tasks{});
  EXPECT_EQ(end(*first), Tasks{both});
}

TEST(Dependencies, TasksWithManyOperandsAreOrdered) {
  SubmittedTasks graph;
  std::vector<Named> all;
  for (int i = 0; i < 20; ++i) all.push_back({&graph.data(), kRW});
  std::vector<Named> reversed(all.rbegin(), all.rend());
  Task *first, *second;
  EXPECT_TRUE(graph.submit(all, &first));
  EXPECT_FALSE(graph.submit(reversed, &second));
  EXPECT_EQ(end(*first), Tasks{second});
}

TEST(Dependencies, ATaskWithoutOperandsMayRunAtOnce) {
  SubmittedTasks graph;
  EXPECT_TRUE(graph.submit({}));
}

TEST(Dependencies, ReadingWhatNobodyWroteIsRefusedAndChangesNothing) {
  SubmittedTasks graph;
  Handle& a = graph.data(false);
  Handle& b = graph.data(false);
  EXPECT_THROW(graph.submit({{&a, kW}, {&b, kR}}), UsageError);
  EXPECT_THROW(graph.submit({{&b, kRW}}), UsageError);
  EXPECT_FALSE(has_content(a));
  EXPECT_TRUE(idle(a));
  EXPECT_TRUE(idle(b));
  EXPECT_TRUE(graph.submit({{&b, kW}}));  // no lock was left behind
  EXPECT_TRUE(has_content(b));
  EXPECT_FALSE(graph.submit({{&b, kR}}));
}

TEST(Dependencies, ForgottenContentMustBeWrittenAnew) {
  SubmittedTasks graph;
  Handle& a = graph.data();
  Task& invalidation = graph.task({{&a, kW}});
  invalidation.blocked.store(1);
  EXPECT_TRUE(insert_invalidation(invalidation));
  EXPECT_THROW(graph.submit({{&a, kR}}), UsageError);
  end(invalidation);
  EXPECT_TRUE(graph.submit({{&a, kW}}));
}

TEST(Dependencies, AHandleThatIsGoingRefusesTasksThatNameTheLifeBefore) {
  SubmittedTasks graph;
  Handle& a = graph.data();
  begin_life(a, 1, "a");
  Task& earlier = graph.task({{&a, kW}});
  EXPECT_FALSE(refuse_tasks(a, 3));
  EXPECT_TRUE(refuse_tasks(a, 1));
  EXPECT_THROW(graph.submit(earlier), UsageError);
  EXPECT_TRUE(graph.submit({{&a, kW}}));  // of the life that is for the unregistration
  end(graph.last());
  accept_tasks(a, Content::written);
  EXPECT_TRUE(graph.submit(earlier));
}

TEST(Dependencies, AnAnnouncedTaskIsRefusedWhenItIsAnnouncedOrNever) {
  SubmittedTasks graph;
  Handle& a = graph.data(false);
  begin_life(a, 1, "a");
  EXPECT_THROW(announce(graph.task({{&a, kR}})), UsageError);
  EXPECT_FALSE(has_content(a));
  Task& writer = graph.task({{&a, kW}});
  Task& reader = graph.task({{&a, kR}});
  Task& invalidation = graph.task({{&a, kW}});
  announce(writer);
  announce(reader);
  announce(invalidation, Content::invalidated);
  EXPECT_FALSE(has_content(a));
  EXPECT_TRUE(idle(a));  // nothing is queued yet
  EXPECT_TRUE(refuse_tasks(a, 1));
  for (Task* const task : {&writer, &reader, &invalidation}) task->blocked.store(1);
  EXPECT_TRUE(insert_announced(writer));
  EXPECT_FALSE(insert_announced(reader));
  EXPECT_FALSE(insert_announced(invalidation));
  EXPECT_FALSE(has_content(a));  // as announced, not as inserted
  EXPECT_EQ(end(writer), Tasks{&reader});
  EXPECT_EQ(end(reader), Tasks{&invalidation});
  end(invalidation);
  EXPECT_TRUE(idle(a));
}

// More operands than are sorted on the stack.
TEST(Dependencies, ATaskThatIsRefusedLeavesNoLockHoweverManyItsOperandsAre) {
  SubmittedTasks graph;
  std::vector<Named> all;
  for (int i = 0; i < 40; ++i) all.push_back({&graph.data(i != 20), kR});
  EXPECT_THROW(graph.submit(all), UsageError);
  EXPECT_THROW(announce(graph.task(all)), UsageError);
  EXPECT_TRUE(graph.submit({{all[20].handle, kW}}));
  end(graph.last());
  EXPECT_TRUE(graph.submit(all));
}

TEST(Dependencies, SeveralSubmittingThreadsAgreeOnOneOrderForAllHandles) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SubmittedTasks graph;
    std::vector<Handle*> handles;
    for (int i = 0; i < 6; ++i) handles.push_back(&graph.data());
    // All pairs of tasks conflict in at least one handle, often in several.
    std::vector<Task*> tasks;
    base::Random random(seed);
    for (int i = 0; i < 400; ++i) {
      std::vector<Named> named{{handles[0], kRW}};
      for (int h = 1; h < 6; ++h) {
        if (random.below(2) == 0) named.push_back({handles[h], random.below(2) == 0 ? kR : kRW});
      }
      std::reverse(named.begin(), named.end());
      tasks.push_back(&graph.task(named));
    }
    std::vector<Task*> ready_at_once;
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < tasks.size(); i += 4) {
          if (!SubmittedTasks::submit(*tasks[i])) continue;
          const std::lock_guard lock(mutex);
          ready_at_once.push_back(tasks[i]);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    // One after the other: if the threads disagreed on the order, two would wait for each other.
    ASSERT_EQ(ready_at_once.size(), 1U);
    std::size_t ended = 0;
    Tasks ready = ready_at_once;
    while (!ready.empty()) {
      ASSERT_EQ(ready.size(), 1U);
      ++ended;
      ready = end(*ready[0]);
    }
    EXPECT_EQ(ended, tasks.size());
  }
}

TEST(Dependencies, EndsFromSeveralThreadsReleaseEachTaskOnce) {
  // 3 handles; as many readers as there are threads, then a writer of all, and again.
  for (int round = 0; round < 50; ++round) {
    SubmittedTasks graph;
    std::vector<Named> all;
    for (int i = 0; i < 3; ++i) all.push_back({&graph.data(), kR});
    std::vector<Task*> readers;
    for (int i = 0; i < 4; ++i) {
      readers.push_back(&graph.task(all));
      ASSERT_TRUE(SubmittedTasks::submit(*readers.back()));
    }
    for (Named& named : all) named.mode = kRW;
    Task* writer = nullptr;
    ASSERT_FALSE(graph.submit(all, &writer));
    std::atomic<int> released{0};
    std::vector<std::thread> threads;
    for (Task* reader : readers) {
      threads.emplace_back([&, reader] {
        for (Task* ready : end(*reader)) released += ready == writer ? 1 : 100;
      });
    }
    for (auto& thread : threads) thread.join();
    ASSERT_EQ(released, 1);
  }
}

// A task may run if no earlier one that has not ended conflicts with it.
class Reference {
 public:
  void submit(Task& task) { tasks_.push_back(&task); }
  void end(Task& task) { std::erase(tasks_, &task); }
  Tasks may_run() const {
    Tasks ready;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const bool waits =
          std::any_of(tasks_.begin(), tasks_.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](Task* before) { return conflict(*before, *tasks_[i]); });
      if (!waits) ready.push_back(tasks_[i]);
    }
    std::sort(ready.begin(), ready.end());
    return ready;
  }

 private:
  static bool conflict(Task& a, Task& b) {
    for (const Access& x : a.accesses()) {
      for (const Access& y : b.accesses()) {
        if (x.handle == y.handle && (writes(x.mode) || writes(y.mode))) return true;
      }
    }
    return false;
  }
  std::vector<Task*> tasks_;
};

TEST(Dependencies, RandomGraphsReleaseWhatTheReferenceDoes) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    SubmittedTasks graph;
    Reference reference;
    std::vector<Handle*> handles;
    const std::size_t count = 1 + random.below(8);
    const std::size_t reads_once_in = 2 + random.below(20);  // some with long runs of writers
    const std::size_t haste = 4 + random.below(6);           // some with long queues
    for (std::size_t i = 0; i < count; ++i) handles.push_back(&graph.data());
    Tasks ready;
    std::size_t submitted = 0;
    while (submitted < 80 || !ready.empty()) {
      if (submitted < 80 && (ready.empty() || random.below(10) < haste)) {
        std::vector<Named> named;
        for (Handle* handle : handles) {
          if (random.below(3) != 0) continue;
          const bool only_reads = random.below(reads_once_in) == 0;
          named.push_back({handle, only_reads ? kR : random.below(2) == 0 ? kW : kRW});
        }
        Task* task = nullptr;
        if (graph.submit(named, &task)) ready.push_back(task);
        reference.submit(*task);
        ++submitted;
      } else {
        const std::size_t at = random.below(ready.size());
        Task* task = ready[at];
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(at));
        for (Task* next : end(*task)) ready.push_back(next);
        reference.end(*task);
      }
      Tasks sorted = ready;
      std::sort(sorted.begin(), sorted.end());
      ASSERT_EQ(sorted, reference.may_run()) << "after " << submitted << " submissions";
    }
    for (Handle* handle : handles) EXPECT_TRUE(idle(*handle));
  }
}

// --- dependencies without data ----------------------------------------------------------------

TEST(Precedences, ATaskWaitsForTheLivesOfOthers) {
  TaskPool pool(1);
  Precedences precedences(pool);
  Codelet codelet{.name = "task"};
  Task& a = pool.take(0);
  Task& b = pool.take(0);
  Task& c = pool.take(0);
  for (Task* task : {&a, &b, &c}) task->codelet = &codelet;
  const TaskId id_a = TaskPool::id(a);
  const TaskId id_b = TaskPool::id(b);
  c.blocked.store(1);
  precedences.add(id_a, c);
  precedences.add(id_b, c);
  precedences.add(id_a, c);  // twice: counted twice, released twice
  EXPECT_EQ(c.blocked.load(), 4);
  c.blocked.fetch_sub(1);
  ReadyList ready;
  precedences.end_life(a, ready);
  EXPECT_EQ(ready.take(), nullptr);
  precedences.end_life(b, ready);
  EXPECT_EQ(ready.take(), &c);
  EXPECT_EQ(ready.take(), nullptr);
}

TEST(Precedences, WhatHasEndedIsNotWaitedForEvenIfItsSlotIsUsedAgain) {
  TaskPool pool(1);
  Precedences precedences(pool);
  Codelet codelet{.name = "task"};
  Task& a = pool.take(0);
  a.codelet = &codelet;
  const TaskId first = TaskPool::id(a);
  ReadyList ready;
  precedences.end_life(a, ready);
  pool.give_back(a, 0);
  Task* taken = &pool.take(0);
  for (int i = 0; i < 100'000 && taken != &a; ++i) taken = &pool.take(0);
  ASSERT_EQ(taken, &a);
  Task& again = *taken;
  const TaskId second = TaskPool::id(again);
  EXPECT_NE(first, second);
  EXPECT_FALSE(TaskPool::alive(again, first));
  EXPECT_TRUE(TaskPool::alive(again, second));
  Task& b = pool.take(0);
  b.codelet = &codelet;
  b.blocked.store(1);
  precedences.add(first, b);
  EXPECT_EQ(b.blocked.load(), 1);
  precedences.add(second, b);
  EXPECT_EQ(b.blocked.load(), 2);
  EXPECT_THROW(precedences.check(TaskId{0xffffffffU}, b), UsageError);
}

TEST(Precedences, DeclarationsThatRaceWithTheEndAreNeitherLostNorDoubled) {
  for (int round = 0; round < 2000; ++round) {
    TaskPool pool(1);
    Precedences precedences(pool);
    Codelet codelet{.name = "task"};
    Task& a = pool.take(0);
    Task& b = pool.take(0);
    a.codelet = b.codelet = &codelet;
    const TaskId id = TaskPool::id(a);
    b.blocked.store(1);
    std::atomic<int> released{0};
    std::thread ender([&] {
      ReadyList ready;
      precedences.end_life(a, ready);
      if (ready.take() == &b) ++released;
    });
    precedences.add(id, b);
    if (b.blocked.fetch_sub(1) == 1) ++released;
    ender.join();
    ASSERT_EQ(released, 1);
    ASSERT_EQ(b.blocked.load(), 0);
  }
}

}  // namespace
}  // namespace vicinal::graph
