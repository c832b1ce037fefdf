// Accesses that commute: in any order, one at a time, and ordered as writes against all others. By hand, random graphs
// against a reference that looks at all pairs, and threads.
#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "graph/dependencies.hpp"
#include "support/access_modes.hpp"

namespace vicinal::graph {
namespace {

using testing::kR;
using testing::kRW;
constexpr AccessMode kC = AccessMode::commute;

struct NamedAccess {
  Handle* handle;
  AccessMode mode;
};
using QueuedTasks = std::vector<Task*>;

// Does with ready tasks what the engine does.
class Queue {
 public:
  Handle& data() {
    Handle& handle = handles_.emplace_back();
    handle.name = "h" + std::to_string(handles_.size() - 1);
    handle.content = Content::written;
    return handle;
  }
  Task& task(const std::vector<NamedAccess>& accesses) {
    Task& task = tasks_.emplace_back();
    task.codelet = &codelet_;
    task.access_count = accesses.size() & 0x3fffU;
    const bool outside = accesses.size() > kInlineAccesses;
    if (outside) allocate_outside(task, accesses.size());
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      task.accesses()[i] = Access(*accesses[i].handle, accesses[i].mode, i, outside);
      task.commutes |= commutes(accesses[i].mode);
    }
    return task;
  }
  // Those that may run now.
  static QueuedTasks submit(Task& task) {
    task.blocked.store(1);
    ReadyList list;
    if (insert(task)) list.append(task);
    return with_turns(list);
  }
  Task* submit(const std::vector<NamedAccess>& accesses, bool may_run) {
    Task& made = task(accesses);
    EXPECT_EQ(submit(made), may_run ? QueuedTasks{&made} : QueuedTasks{});
    return &made;
  }
  static QueuedTasks end(Task& task) {
    ReadyList list;
    release(task, list);
    return with_turns(list);
  }

 private:
  static QueuedTasks with_turns(ReadyList& list) {
    QueuedTasks ready;
    while (Task* const next = list.take()) {
      if (!next->commutes || take_turns(*next, list)) ready.push_back(next);
    }
    return ready;
  }
  Codelet codelet_{.name = "task"};
  std::deque<Handle> handles_;
  std::deque<Task> tasks_;
};

TEST(Commute, ThoseThatFollowEachOtherRunInAnyOrderOneAtATime) {
  Queue queue;
  Handle& x = queue.data();
  Handle& y = queue.data();
  Task* const holds_y = queue.submit({{&y, kRW}}, true);
  Task* const first = queue.submit({{&x, kC}, {&y, kR}}, false);  // waits for y
  Task* const second = queue.submit({{&x, kC}}, true);
  Task* const third = queue.submit({{&x, kC}}, false);
  EXPECT_EQ(Queue::end(*holds_y), QueuedTasks{});  // the first waits for its turn now
  EXPECT_EQ(Queue::end(*second), QueuedTasks{third});
  EXPECT_EQ(Queue::end(*third), QueuedTasks{first});
  EXPECT_EQ(Queue::end(*first), QueuedTasks{});
  EXPECT_TRUE(idle(x));
  EXPECT_TRUE(is_unused(x));
}

TEST(Commute, AgainstReadersAndWritersTheyAreWrites) {
  Queue queue;
  Handle& x = queue.data();
  Task* const reader = queue.submit({{&x, kR}}, true);
  Task* const a = queue.submit({{&x, kC}}, false);
  Task* const b = queue.submit({{&x, kC}}, false);
  Task* const behind = queue.submit({{&x, kR}}, false);
  Task* const c = queue.submit({{&x, kC}}, false);  // of another run: behind the reader
  Task* const writer = queue.submit({{&x, kRW}}, false);
  Task* const d = queue.submit({{&x, kC}}, false);
  EXPECT_EQ(Queue::end(*reader), QueuedTasks{a});
  EXPECT_EQ(Queue::end(*a), QueuedTasks{b});
  EXPECT_EQ(Queue::end(*b), QueuedTasks{behind});
  EXPECT_EQ(Queue::end(*behind), QueuedTasks{c});
  EXPECT_EQ(Queue::end(*c), QueuedTasks{writer});
  EXPECT_EQ(Queue::end(*writer), QueuedTasks{d});
  EXPECT_EQ(Queue::end(*d), QueuedTasks{});
  EXPECT_TRUE(is_unused(x));
}

TEST(Commute, ATaskTakesAllItsTurnsOrNone) {
  Queue queue;
  Handle& x = queue.data();
  Handle& y = queue.data();
  Task* const has_x = queue.submit({{&x, kC}}, true);
  Task* const both = queue.submit({{&y, kC}, {&x, kC}}, false);
  Task* const has_y = queue.submit({{&y, kC}}, true);  // which the one before it has not taken
  EXPECT_EQ(Queue::end(*has_x), QueuedTasks{});
  EXPECT_EQ(Queue::end(*has_y), QueuedTasks{both});
  Task* const last = queue.submit({{&x, kC}, {&y, kC}}, false);
  EXPECT_EQ(Queue::end(*both), QueuedTasks{last});
  EXPECT_EQ(Queue::end(*last), QueuedTasks{});
}

TEST(Commute, WhoIsNextButWaitsForAnotherTurnLetsTheOneBehindItGo) {
  Queue queue;
  Handle& x = queue.data();
  Handle& y = queue.data();
  Task* const has_x = queue.submit({{&x, kC}}, true);
  Task* const both = queue.submit({{&x, kC}, {&y, kC}}, false);  // waits for x
  Task* const behind = queue.submit({{&x, kC}}, false);
  Task* const has_y = queue.submit({{&y, kC}}, true);
  EXPECT_EQ(Queue::end(*has_x), QueuedTasks{behind});
  EXPECT_EQ(Queue::end(*has_y), QueuedTasks{});
  EXPECT_EQ(Queue::end(*behind), QueuedTasks{both});
  EXPECT_EQ(Queue::end(*both), QueuedTasks{});
}

TEST(Commute, WhoHasItsTurnHasItWhenItAsksAgain) {
  Queue queue;
  Handle& x = queue.data();
  Task* const one = queue.submit({{&x, kC}}, true);
  ReadyList others;
  EXPECT_TRUE(take_turns(*one, others));
  EXPECT_EQ(others.take(), nullptr);
}

TEST(Commute, AHandleNamedTwiceCommutesOnlyWithItsLike) {
  EXPECT_EQ(strongest(kC, kC), kC);
  EXPECT_EQ(strongest(kC, kR), kRW);
  EXPECT_EQ(strongest(AccessMode::W, kC), kRW);
  EXPECT_TRUE(reads(kC) && writes(kC) && leaves_content(kC) && !is_exclusive(kC));
}

// --- against all pairs

enum class Conflict : std::uint8_t { none, turns, order };

Conflict conflict(const Task& a, const Task& b) {
  Conflict worst = Conflict::none;
  for (const Access& x : a.accesses()) {
    for (const Access& y : b.accesses()) {
      if (x.handle != y.handle || (!writes(x.mode) && !writes(y.mode))) continue;
      const bool turns = commutes(x.mode) && commutes(y.mode);
      worst = std::max(worst, turns ? Conflict::turns : Conflict::order);
    }
  }
  return worst;
}

// A task between two commuting tasks keeps them apart: it conflicts with both, so that pairs suffice.
bool waits_for_others(const QueuedTasks& alive, const Task& task) {
  for (const Task* before : alive) {
    if (before == &task) return false;
    if (conflict(*before, task) == Conflict::order) return true;
  }
  return false;
}

std::optional<std::string> wrong(const QueuedTasks& alive, const QueuedTasks& running) {
  for (Task* const task : alive) {
    const bool runs = std::ranges::find(running, task) != running.end();
    const bool waits = waits_for_others(alive, *task);
    if (runs && waits) return "one runs before another that it must follow";
    bool turn_taken = false;
    for (const Task* other : running) {
      turn_taken |= other != task && conflict(*other, *task) == Conflict::turns;
    }
    if (runs && turn_taken) return "two run at once that commute";
    if (!runs && !waits && !turn_taken) return "one waits for nothing, and does not run";
  }
  return std::nullopt;
}

TEST(Commute, RandomGraphsRunWhatMayRunAndNothingElse) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    Queue queue;
    std::vector<Handle*> handles;
    const std::size_t count = 1 + random.below(6);
    for (std::size_t i = 0; i < count; ++i) handles.push_back(&queue.data());
    const std::size_t haste = 4 + random.below(6);
    const std::size_t others = 1 + random.below(8);  // one in so many is no commuting access
    QueuedTasks alive;
    QueuedTasks running;
    for (int submitted = 0; submitted < 80 || !running.empty();) {
      QueuedTasks ready;
      if (submitted < 80 && (running.empty() || random.below(10) < haste)) {
        std::vector<NamedAccess> named;
        for (Handle* handle : handles) {
          if (random.below(3) != 0) continue;
          const bool other = random.below(others) == 0;
          named.push_back({handle, !other ? kC : random.below(2) == 0 ? kR : kRW});
        }
        Task& task = queue.task(named);
        alive.push_back(&task);
        ++submitted;
        ready = Queue::submit(task);
      } else {
        Task* const task = running[random.below(running.size())];
        std::erase(running, task);
        std::erase(alive, task);
        ready = Queue::end(*task);
      }
      running.insert(running.end(), ready.begin(), ready.end());
      ASSERT_EQ(wrong(alive, running), std::nullopt) << "after " << submitted << " submissions";
    }
    EXPECT_TRUE(alive.empty());
    for (const Handle* handle : handles) EXPECT_TRUE(is_unused(*handle));
  }
}

// --- threads

struct Counted {
  Handle* handle;
  long count = 0;  // changed by whoever has access
};

// Threads that end tasks, and one that submits them meanwhile.
class Crowd {
 public:
  explicit Crowd(std::vector<Counted>& data) : data_(data) {}
  void add(const QueuedTasks& ready) {
    const std::lock_guard lock(mutex_);
    ready_.insert(ready_.end(), ready.begin(), ready.end());
  }
  void work(std::size_t tasks) {
    while (true) {
      Task* task = nullptr;
      {
        const std::lock_guard lock(mutex_);
        if (ended_ == tasks) return;
        if (!ready_.empty()) {
          task = ready_.back();
          ready_.pop_back();
        }
      }
      if (task == nullptr) {
        std::this_thread::yield();
        continue;
      }
      for (const Access& access : task->accesses()) {
        const auto at = std::ranges::find(data_, access.handle, &Counted::handle);
        if (writes(access.mode)) at->count = at->count + 1;
      }
      const QueuedTasks next = Queue::end(*task);
      const std::lock_guard lock(mutex_);
      ready_.insert(ready_.end(), next.begin(), next.end());
      ++ended_;
    }
  }

 private:
  std::vector<Counted>& data_;
  std::mutex mutex_;
  QueuedTasks ready_;
  std::size_t ended_ = 0;
};

TEST(Commute, ManyThreadsCountExactlyWhateverTurnsTheyTake) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    Queue queue;
    std::vector<Counted> data;
    for (int i = 0; i < 4; ++i) data.push_back({&queue.data()});
    std::vector<long> expected(data.size());
    QueuedTasks tasks;
    for (int i = 0; i < 400; ++i) {
      std::vector<NamedAccess> named;
      for (std::size_t d = 0; d < data.size(); ++d) {
        if (random.below(2) == 0) continue;
        const AccessMode mode = random.below(12) == 0 ? kR : random.below(12) == 0 ? kRW : kC;
        named.push_back({data[d].handle, mode});
        if (mode != kR) ++expected[d];
      }
      std::ranges::reverse(named);
      tasks.push_back(&queue.task(named));
    }
    Crowd crowd(data);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back([&] { crowd.work(tasks.size()); });
    for (Task* task : tasks) crowd.add(Queue::submit(*task));
    for (auto& thread : threads) thread.join();
    for (std::size_t d = 0; d < data.size(); ++d) EXPECT_EQ(data[d].count, expected[d]);
  }
}

}  // namespace
}  // namespace vicinal::graph
