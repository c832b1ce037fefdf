// What was requested, and for which tasks.
#include "engine/prefetch_requests.hpp"

#include <gtest/gtest.h>

namespace vicinal::engine {
namespace {

constexpr NodeId kFirst{1};
constexpr NodeId kSecond{2};
constexpr NodeId kThird{3};

TEST(PrefetchNotes, KeepTheUseOfEachNodeUntilItIsTaken) {
  graph::TaskPool pool(1);
  const graph::Task& task = pool.take(0);
  const graph::Task& other = pool.take(0);
  PrefetchNotes notes;
  EXPECT_EQ(PrefetchNotes::take(task), 0U);
  EXPECT_TRUE(PrefetchNotes::name(task, kSecond));
  notes.keep_use(task, kSecond, 7);
  EXPECT_FALSE(PrefetchNotes::name(task, kSecond));
  EXPECT_TRUE(PrefetchNotes::name(task, kFirst));
  notes.keep_use(task, kFirst, 9);
  EXPECT_TRUE(PrefetchNotes::name(other, kFirst));
  notes.keep_use(other, kFirst, 12);
  EXPECT_TRUE(PrefetchNotes::name(task, kThird));  // that request was not carried out
  EXPECT_EQ(PrefetchNotes::take(task), 0b1110U);
  EXPECT_EQ(notes.take_use(task, kFirst), 9U);
  EXPECT_EQ(notes.take_use(task, kSecond), 7U);
  EXPECT_EQ(notes.take_use(task, kThird), 0U);
  EXPECT_EQ(PrefetchNotes::take(task), 0U);
  // The slot's next task.
  EXPECT_TRUE(PrefetchNotes::name(task, kFirst));
  notes.keep_use(task, kFirst, 15);
  EXPECT_EQ(PrefetchNotes::take(task), 0b10U);
  EXPECT_EQ(notes.take_use(task, kFirst), 15U);
  // And one whose request was not carried out.
  EXPECT_TRUE(PrefetchNotes::name(task, kSecond));
  EXPECT_EQ(PrefetchNotes::take(task), 0b100U);
  EXPECT_EQ(notes.take_use(task, kSecond), 0U);
  EXPECT_EQ(PrefetchNotes::take(other), 0b10U);
  EXPECT_EQ(notes.take_use(other, kFirst), 12U);
}

}  // namespace
}  // namespace vicinal::engine
