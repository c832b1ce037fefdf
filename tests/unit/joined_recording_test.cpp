// Recordings of several ranks, read as one.
#include "trace/joined_recording.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/critical_path.hpp"
#include "analysis/recorded_run.hpp"
#include "base/random.hpp"
#include "exporters/exporters.hpp"
#include "reports/explain.hpp"
#include "support/rank_recordings.hpp"
#include "support/temporary_folder.hpp"
#include "trace/decision_words.hpp"
#include "trace/open_runs.hpp"
#include "vicinal/error.hpp"

namespace vicinal::trace {
namespace {

using analysis::kNobody;
using analysis::kUnknown;
using analysis::MessageOfRun;
using analysis::RecordedRun;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using vicinal::testing::joined_of;
using vicinal::testing::RankBuilder;

template <typename Action>
std::string refusal_of(const Action& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

// --- clocks

TEST(ClockOfRank, GoesEvenlyFromOneComparisonToTheNextAndStaysOutside) {
  const ClockOfRank clock({{2000, 300, 7}, {1000, 100, 5}, {3000, 200, 6}});
  EXPECT_EQ(clock.offset_at(-50), 100);
  EXPECT_EQ(clock.offset_at(1000), 100);
  EXPECT_EQ(clock.offset_at(1250), 150);
  EXPECT_EQ(clock.offset_at(2000), 300);
  EXPECT_EQ(clock.offset_at(2750), 225);
  EXPECT_EQ(clock.offset_at(9000), 200);
  EXPECT_EQ(clock.error(), 7U);
  EXPECT_EQ(clock.first_offset(), 100);
  EXPECT_DOUBLE_EQ(clock.drift(), 100.0 / 2000 * 1e9);
}

TEST(ClockOfRank, KeepsTheBetterOfTwoComparisonsAtOneTimeAndKnowsNothingWithoutAny) {
  const ClockOfRank clock({{10, 500, 9}, {10, 300, 2}});
  EXPECT_EQ(clock.comparisons(), 1U);
  EXPECT_EQ(clock.offset_at(10), 300);
  EXPECT_EQ(ClockOfRank().offset_at(10), 0);
  EXPECT_EQ(ClockOfRank().drift(), 0);
}

TEST(ClockOfRank, TakesTheFarthestTimes) {
  constexpr std::int64_t kMost = ClockOfRank::kMost;
  const ClockOfRank clock({{-kMost, kMost, 0}, {kMost, -kMost, 0}});
  EXPECT_EQ(clock.offset_at(0), 0);
  EXPECT_EQ(clock.offset_at(kMost), -kMost);
}

// --- the events of all

TEST(JoinedRecording, GivesTheEventsOfAllRanksInTheOrderOfTheTimeOfRank0) {
  RankBuilder first(0, {.origin_ns = 1000});
  RankBuilder second(1, {.origin_ns = 50'000});
  second.compared(50'000, -48'900, 3);  // it began at 1100 of rank 0's clock
  first.builder.at(1050).add(Event::worker_slept, 0).at(1200).add(Event::worker_woke, 0);
  second.builder.at(50'020).add(Event::worker_slept, 1).at(50'200).add(Event::worker_woke, 1);
  const auto joined = joined_of({&second, &first});  // in any order
  std::vector<std::string> events;
  joined->each([&](const RecordedEvent& event) {
    if (event.event != Event::worker_slept && event.event != Event::worker_woke) return;
    events.push_back(fmt::format("{} rank {} worker {}", event.time, event.rank, event.first));
  });
  EXPECT_THAT(events, ElementsAre("50 rank 0 worker 0", "120 rank 1 worker 4",
                                  "200 rank 0 worker 0", "300 rank 1 worker 4"));
  EXPECT_EQ(name_of(*joined), "run.rank0.vtrace to run.rank1.vtrace");
}

TEST(JoinedRecording, BeginsWithTheEarliestOfAll) {
  RankBuilder first(0, {.origin_ns = 1000});
  RankBuilder second(1, {.origin_ns = 500});
  second.compared(500, 100, 3);
  first.builder.at(1050).add(Event::worker_slept, 0);
  const auto joined = joined_of({&first, &second});
  std::int64_t slept = -1;
  joined->each([&](const RecordedEvent& event) {
    if (event.event == Event::worker_slept) slept = event.time;
  });
  EXPECT_EQ(slept, 450);  // 1050 - 600
}

TEST(JoinedRecording, ARankWhoseClockWasNeverComparedBeginsWithRank0) {
  RankBuilder first(0, {.origin_ns = 1'000'000});
  RankBuilder second(1, {.origin_ns = 5});
  second.builder.at(25).add(Event::worker_slept, 0);
  const auto joined = joined_of({&first, &second});
  const RecordedRun run(*joined);
  ASSERT_EQ(run.sleeps.size(), 1U);
  EXPECT_EQ(run.sleeps[0].from, 20);
  EXPECT_EQ(run.ranks[1].comparisons, 0U);
}

// --- ids

TEST(JoinedRecording, KeepsTheTasksDataCopiesAndNamesOfRanksApart) {
  // The same ids everywhere, with high bits in use.
  constexpr std::uint64_t kTask = 0xffff'0000'0000'0001;
  constexpr std::uint64_t kHandle = 0x0fff'ffff'ffff'ffff;  // as many bits as an access has
  RankBuilder first(0, {});
  RankBuilder second(1, {});
  second.compared(0, 1000, 1);
  for (RankBuilder* const rank : {&first, &second}) {
    auto& builder = rank->builder;
    const std::uint32_t codelet = builder.name(rank == &first ? "gemm" : "trsm");
    builder.registered(kHandle, rank == &first ? "A" : "B", 8, 0);
    builder.at(10).submitted(kTask, codelet, {{kHandle, AccessMode::RW}});
    builder.submitted(2, codelet, {}).add(Event::task_after, 0, {2, kTask});
    builder.copied(kHandle, 0, 1, 8, 3, 20, 30);
    builder.ran(kTask, codelet, 2, 40, 50);
    builder.add_text(Event::region_began, rank->name, 0, {1});
    builder.at(60).add(Event::region_ended, 0, {1});
  }
  const auto joined = joined_of({&first, &second});
  const RecordedRun run(*joined);
  ASSERT_EQ(run.tasks.size(), 4U);
  EXPECT_EQ(run.name_of(0), "gemm 0");
  EXPECT_EQ(run.name_of(2), "trsm 2");
  EXPECT_EQ(run.tasks[0].worker, 2U);
  EXPECT_EQ(run.tasks[2].worker, 5U);
  EXPECT_EQ(run.tasks[2].started, 1040);
  ASSERT_EQ(run.data.size(), 2U);
  EXPECT_EQ(run.name_of_datum(run.accesses_of(run.tasks[2])[0].datum), "B");
  EXPECT_EQ(run.data[1].home, 2U);
  ASSERT_EQ(run.copies.size(), 2U);
  EXPECT_EQ(run.copies[1].from, 2U);
  EXPECT_EQ(run.copies[1].to, 3U);
  EXPECT_EQ(run.copies[1].datum, 1U);
  EXPECT_EQ(run.copies[1].ended, 1030);
  ASSERT_EQ(run.dependencies.size(), 2U);
  EXPECT_EQ(run.dependencies[1].before, 2U);
  ASSERT_EQ(run.marks.size(), 2U);
  EXPECT_EQ(run.marks[0].to, 60);
  EXPECT_EQ(run.marks[1].to, 1060);
  EXPECT_NE(run.marks[0].lane, run.marks[1].lane);
}

TEST(JoinedRecording, ShiftsWhatDecisionsSpeakOf) {
  RankBuilder first(0, {});
  RankBuilder second(1, {});
  Decision placement(Reason::least_cost, Among::workers, Time{5});
  placement.task = TaskId{7};
  placement.scores = {{Measure::priority, 1}};
  placement.consider({.id = 0, .scores = {{Measure::end, 10}}});
  placement.consider({.id = 2, .scores = {{Measure::end, 3}, {Measure::place, 2}}}, true);
  Decision order(Reason::first_pushed, Among::tasks, Time{6});
  order.worker = WorkerId{1};
  order.node = NodeId{1};
  order.consider({.id = 7, .scores = {}}, true);
  for (RankBuilder* const rank : {&first, &second}) {
    rank->builder.at(5).add(Event::task_ready, 0xffffffffU, {7});
    rank->builder.decided(placement).at(6).decided(order);
  }
  const auto joined = joined_of({&first, &second});
  const RecordedRun run(*joined);
  ASSERT_EQ(run.decisions.size(), 4U);
  const Decision& placed = run.decisions[1].decision;
  EXPECT_EQ(run.task_of(*placed.task), 1U);
  EXPECT_EQ(placed.candidates.at(0).id, 3U);
  EXPECT_EQ(placed.candidates.at(1).id, 5U);
  EXPECT_EQ(placed.candidates.at(1).score(Measure::end), 3);
  EXPECT_EQ(placed.handle, std::nullopt);
  const Decision& ordered = run.decisions[3].decision;
  EXPECT_EQ(ordered.worker, WorkerId{4});
  EXPECT_EQ(ordered.node, NodeId{3});
  EXPECT_EQ(run.task_of({ordered.candidates.at(0).id}), 1U);
  EXPECT_EQ(ordered.task, std::nullopt);
}

// --- the machine, and what is told

TEST(JoinedRecording, HasTheMachinesOfAllRanks) {
  RankBuilder first(0, {});
  RankBuilder second(1, {});
  const auto joined = joined_of({&first, &second});
  const RecordedRun run(*joined);
  const MachineDescription& machine = run.facts.machine;
  ASSERT_EQ(machine.nodes.size(), 4U);
  EXPECT_EQ(run.name_of_node(0), "rank 0: ram");
  EXPECT_EQ(run.name_of_node(3), "rank 1: gpu0");
  EXPECT_EQ(run.name_of_worker(1), "rank 0: core 1");
  EXPECT_EQ(run.name_of_worker(3), "rank 1: core 0");
  EXPECT_EQ(run.name_of_worker(5), "rank 1: gpu0");
  EXPECT_EQ(machine.workers[5].node, NodeId{3});
  ASSERT_EQ(machine.links.size(), 2U);
  EXPECT_EQ(machine.links[1].from, NodeId{2});
  EXPECT_EQ(machine.links[1].to, NodeId{3});
  EXPECT_THAT(machine.links[1].segments, ElementsAre(1U));
  EXPECT_THAT(machine.links[1].serialised, ElementsAre(1U));
  ASSERT_EQ(machine.segments.size(), 2U);
  EXPECT_EQ(machine.segments[1].name, "rank 1: bus");
  EXPECT_EQ(run.facts.policy, "eager");
  EXPECT_EQ(run.rank_of_node(1), 0U);
  EXPECT_EQ(run.rank_of_node(2), 1U);
  EXPECT_EQ(run.rank_of_worker(6), kNobody);
}

TEST(JoinedRecording, SaysOnceWhatAllRanksSayAndTellsTheRestApart) {
  RankBuilder first(0, {});
  RankBuilder second(1, {});
  first.builder.fact("parameter.tiles", "4").fact("result.seconds", "1.5");
  second.builder.fact("parameter.tiles", "4").fact("result.seconds", "1.6");
  const auto joined = joined_of({&first, &second});
  EXPECT_THAT(RecordedRun(*joined).facts.told,
              UnorderedElementsAre(Pair("parameter.tiles", "4"), Pair("result.seconds", "1.5"),
                                   Pair("rank 1: result.seconds", "1.6")));
}

TEST(JoinedRecording, IsAsCompleteAsItsLeastCompleteFile) {
  RankBuilder first(0, {});
  RankBuilder second(1, {});
  second.builder.add(Event::events_lost, 3).at(80).add(Event::worker_slept, 0);
  std::vector<RankRecording> files;
  files.push_back(first.recording());
  files.push_back(second.recording(false));
  const JoinedRecording joined(std::move(files));
  EXPECT_FALSE(joined.is_complete());
  EXPECT_EQ(joined.events_lost(), 3U);
  const RecordedRun run(joined);
  EXPECT_FALSE(run.complete);
  EXPECT_EQ(run.end, 80);
  EXPECT_EQ(joined.bytes(), first.builder.bytes().size() + second.builder.bytes(false).size());
}

// --- messages

TEST(JoinedRecording, PutsTheTwoEndsOfAMessageTogether) {
  RankBuilder first(0, {});
  RankBuilder second(1, {});
  second.compared(0, 100, 2);
  first.builder.registered(5, "A of 0", 64);
  second.builder.registered(9, "A of 1", 64);
  first.sent({.other = 1, .handle = 5, .datum = 77, .number = 1, .bytes = 64}, 200, 260);
  second.received({.other = 0, .handle = 9, .datum = 77, .number = 1, .bytes = 64}, 50, 170);
  second.sent({.other = 0, .handle = 9, .datum = 77, .number = 1, .bytes = 64}, 300, 310);
  first.sent({.other = 1, .handle = 5, .datum = 77, .number = 2, .bytes = 64}, 500, 520);
  const auto joined = joined_of({&first, &second});
  const RecordedRun run(*joined);
  ASSERT_EQ(run.messages.size(), 3U);
  const MessageOfRun& there = run.messages[0];
  EXPECT_EQ(there.from, 0U);
  EXPECT_EQ(there.to, 1U);
  EXPECT_EQ(run.name_of_datum(there.sent), "A of 0");
  EXPECT_EQ(run.name_of_datum(there.received), "A of 1");
  EXPECT_EQ(there.bytes, 64U);
  EXPECT_THAT((std::array{there.departs, there.left, there.expected, there.arrived}),
              ElementsAre(200, 260, 150, 270));
  EXPECT_EQ(run.messages[1].from, 1U);
  EXPECT_EQ(run.messages[1].arrived, kUnknown);
  EXPECT_EQ(run.messages[2].departs, 500);
}

TEST(JoinedRecording, KnowsTasksThatSendAndReceive) {
  RankBuilder first(0, {});
  RankBuilder second(1, {});
  first.builder.submitted(1, first.builder.name("send"), {{5, AccessMode::R}}, 0, 6);
  second.builder.submitted(1, second.builder.name("receive"), {{5, AccessMode::W}}, 0, 7);
  const auto joined = joined_of({&first, &second});
  const RecordedRun run(*joined);
  ASSERT_EQ(run.tasks.size(), 2U);
  EXPECT_EQ(run.tasks[0].kind, analysis::KindOfTask::send);
  EXPECT_EQ(run.tasks[1].kind, analysis::KindOfTask::receive);
}

TEST(JoinedRecording, TheCriticalPathGoesThroughMessages) {
  RankBuilder first(0, {});
  RankBuilder second(1, {});
  second.compared(0, 0, 1);
  const std::uint32_t made = first.builder.name("make");
  const std::uint32_t used = second.builder.name("use");
  first.builder.registered(5, "A", 64).submitted(1, made, {{5, AccessMode::W}});
  second.builder.registered(9, "A", 64).submitted(1, used, {{9, AccessMode::R}});
  first.builder.at(8).add(Event::task_ready, 0xffffffffU, {1}).ran(1, made, 0, 10, 100);
  first.sent({.other = 1, .handle = 5, .datum = 77, .number = 1, .bytes = 64}, 110, 290);
  second.received({.other = 0, .handle = 9, .datum = 77, .number = 1, .bytes = 64}, 5, 300);
  second.builder.at(304).add(Event::task_ready, 0xffffffffU, {1}).ran(1, used, 0, 310, 400);
  const auto joined = joined_of({&first, &second});
  const RecordedRun run(*joined);
  const analysis::CriticalPath path = analysis::critical_path(run, analysis::predecessors(run));
  using analysis::PathCause;
  EXPECT_EQ(path.length(), 400);
  EXPECT_EQ(path.of(PathCause::run), 90 + 90);
  EXPECT_EQ(path.of(PathCause::message), 300 - 100);
  EXPECT_EQ(path.of(PathCause::release), 4 + 8);  // of each from its submission, or the arrival
}

// Rank 1 passes on what rank 0 has made, before all of it has come.
TEST(JoinedRecording, TheCriticalPathGoesToTheMakerOfWhatARankPassesOn) {
  RankBuilder first(0, {.ranks = 3});
  RankBuilder second(1, {.ranks = 3});
  RankBuilder third(2, {.ranks = 3});
  second.compared(0, 0, 1);
  third.compared(0, 0, 1);
  const std::uint32_t made = first.builder.name("make");
  const std::uint32_t used = third.builder.name("use");
  first.builder.registered(5, "A", 64).submitted(1, made, {{5, AccessMode::W}});
  second.builder.registered(7, "A", 64);
  third.builder.registered(9, "A", 64).submitted(1, used, {{9, AccessMode::R}});
  first.builder.at(8).add(Event::task_ready, 0xffffffffU, {1}).ran(1, made, 0, 10, 100);
  first.sent({.other = 1, .handle = 5, .datum = 77, .number = 1, .bytes = 64}, 110, 290);
  second.received({.other = 0, .handle = 7, .datum = 77, .number = 1, .bytes = 64}, 5, 300);
  second.builder.lane(1);
  second.sent({.other = 2, .handle = 7, .datum = 77, .number = 1, .bytes = 64}, 150, 390);
  third.received({.other = 1, .handle = 9, .datum = 77, .number = 1, .bytes = 64}, 5, 400);
  third.builder.at(400).add(Event::task_ready, 0xffffffffU, {1}).ran(1, used, 0, 410, 500);
  const auto joined = joined_of({&first, &second, &third});
  const RecordedRun run(*joined);
  const analysis::CriticalPath path = analysis::critical_path(run, analysis::predecessors(run));
  using analysis::PathCause;
  EXPECT_EQ(path.of(PathCause::run), 90 + 90);
  EXPECT_EQ(path.of(PathCause::message), 400 - 100);
  EXPECT_EQ(path.of(PathCause::submission), 0);
}

TEST(JoinedRecording, NoMessageEndsBeforeItBeganByMoreThanTheErrorsOfBothClocks) {
  constexpr std::uint64_t kSeed = 35;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  base::Random random(kSeed);
  const auto below = [&random](std::int64_t bound) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
  };
  constexpr std::uint32_t kRanks = 4;
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kLength = 20 * kSecond;
  for (int run_number = 0; run_number < 8; ++run_number) {
    // Of each clock: the time at the zero of rank 0, and the gain in ns per second.
    std::array<std::int64_t, kRanks> begin{};
    std::array<std::int64_t, kRanks> gain{};
    std::vector<std::unique_ptr<RankBuilder>> ranks;
    const auto local = [&](std::uint32_t rank, std::int64_t time) {
      return begin[rank] + time + time / 1000 * gain[rank] / (kSecond / 1000);
    };
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      if (rank > 0) {
        begin[rank] = below(1000 * kSecond) - 500 * kSecond;
        gain[rank] = below(200'000) - 100'000;  // up to 100 ppm
      }
      ranks.push_back(std::make_unique<RankBuilder>(
          rank, RankBuilder::Setup{.ranks = kRanks, .origin_ns = local(rank, 0)}));
      for (std::int64_t at = 0; rank > 0 && at <= kLength; at += kSecond) {
        const std::int64_t error = 500 + below(20'000);
        const std::int64_t wrong = below(2 * error + 1) - error;
        ranks[rank]->compared(local(rank, at), at - local(rank, at) + wrong,
                              static_cast<std::uint64_t>(error));
      }
    }
    // By rank, in the order of time.
    struct End {
      std::int64_t time = 0;
      bool begins = false;
      std::uint64_t direction = 0;
      std::uint32_t other = 0;
      std::uint64_t number = 0;
    };
    std::array<std::vector<End>, kRanks> ends;
    constexpr std::uint64_t kMessages = 300;
    for (std::uint64_t m = 1; m <= kMessages; ++m) {
      const auto from = static_cast<std::uint32_t>(below(kRanks));
      const auto to = static_cast<std::uint32_t>((from + 1 + below(kRanks - 1)) % kRanks);
      const std::int64_t departs = below(kLength - kSecond);
      const std::int64_t arrived = departs + 1 + below(3000);
      ends[from].push_back({departs, true, 0, to, m});
      ends[to].push_back({arrived, false, 1, from, m});
    }
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      std::ranges::stable_sort(ends[rank], {}, &End::time);
      for (const End& end : ends[rank]) {
        std::vector<std::uint64_t> words{1, end.direction, 1, end.number};
        if (end.begins) words.push_back(8);
        ranks[rank]
            ->builder.at(local(rank, end.time))
            .add(end.begins ? Event::message_began : Event::message_ended, end.other, words);
      }
    }
    const auto joined = joined_of({ranks[3].get(), ranks[1].get(), ranks[0].get(), ranks[2].get()});
    const RecordedRun run(*joined, false);
    ASSERT_EQ(run.messages.size(), kMessages);
    for (const MessageOfRun& message : run.messages) {
      const auto error = static_cast<std::int64_t>(run.ranks[message.from].error_ns +
                                                   run.ranks[message.to].error_ns);
      constexpr std::int64_t kRounding = 4;
      ASSERT_GE(message.arrived, message.departs - error - kRounding);
      ASSERT_LE(message.arrived, message.departs + 3000 + error + kRounding);
    }
    // As far as errors of comparisons allow.
    EXPECT_NEAR(run.ranks[1].drift, -static_cast<double>(gain[1]), 4000);
  }
}

// --- what is refused

std::string refusal_of_ranks(const std::vector<RankBuilder*>& ranks) {
  return refusal_of([&] { joined_of(ranks); });
}

TEST(JoinedRecording, RefusesFilesThatAreNotAllRanksOfOneRun) {
  RankBuilder first(0, {});
  RankBuilder second(1, {});
  RankBuilder other_run(1, {.key = 7});
  RankBuilder more_ranks(1, {.ranks = 3});
  RankBuilder alone(1, {.says_its_rank = false});
  RankBuilder impossible(2, {});
  const auto one_line = Not(HasSubstr("\n"));
  EXPECT_THAT(refusal_of_ranks({&first, &other_run}),
              AllOf(HasSubstr("run.rank1.vtrace: the recording is of another run than "
                              "run.rank0.vtrace; give"),
                    one_line));
  EXPECT_THAT(refusal_of_ranks({&first, &more_ranks}), HasSubstr("of another run"));
  EXPECT_THAT(refusal_of_ranks({&first, &second, &second}),
              AllOf(HasSubstr("run.rank1.vtrace: the recording is of rank 1, as"), one_line));
  EXPECT_THAT(refusal_of_ranks({&second}),
              AllOf(HasSubstr("run.rank1.vtrace: its run has 2 ranks, and the recording of rank 0 "
                              "is not there; give those of all"),
                    one_line));
  EXPECT_THAT(refusal_of_ranks({&first}), HasSubstr("rank 1 is not there"));
  EXPECT_THAT(refusal_of_ranks({&first, &alone}),
              AllOf(HasSubstr("run.rank1.vtrace: the recording does not say that it is of one of "
                              "several ranks; give"),
                    one_line));
  EXPECT_THAT(refusal_of_ranks({&first, &impossible}), HasSubstr("which cannot be"));
}

TEST(JoinedRecording, RefusesWhatItsMachinesDoNotHave) {
  RankBuilder first(0, {});
  for (const char* run : {R"({})", R"({"machine": 3})", R"({"machine": {"nodes": []}})",
                          R"({"machine": {"nodes": {}}})", R"({"machine": {"nodes": [7]}})",
                          R"({"machine": {"nodes": [{}], "workers": [{"node": 1}]}})",
                          R"({"machine": {"nodes": [{}], "links": [{"from": -1}]}})",
                          R"({"machine": {"nodes": [{}], "links": [{"serialised": [1]}]}})",
                          R"({"machine": {"nodes": [{}], "links": [{"segments": 3}]}})"}) {
    RankBuilder second(1, {.run = run});
    EXPECT_THAT(refusal_of_ranks({&first, &second}),
                HasSubstr("run.rank1.vtrace: what the head says of the run is not as it should"))
        << run;
  }
  RankBuilder second(1, {});
  second.builder.at(5).add(Event::worker_slept, 3);  // it would be one of another rank
  const auto joined = joined_of({&first, &second});
  EXPECT_THAT(refusal_of([&] { const RecordedRun run(*joined); }),
              HasSubstr("run.rank1.vtrace: the events of the recording contradict each other: the "
                        "machine has no worker 3"));
}

TEST(JoinedRecording, RefusesTimesAndRanksThatCannotBe) {
  RankBuilder first(0, {});
  RankBuilder second(1, {});
  second.compared(5, std::int64_t{1} << 61, 1);
  EXPECT_THAT(refusal_of_ranks({&first, &second}), HasSubstr("a time that cannot be"));
  RankBuilder late(1, {.origin_ns = (std::int64_t{1} << 61)});
  EXPECT_THAT(refusal_of_ranks({&first, &late}), HasSubstr("began at a time that cannot be"));
  RankBuilder third(1, {});
  third.sent({.other = 9, .handle = 1, .datum = 1}, 5, 6);
  const auto joined = joined_of({&first, &third});
  EXPECT_THAT(refusal_of([&] { const RecordedRun run(*joined); }), HasSubstr("no rank 9"));
}

// --- files that a command is given

struct RankFiles : ::testing::Test {
  std::string write(const std::string& name, RankBuilder& rank) {
    rank.builder.write(folder.file(name));
    return folder.file(name);
  }
  vicinal::testing::TemporaryFolder folder;
};

TEST_F(RankFiles, AreOneRunWithOneKeyAndComparedWithout) {
  RankBuilder first(0, {});
  RankBuilder second(1, {});
  RankBuilder other_first(0, {.key = 9});
  RankBuilder other_second(1, {.key = 9});
  RankBuilder alone(0, {.says_its_rank = false});
  const std::string a = write("a", first);
  const std::string b = write("b", second);
  const std::string c = write("c", other_first);
  const std::string d = write("d", other_second);
  const std::string e = write("e", alone);
  const auto count = [](const std::vector<std::string>& files, std::size_t most) {
    return open_runs(files, most).size();
  };
  EXPECT_EQ(count({a}, 1), 1U);
  EXPECT_EQ(count({a, b}, 1), 1U);
  EXPECT_EQ(count({b, a}, 2), 1U);
  EXPECT_EQ(count({a, c}, 2), 2U);  // rank 0 of two runs
  EXPECT_EQ(count({e, e}, 2), 2U);
  EXPECT_EQ(count({e, a}, 2), 2U);
  EXPECT_EQ(count({}, 2), 0U);
  EXPECT_THAT(refusal_of([&] { count({a, d}, 2); }), HasSubstr("another run"));
  EXPECT_THAT(refusal_of([&] { count({e, e}, 1); }), HasSubstr("give one recording"));
  EXPECT_THAT(refusal_of([&] { count({a, b, c}, 2); }), HasSubstr("another run"));
}

TEST_F(RankFiles, AreExplainedAndExported) {
  RankBuilder first(0, {});
  RankBuilder second(1, {});
  second.compared(0, -2'000'000, 1500).compared(1'000'000'000, -1'999'000, 800);
  second.at(0).compared(0, -2'000'000, 1500);
  first.builder.ran(3, first.builder.name("gemm"), 0, 10, 100);
  first.sent({.other = 1, .handle = 5, .datum = 77, .number = 1, .bytes = 2048}, 200, 260);
  second.received({.other = 0, .handle = 9, .datum = 77, .number = 1, .bytes = 2048}, 2'000'050,
                  2'000'300);
  second.builder.ran(3, second.builder.name("gemm"), 0, 2'000'400, 2'000'900);
  const std::vector<std::string> files{write("a", first), write("b", second)};
  const reports::Explanation explanation = reports::explain(files, {}, true);
  EXPECT_THAT(explanation.text,
              AllOf(HasSubstr("rank 0: its clock is that of the run; sent 1 message, 2 KiB"),
                    HasSubstr("rank 1: its clock is 2 ms before that of rank 0, drifts by "
                              "+1.000 ppm, and is wrong by 1.5 us at most; sent 0 messages"),
                    HasSubstr("Between them went 1 message, 2 KiB.")));
  EXPECT_THAT(explanation.json, HasSubstr("\"clock_offset_ns\": -2000000"));
  EXPECT_THAT(reports::explain(std::span(files).first(1), {}, false).text,
              HasSubstr("that of rank 0 of 2 alone"));
  const exporters::RecordedFile recorded(files);
  std::string trace;
  exporters::write_perfetto(recorded.recording(), [&](std::string_view piece) { trace += piece; });
  EXPECT_THAT(trace, AllOf(HasSubstr("rank 1"), HasSubstr("messages"), HasSubstr("received")));
}

}  // namespace
}  // namespace vicinal::trace
