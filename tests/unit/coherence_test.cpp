// Which replicas are valid, as nodes change them without one another's locks.
#include "memory/coherence.hpp"

#include <array>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace vicinal::memory {
namespace {

using Result = Dropped::Result;

constexpr NodeId kFirst{2};
constexpr NodeId kSecond{3};

// A handle with replicas on four nodes, that have room.
struct ReplicatedData {
  ReplicatedData() {
    for (std::uint32_t n = 0; n < replicas.size(); ++n) {
      replicas[n].node = NodeId{n};
      replicas[n].handle = &handle;
      replicas[n].word.store(kAllocated);
    }
    handle.replicas = replicas.data();
  }
  Replica& on(NodeId node) { return replicas[node.value]; }
  // Chosen as a victim, as Residency does it.
  Replica& evicting(NodeId node) {
    on(node).word.fetch_or(kEvicting);
    return on(node);
  }
  bool valid(NodeId node) {
    const bool word = (on(node).word.load() & kValid) != 0;
    EXPECT_EQ(word, handle.on.valid.has(node));
    return word;
  }

  graph::Handle handle;
  std::array<Replica, 4> replicas;
};

TEST(Coherence, ACopyOfAnOlderVersionIsVoid) {
  ReplicatedData data;
  make_valid(data.on(kRam));
  const std::uint64_t version = data.handle.version;
  EXPECT_TRUE(make_valid(data.on(kFirst), version));
  make_exclusive(data.on(kRam));  // a task has written it in RAM
  EXPECT_FALSE(make_valid(data.on(kSecond), version));
  EXPECT_FALSE(data.valid(kSecond));
}

TEST(Coherence, AWriteMakesAllOtherReplicasVoid) {
  ReplicatedData data;
  make_valid(data.on(kRam));
  make_valid(data.on(kFirst));
  EXPECT_EQ(make_exclusive(data.on(kSecond)), bit(kRam) | bit(kFirst));
  EXPECT_FALSE(data.valid(kRam));
  EXPECT_FALSE(data.valid(kFirst));
  EXPECT_TRUE(data.valid(kSecond));
}

TEST(Coherence, TheLastReplicaDoesNotGiveItsContentUp) {
  ReplicatedData data;
  make_valid(data.on(kFirst));
  make_valid(data.on(kSecond));
  EXPECT_EQ(drop(data.evicting(kFirst)).result, Result::gone);
  EXPECT_EQ(drop(data.evicting(kSecond)).result, Result::last);
  EXPECT_TRUE(data.valid(kSecond));
  EXPECT_EQ(drop(data.on(kSecond), LastCopy::may_be_lost).result, Result::gone);
  EXPECT_FALSE(data.valid(kSecond));
}

TEST(Coherence, AReplicaThatACopyReadsKeepsItsContent) {
  ReplicatedData data;
  make_valid(data.on(kRam));
  make_valid(data.on(kFirst));
  ASSERT_TRUE(pin_source(data.on(kFirst)));
  EXPECT_EQ(drop(data.evicting(kFirst)).result, Result::used);
  EXPECT_TRUE(data.valid(kFirst));
}

TEST(Coherence, AVictimThatWasRescuedIsNotCopied) {
  ReplicatedData data;
  make_valid(data.on(kFirst));
  EXPECT_FALSE(pin_victim(data.on(kFirst)));  // a task may be writing it
  EXPECT_TRUE(pin_victim(data.evicting(kFirst)));
}

TEST(Coherence, WhatIsMovedIsNotCopiedMeanwhile) {
  ReplicatedData data;
  make_valid(data.on(kRam));
  data.evicting(kRam).word.fetch_or(kComing);
  EXPECT_FALSE(pin_source(data.on(kRam)));
}

// What is pinned was valid, so its version is the one before the writer's, however close the two come.
TEST(Coherence, ACopyThatBeginsWhileATaskEndsElsewhereDoesNotHaveTheTasksVersion) {
  constexpr int kRounds = 4'000;
  ReplicatedData data;
  std::atomic<int> round{0};
  std::atomic<int> done{0};
  std::thread writer([&] {
    for (int r = 1; r <= kRounds; ++r) {
      while (round.load() < r) std::this_thread::yield();
      make_exclusive(data.on(kSecond));
      ++done;
    }
  });
  Replica& source = data.on(kFirst);
  int late = 0;
  for (int r = 1; r <= kRounds; ++r) {
    make_exclusive(source);
    const std::uint64_t before = data.handle.version.load();
    round.store(r);
    const auto pinned = pin_source(source);
    if (pinned && *pinned != before) ++late;
    while (done.load() < r) std::this_thread::yield();
    if (pinned) source.word.fetch_sub(1);
  }
  writer.join();
  EXPECT_EQ(late, 0);
}

// Both find the other's replica valid; one gives its content up, the other does not.
TEST(Coherence, OfTwoNodesThatEvictAtOnceOneKeepsTheContent) {
  constexpr int kRounds = 20'000;
  ReplicatedData data;
  std::atomic<int> round{0};
  std::atomic<int> done{0};
  std::array<std::atomic<int>, 2> gone{};
  const auto node = [&](std::size_t which) {
    Replica& mine = data.on(which == 0 ? kFirst : kSecond);
    for (int r = 1; r <= kRounds; ++r) {
      while (round.load() < r) std::this_thread::yield();
      if (drop(mine).result == Result::gone) ++gone[which];
      ++done;
    }
  };
  std::thread first(node, 0);
  std::thread second(node, 1);
  for (int r = 1; r <= kRounds; ++r) {
    make_valid(data.evicting(kFirst));
    make_valid(data.evicting(kSecond));
    done = 0;
    round = r;
    while (done.load() < 2) std::this_thread::yield();
    ASSERT_NE(data.valid(kFirst), data.valid(kSecond)) << "round " << r;
  }
  first.join();
  second.join();
  EXPECT_EQ(gone[0] + gone[1], kRounds);
}

}  // namespace
}  // namespace vicinal::memory
