// Decisions: each follows from what it lists, tells of each task, and costs no schedule.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/decision_rules.hpp"
#include "support/policy_names.hpp"
#include "support/small_runs.hpp"
#include "support/told_run.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAreArray;
using trace::DecisionKind;
using trace::Reason;

// Evictions everywhere: 12 of the 36 or 55 tiles of 1 MB fit.
const std::vector<MachineParts>& machines() {
  static const std::vector<MachineParts> parts{
      {.cores = 4},
      {.accelerators = 1, .memory = 12_MiB},
      {.accelerators = 3, .memory = 12_MiB},
      {.cores = 3, .accelerators = 2, .memory = 12_MiB},
  };
  return parts;
}

std::string describe(const Decision& decision) {
  std::string text(trace::entry(decision.reason).name);
  for (const Candidate& candidate : decision.candidates) {
    text += "\n  " + std::to_string(candidate.id) + ":";
    for (const trace::Score& score : candidate.scores) {
      text +=
          " " + std::string(trace::entry(score.measure).name) + " " + std::to_string(score.value);
    }
  }
  return text;
}

class DecisionsOf : public ::testing::TestWithParam<std::string> {};

TEST_P(DecisionsOf, EachFollowsFromItsScoresByItsRule) {
  for (const MachineParts& parts : machines()) {
    Listener listener;
    ToldRun run(machine_of(parts), GetParam(), &listener);
    submit_cholesky(run, 10);
    run.wait();
    ASSERT_FALSE(listener.heard().empty());
    for (const Decision& decision : listener.heard()) {
      ASSERT_EQ(winner_by_rule(decision), decision.winner) << describe(decision);
    }
  }
}

TEST_P(DecisionsOf, AListenerChangesNoSchedule) {
  for (const MachineParts& parts : machines()) {
    for (const std::size_t tiles : {10U, 24U}) {
      const auto account = [&](trace::DecisionListener* listener) {
        ToldRun run(machine_of(parts), GetParam(), listener);
        submit_cholesky(run, tiles);
        run.wait();
        return run.account();
      };
      Listener listener;
      EXPECT_EQ(account(&listener), account(nullptr)) << tiles << " tiles";
    }
  }
}

// Who a worker is given: by the order of what waits for it, or by a theft. A thief's choice among the tasks of its
// victim is no further one.
std::vector<TaskId> given(const Listener& listener) {
  std::vector<TaskId> tasks;
  for (const Decision& decision : listener.heard()) {
    const DecisionKind kind = trace::entry(decision.reason).kind;
    if (kind == DecisionKind::theft) {
      tasks.push_back(*decision.task);
    } else if (kind == DecisionKind::order && decision.reason != Reason::last_of_highest &&
               decision.reason != Reason::oldest_of_victim &&
               decision.reason != Reason::highest_of_victim) {
      tasks.push_back({decision.candidates[*decision.winner].id});
    }
  }
  return tasks;
}

TEST_P(DecisionsOf, EachTaskIsGivenOnce) {
  for (const MachineParts& parts : machines()) {
    Listener listener;
    ToldRun run(machine_of(parts), GetParam(), &listener);
    const std::vector<TaskId> tasks = submit_cholesky(run, 8);
    run.wait();
    EXPECT_THAT(given(listener), UnorderedElementsAreArray(tasks));
  }
}

// A chain of forks: the threads release tasks for one another, and steal them.
TEST_P(DecisionsOf, EachTaskIsGivenOnceByThreadsAtOnce) {
  Options options = small_options(4);
  options.policy = GetParam();
  Listener listener;
  std::vector<TaskId> tasks;
  {
    runtime::RuntimeImpl impl(options, runtime::MachineSetup(options), &listener);
    const Handle joint = impl.add({8, 1, 8, 1}, {}, false, "joint");
    for (int step = 0; step < 50; ++step) {
      tasks.push_back(impl.submit(set(joint, step)));
      for (int i = 0; i < 8; ++i) {
        tasks.push_back(impl.submit({.codelet = &kNothing, .operands = {R(joint)}}));
      }
    }
    impl.wait();
    impl.close();
  }
  EXPECT_THAT(given(listener), UnorderedElementsAreArray(tasks));
}

INSTANTIATE_TEST_SUITE_P(Policies, DecisionsOf, ::testing::ValuesIn(testing::policy_names()),
                         [](const auto& tested) { return tested.param; });

// --- which kinds there are, or the tests above would be content with nothing

std::set<Reason> reasons_in(const std::string& policy, const MachineParts& parts) {
  Listener listener;
  ToldRun run(machine_of(parts), policy, &listener);
  submit_cholesky(run, 10);
  run.wait();
  std::set<Reason> reasons;
  for (const Decision& decision : listener.heard()) {
    reasons.insert(decision.reason);
    EXPECT_EQ(winner_by_rule(decision), decision.winner) << describe(decision);
  }
  return reasons;
}

TEST(Decisions, OfDartsTellPlacementPlanOrderAndVictims) {
  using enum Reason;
  const std::set<Reason> heard = reasons_in("darts", {.accelerators = 3, .memory = 12_MiB});
  for (const Reason reason : {fewest_tasks, free_nowhere, set_free, sets_most_free, misses_fewest,
                              plan_order, no_planned_use, first_ready}) {
    EXPECT_TRUE(heard.contains(reason)) << trace::entry(reason).name;
  }
}

TEST(Decisions, OfDmdasTellPlacementAndOrder) {
  using enum Reason;
  const std::set<Reason> heard =
      reasons_in("dmdas", {.cores = 3, .accelerators = 2, .memory = 12_MiB});
  for (const Reason reason : {least_cost, lacks_least_of_highest, first_ready}) {
    EXPECT_TRUE(heard.contains(reason)) << trace::entry(reason).name;
  }
}

TEST(Decisions, OfHfpTellPackagesOrderTheftsAndVictims) {
  using enum Reason;
  std::set<Reason> heard;
  for (const char* policy : {"hfp", "hfp:ready=no"}) {
    heard.merge(reasons_in(policy, {.accelerators = 3, .memory = 12_MiB}));
  }
  for (const Reason reason : {in_package, lacks_least_of_next, first_planned, longest_left,
                              no_next_use, latest_next_use}) {
    EXPECT_TRUE(heard.contains(reason)) << trace::entry(reason).name;
  }
}

TEST(Decisions, OfLwsTellWhatIsOwnAndFromWhomTheRestIsStolen) {
  using enum Reason;
  const std::set<Reason> heard = reasons_in("lws", {.cores = 4});
  for (const Reason reason :
       {just_released, highest_priority, nearest_with_tasks, last_of_highest}) {
    EXPECT_TRUE(heard.contains(reason)) << trace::entry(reason).name;
  }
}

TEST(Decisions, OfWorkStealingTellWhereTasksArePushedAndFromWhomTheyAreStolen) {
  using enum Reason;
  const MachineParts parts{.cores = 3, .accelerators = 2, .memory = 12_MiB};
  std::set<Reason> heard = reasons_in("xkaapi", parts);
  heard.merge(reasons_in("xkaapi:push=h1", parts));
  for (const Reason reason : {holds_written, most_valid_bytes, released_here, last_pushed,
                              first_pushed, drawn_victim, oldest_of_victim}) {
    EXPECT_TRUE(heard.contains(reason)) << trace::entry(reason).name;
  }
}

TEST(Decisions, OfPaRSECsPoliciesTellOwnersLoadsAndBuffers) {
  using enum Reason;
  std::set<Reason> heard = reasons_in("ap", {.accelerators = 3, .memory = 12_MiB});
  for (const Reason reason : {belongs_there, least_weighed_end, first_pushed}) {
    EXPECT_TRUE(heard.contains(reason)) << trace::entry(reason).name;
  }
  heard = reasons_in("lfq", {.cores = 4});
  for (const Reason reason :
       {released_here, highest_priority, nearest_with_tasks, highest_of_victim, first_pushed}) {
    EXPECT_TRUE(heard.contains(reason)) << trace::entry(reason).name;
  }
}

TEST(Decisions, OfDartsAndDmdasPlaceEachTask) {
  for (const char* policy : {"darts", "dmdas"}) {
    Listener listener;
    ToldRun run(machine_of({.accelerators = 2, .memory = 12_MiB}), policy, &listener);
    const std::vector<TaskId> tasks = submit_cholesky(run, 8);
    run.wait();
    std::set<TaskId> placed;
    for (const Decision& decision : listener.heard()) {
      if (!decision.winner) continue;
      const std::uint64_t winner = decision.candidates[*decision.winner].id;
      const DecisionKind kind = trace::entry(decision.reason).kind;
      if (kind == DecisionKind::placement) placed.insert(*decision.task);
      if (kind == DecisionKind::plan && decision.among == trace::Among::tasks) {
        placed.insert({winner});
      }
    }
    EXPECT_EQ(placed, std::set<TaskId>(tasks.begin(), tasks.end())) << policy;
  }
}

TEST(Decisions, OfMemoryTellVictimsPrefetchesAndWhatIsWrittenBehind) {
  using enum Reason;
  std::set<Reason> heard;
  for (const char* policy : {"eager", "dmdas"}) {
    heard.merge(reasons_in(policy, {.accelerators = 2, .memory = 12_MiB}));
  }
  for (const Reason reason : {least_recently_used, unused_and_saved, awaited_last, best_source,
                              no_room, link_is_busy, room_is_awaited, first_unsaved}) {
    EXPECT_TRUE(heard.contains(reason)) << trace::entry(reason).name;
  }
}

// --- by hand. A byte takes 1 ns on a link.

// One task for each of the handles, that reads it.
std::vector<TaskId> submit_readers(ToldRun& run, const Codelet& codelet,
                                   const std::vector<Handle>& handles) {
  std::vector<TaskId> tasks;
  for (const Handle& handle : handles) {
    tasks.push_back(run.submit({.codelet = &codelet, .operands = {R(handle)}}));
  }
  return tasks;
}

// Tasks of 5000 ns, that read a, a, a and b, of 1000 and 2000 bytes. They are queued, and none has begun.
//   first:  both workers: free 0, transfer 1000, end 6000                        -> 0, the first
//   second: 0: free 6000 (its 5000, and 1000 for its data), transfer 0, end 11000, cost 11000
//           1: free 0, transfer 1000, end 6000, cost 7000                         -> 1
//   third:  both: free 6000, transfer 0, end 11000                                -> 0
//   fourth: 0: free 11000, transfer 2000, end 16000, cost 18000
//           1: free 6000, transfer 2000, end 11000, cost 13000                    -> 1
TEST(Decisions, OfDmdaTellTheEndOnEachWorkerAndItsParts) {
  Listener listener;
  ToldRun run(machine_of({.accelerators = 2}), "dmda", &listener);
  const Codelet codelet = codelet_of("reads", Time{0}, Time{5000});
  const Handle a = run.data(Bytes{1000});
  const Handle b = run.data(Bytes{2000});
  const std::vector<TaskId> tasks = submit_readers(run, codelet, {a, a, a, b});
  run.wait();
  using Times = std::vector<std::int64_t>;
  std::vector<Times> times;
  std::vector<std::uint64_t> workers;
  std::vector<TaskId> placed;
  for (const Decision& decision : listener.of(DecisionKind::placement)) {
    EXPECT_EQ(decision.reason, Reason::least_cost);
    EXPECT_EQ(decision.among, trace::Among::workers);
    placed.push_back(*decision.task);
    workers.push_back(decision.candidates[*decision.winner].id);
    Times& of = times.emplace_back();
    for (const Candidate& on : decision.candidates) {
      EXPECT_EQ(value(on, Measure::run), 5000);
      for (const Measure part : {Measure::free_at, Measure::transfer, Measure::end}) {
        of.push_back(value(on, part));
      }
    }
  }
  EXPECT_EQ(placed, tasks);
  EXPECT_THAT(workers, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(times,
              ElementsAre(Times{0, 1000, 6000, 0, 1000, 6000}, Times{6000, 0, 11000, 0, 1000, 6000},
                          Times{6000, 0, 11000, 6000, 0, 11000},
                          Times{11000, 2000, 16000, 6000, 2000, 11000}));
}

// Worker 0 ends the writer, which releases a, b and c into its deque, and takes a. Worker 1 finds two with it, and
// takes the last, c. Then worker 0 takes b.
TEST(Decisions, OfLwsTellFromWhomATaskIsStolen) {
  Listener listener;
  ToldRun run(machine_of({.cores = 2}), "lws", &listener);
  const Codelet writer = codelet_of("writes", Time{1000}, Time{0});
  const Codelet reader = codelet_of("reads", Time{1000}, Time{0});
  const Handle datum = run.data(Bytes{100});
  run.submit({.codelet = &writer, .operands = {W(datum)}});
  const std::vector<TaskId> readers = submit_readers(run, reader, {datum, datum, datum});
  run.wait();
  const std::vector<Decision> thefts = listener.of(DecisionKind::theft);
  ASSERT_EQ(thefts.size(), 1U);
  EXPECT_EQ(thefts[0].worker, WorkerId{1});
  EXPECT_EQ(thefts[0].task, readers[2]);
  EXPECT_EQ(thefts[0].time, Time{1000});
  ASSERT_EQ(thefts[0].candidates.size(), 1U);
  EXPECT_EQ(thefts[0].candidates[0].id, 0U);
  EXPECT_THAT(thefts[0].candidates[0].scores,
              ElementsAre(trace::Score{Measure::distance, 1}, trace::Score{Measure::tasks, 2}));
  for (const Decision& decision : listener.of(DecisionKind::order)) {
    if (decision.reason != Reason::last_of_highest) continue;
    ASSERT_EQ(decision.candidates.size(), 2U);  // from the back
    EXPECT_EQ(decision.candidates[0].id, readers[2].value);
    EXPECT_EQ(decision.candidates[1].id, readers[1].value);
    EXPECT_EQ(decision.winner, 0U);
  }
}

// Two of the three data fit. What is read last comes when nothing else is submitted: b was used longer ago.
TEST(Decisions, OfMemoryTellWhoHadGoneUnusedForLongest) {
  Listener listener;
  ToldRun run(machine_of({.accelerators = 1, .memory = Bytes{8192}}), "eager", &listener);
  const Codelet codelet = codelet_of("reads", Time{0}, Time{5000});
  const Handle a = run.data(Bytes{4096});
  const Handle b = run.data(Bytes{4096});
  for (const Handle& handle : {b, a, run.data(Bytes{4000})}) {
    submit_readers(run, codelet, {handle});
    run.wait();
  }
  std::vector<Decision> victims;
  for (const Decision& decision : listener.heard()) {
    if (trace::entry(decision.reason).kind == DecisionKind::victim) victims.push_back(decision);
  }
  ASSERT_EQ(victims.size(), 1U);
  const Decision& decision = victims.front();
  EXPECT_EQ(decision.reason, Reason::unused_and_saved);
  EXPECT_EQ(decision.node, NodeId{1});
  EXPECT_EQ(decision.bytes, Bytes{4096});  // padded
  ASSERT_EQ(decision.candidates.size(), 2U);
  EXPECT_EQ(decision.candidates[*decision.winner].id, b.impl()->id.value);
}

// The first choice is by priority: the opener. Then two data are absent. x takes 1000 ns to load for two tasks of
// 2000 ns each, a quarter of their time; y takes as long for one, half of its time.
TEST(Decisions, OfDartsTellWhatEachAbsentDatumWouldSetFree) {
  Listener listener;
  ToldRun run(machine_of({.accelerators = 1}), "darts", &listener);
  const Codelet reader = codelet_of("reads", Time{0}, Time{2000});
  const Handle x = run.data(Bytes{1000});
  const Handle y = run.data(Bytes{1000});
  const std::vector<TaskId> tasks = submit_readers(run, reader, {run.data(Bytes{1000}), y, x, x});
  run.wait();
  const std::vector<Decision> plans = listener.of(DecisionKind::plan);
  ASSERT_GE(plans.size(), 2U);
  EXPECT_EQ(plans[0].reason, Reason::misses_fewest);
  EXPECT_EQ(plans[0].candidates[*plans[0].winner].id, tasks[0].value);
  const Decision& choice = plans[1];
  EXPECT_EQ(choice.reason, Reason::sets_most_free);
  EXPECT_EQ(choice.node, NodeId{1});
  ASSERT_EQ(choice.candidates.size(), 2U);
  const auto scores = [](const Candidate& c) {
    return std::vector{value(c, Measure::free_tasks), value(c, Measure::free_run),
                       value(c, Measure::transfer)};
  };
  EXPECT_EQ(choice.candidates[0].id, y.impl()->id.value);
  EXPECT_THAT(scores(choice.candidates[0]), ElementsAre(1, 2000, 1000));
  EXPECT_EQ(choice.candidates[1].id, x.impl()->id.value);
  EXPECT_THAT(scores(choice.candidates[1]), ElementsAre(2, 4000, 1000));
  EXPECT_EQ(choice.winner, 1U);
  std::vector<TaskId> set_free;
  for (const Decision& decision : listener.of(DecisionKind::placement)) {
    if (decision.reason != Reason::set_free || decision.handle != x.impl()->id) continue;
    set_free.push_back(*decision.task);
  }
  EXPECT_THAT(set_free, ElementsAre(tasks[3], tasks[2]));  // the newest first
}

}  // namespace
}  // namespace vicinal
