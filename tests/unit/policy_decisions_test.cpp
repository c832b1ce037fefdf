// What policies tell where simulated runs seldom come: victims that are used, refusals, workers that are away.
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/darts_fixture.hpp"
#include "support/decision_rules.hpp"
#include "support/listener.hpp"

namespace vicinal {
namespace {

using memory::EvictionReason;
using ::testing::ElementsAre;
using testing::reading;
using testing::winner_by_rule;
using trace::Measure;
using trace::Reason;

using Numbers = std::vector<std::int64_t>;

Numbers numbers(const trace::Candidate& candidate, std::initializer_list<Measure> measures) {
  Numbers all;
  for (const Measure measure : measures) all.push_back(testing::value(candidate, measure));
  return all;
}

Numbers uses_of(const trace::Candidate& candidate) {
  return numbers(candidate, {Measure::planned_uses, Measure::pulled_uses, Measure::claims});
}

class DartsTells : public testing::PlannedDartsTest {
 protected:
  void SetUp() override {
    context.set_listener(listener);
    PlannedDartsTest::SetUp();
  }
  const trace::Decision& last() const { return listener.heard().back(); }

  testing::Listener listener;
};

TEST_F(DartsTells, HowManyPlannedAndPulledTasksUseEachCandidate) {
  EXPECT_EQ(choose({x, y, &loaded}), y);
  EXPECT_EQ(last().reason, Reason::fewest_planned_uses);
  EXPECT_EQ(last().node, nodes[0]);
  EXPECT_EQ(last().bytes, Bytes{100});
  ASSERT_EQ(last().candidates.size(), 3U);
  EXPECT_THAT(uses_of(last().candidates[0]), ElementsAre(2, 0, 0));
  EXPECT_THAT(uses_of(last().candidates[1]), ElementsAre(1, 0, 0));
  EXPECT_THAT(uses_of(last().candidates[2]), ElementsAre(3, 1, 0));
  EXPECT_EQ(last().candidates[1].id, y->id.value);
  EXPECT_EQ(last().winner, 1U);
  EXPECT_EQ(winner_by_rule(last()), 1U);
}

TEST_F(DartsTells, ThatAPrefetchIsRefusedWhatPulledTasksUse) {
  EXPECT_EQ(choose({&loaded}, EvictionReason::prefetch), nullptr);
  EXPECT_EQ(last().reason, Reason::used_sooner);
  ASSERT_EQ(last().candidates.size(), 1U);
  EXPECT_THAT(uses_of(last().candidates[0]), ElementsAre(3, 1, 0));
  EXPECT_EQ(last().winner, std::nullopt);
  EXPECT_EQ(winner_by_rule(last()), std::nullopt);
}

TEST_F(DartsTells, ThatTheLastVictimIsChosenAgainWhereItStayed) {
  EXPECT_EQ(choose({y}), y);
  EXPECT_EQ(choose({x, y}), y);
  EXPECT_EQ(last().reason, Reason::chosen_before);
  ASSERT_EQ(last().candidates.size(), 1U);
  EXPECT_EQ(last().candidates[0].id, y->id.value);
  EXPECT_EQ(last().winner, 0U);
}

class BeladyTells : public testing::PolicyTest {
 protected:
  BeladyTells() : PolicyTest("belady") {
    context.set_listener(listener);
    node = context.add_device(Bytes{1000});
    context.add_worker(node);
    policy->start(context);
  }
  graph::Handle* choose(const std::vector<graph::Handle*>& handles, EvictionReason reason) {
    testing::FakeCandidates candidates(handles);
    return policy->victims()->choose(node, Bytes{100}, reason, candidates);
  }
  testing::Listener listener;
  NodeId node;
};

// The pushes have the numbers 0 and 1; the pop of the first gives it the number 2. A use counts from 1.
TEST_F(BeladyTells, TheNextUsesAndThatAPrefetchIsRefusedWhatIsUsedBeforeIt) {
  graph::Handle& given = graph.data("given");
  graph::Handle& queued = graph.data("queued");
  policy->push(graph.task("first", {reading(given)}), kNoWorker);
  policy->push(graph.task("second", {reading(queued)}), kNoWorker);
  EXPECT_EQ(pop(), "first");
  const auto next_uses = [&](std::size_t candidate) {
    return numbers(listener.heard().back().candidates[candidate],
                   {Measure::queued, Measure::next_use});
  };

  EXPECT_EQ(choose({&given, &queued}, EvictionReason::prefetch), &queued);
  EXPECT_EQ(listener.heard().back().reason, Reason::latest_next_use);
  EXPECT_THAT(next_uses(0), ElementsAre(0, 3));
  EXPECT_THAT(next_uses(1), ElementsAre(1, 2));
  EXPECT_EQ(winner_by_rule(listener.heard().back()), 1U);

  EXPECT_EQ(choose({&given}, EvictionReason::prefetch), nullptr);
  EXPECT_EQ(listener.heard().back().reason, Reason::used_sooner);
  EXPECT_THAT(next_uses(0), ElementsAre(0, 3));
  EXPECT_EQ(winner_by_rule(listener.heard().back()), std::nullopt);
}

class DmdaTells : public testing::PolicyTest {
 protected:
  DmdaTells() : PolicyTest("dmda") {}
  testing::Listener listener;
};

// Three tasks are on three workers; the fourth and the fifth come behind the first and the second.
TEST_F(DmdaTells, WhichQueueOfAWorkerThatIsAwayIsTheLongest) {
  context.set_listener(listener);
  for (int i = 0; i < 3; ++i) context.add_worker();
  policy->start(context);
  for (const char* name : {"a", "b", "c", "d", "e"}) policy->push(graph.task(name), kNoWorker);
  EXPECT_EQ(pop_all(2), "c");
  EXPECT_EQ(pop(1), "b");
  context.set_away(WorkerId{0});
  context.set_away(WorkerId{1});
  EXPECT_EQ(pop(2), "a");
  const trace::Decision& theft = listener.heard().back();
  EXPECT_EQ(theft.reason, Reason::longest_queue_left);
  EXPECT_EQ(theft.worker, WorkerId{2});
  ASSERT_EQ(theft.candidates.size(), 2U);
  EXPECT_THAT(numbers(theft.candidates[0], {Measure::tasks}), ElementsAre(2));  // a, d
  EXPECT_THAT(numbers(theft.candidates[1], {Measure::tasks}), ElementsAre(1));  // e
  EXPECT_EQ(theft.winner, 0U);
  EXPECT_EQ(winner_by_rule(theft), 0U);
}

}  // namespace
}  // namespace vicinal
