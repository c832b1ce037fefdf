#include "analysis/recorded_run.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/recording_builder.hpp"
#include "trace/reader.hpp"
#include "vicinal/error.hpp"

namespace vicinal::analysis {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using trace::Event;
using vicinal::testing::RecordingBuilder;

constexpr std::uint32_t kNone = 0xffffffffU;  // no worker, no node

RecordedRun run_of(RecordingBuilder& recording, bool with_decisions = true) {
  return RecordedRun(trace::Reader(recording.bytes(), "run.vtrace"), with_decisions);
}

std::string refusal(RecordingBuilder& recording) {
  try {
    run_of(recording);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

// RAM with two cores; an accelerator with one worker, one with two.
constexpr const char* kRun = R"({
  "command": "vicinal run", "application": "cholesky", "version": "0.1.0", "policy": "darts",
  "simulated": true, "options": {"look_ahead": "2"},
  "machine": {
    "nodes": [{"name": "ram", "kind": "ram", "limit": 4096},
              {"name": "gpu0", "kind": "device", "limit": null},
              {"name": "gpu1", "kind": "device"}],
    "workers": [{"kind": "gpu", "node": 1}, {"kind": "cpu", "node": 0}, {"kind": "gpu", "node": 2},
                {"kind": "cpu", "node": 0}, {"kind": "gpu", "node": 2}],
    "links": [{"from": 0, "to": 1, "bandwidth": 1.2e10, "latency_ns": 5000}]}})";

RecordingBuilder described() {
  return RecordingBuilder({.run = kRun});
}

// --- what the head says

TEST(RecordedRun, KnowsWhatRanAndOnWhichMachine) {
  RecordingBuilder recording = described();
  const RecordedRun run = run_of(recording);
  EXPECT_EQ(run.facts.command, "vicinal run");
  EXPECT_EQ(run.facts.policy, "darts");
  EXPECT_TRUE(run.facts.simulated);
  EXPECT_THAT(run.facts.options, ElementsAre(Pair("look_ahead", "2")));
  ASSERT_EQ(run.facts.machine.nodes.size(), 3U);
  EXPECT_EQ(run.facts.machine.nodes[0].limit, Bytes{4096});
  EXPECT_EQ(run.facts.machine.nodes[1].limit, std::nullopt);
  EXPECT_EQ(run.facts.machine.nodes[2].id, NodeId{2});
  EXPECT_EQ(run.facts.machine.links.at(0).bandwidth.value, 1.2e10);
  EXPECT_EQ(run.facts.machine.links.at(0).latency, Time{5000});
}

TEST(RecordedRun, NamesWorkersAfterTheirKindAndTheirDevice) {
  RecordingBuilder recording = described();
  const RecordedRun run = run_of(recording);
  EXPECT_EQ(run.name_of_worker(0), "gpu0");
  EXPECT_EQ(run.name_of_worker(1), "core 0");  // cores are counted among themselves
  EXPECT_EQ(run.name_of_worker(2), "gpu1.0");
  EXPECT_EQ(run.name_of_worker(3), "core 1");
  EXPECT_EQ(run.name_of_worker(4), "gpu1.1");
  EXPECT_EQ(run.name_of_worker(kNobody), "the application");
  EXPECT_EQ(run.name_of_node(1), "gpu0");
}

TEST(RecordedRun, KeepsTheLastOfWhatWasToldUnderEachName) {
  RecordingBuilder recording;
  recording.fact("bound.work_seconds", "1.5").fact("gflops", "12").fact("gflops", "13");
  recording.fact("application", "cholesky").fact("empty", "");
  const RecordedRun run = run_of(recording);
  EXPECT_THAT(run.facts.told, ElementsAre(Pair("bound.work_seconds", "1.5"), Pair("gflops", "13"),
                                          Pair("application", "cholesky"), Pair("empty", "")));
  EXPECT_EQ(run.facts.application, "cholesky");
}

TEST(RecordedRun, RefusesFactsThatAreNotAsTheyShouldBe) {
  for (const char* run :
       {R"({"command": 3})", R"({"options": []})", R"({"machine": {"nodes": [{"kind": "attic"}]}})",
        R"({"machine": {"workers": [{"kind": "cpu", "node": 0}]}})",
        R"({"machine": {"nodes": [{"kind": "ram", "limit": -1}]}})",
        R"({"machine": {"nodes": 7}})"}) {
    RecordingBuilder recording({.run = run});
    EXPECT_THAT(refusal(recording), AllOf(HasSubstr("run.vtrace: what the head says of the run")));
  }
}

// --- tasks

TEST(RecordedRun, PutsATaskTogetherFromAllThatIsSaidOfIt) {
  RecordingBuilder recording = described();
  const std::uint32_t gemm = recording.name("gemm");
  recording.registered(5, "A(0,0)", 800, 0);
  recording.at(10).submitted(70, gemm, {{5, AccessMode::RW}, {6, AccessMode::R}}, -3);
  recording.add_text(Event::task_named, "gemm(0,0)", 0, {70});
  recording.at(20).add(Event::task_ready, 1, {70});
  recording.at(30).add(Event::task_scheduled, 3, {70});
  recording.at(40).add(Event::operands_wanted, 0, {70});
  recording.at(50).add(Event::room_granted, 0, {70});
  recording.at(60).add(Event::operands_ready, 0, {70, 0});
  recording.at(70).add(Event::task_started, 3, {70, gemm});
  recording.at(90).add(Event::task_ended, 3, {70, 1, 0});
  const RecordedRun run = run_of(recording);
  ASSERT_EQ(run.tasks.size(), 1U);
  const TaskOfRun& task = run.tasks[0];
  EXPECT_EQ(task.id, 70U);
  EXPECT_EQ(run.names.at(task.name), "gemm");
  EXPECT_EQ(run.name_of(0), "gemm(0,0)");
  EXPECT_EQ(task.priority, -3);
  EXPECT_EQ(task.kind, KindOfTask::compute);
  EXPECT_EQ(task.outcome, Outcome::failed);
  EXPECT_EQ(task.worker, 3U);
  EXPECT_EQ(task.releasing, 1U);
  EXPECT_THAT((std::vector{task.submitted, task.ready, task.scheduled, task.wanted, task.granted,
                           task.operands, task.started, task.ended}),
              ElementsAre(10, 20, 30, 40, 50, 60, 70, 90));
  EXPECT_FALSE(task.moved);
  ASSERT_EQ(run.accesses_of(task).size(), 2U);
  EXPECT_EQ(run.name_of_datum(run.accesses_of(task)[0].datum), "A(0,0)");
  EXPECT_EQ(run.accesses_of(task)[0].mode, AccessMode::RW);
  EXPECT_EQ(run.name_of_datum(run.accesses_of(task)[1].datum), "datum 1");  // never registered
  EXPECT_EQ(run.end, 90);
  EXPECT_TRUE(run.complete);
}

TEST(RecordedRun, CountsTasksInTheOrderOfTheirStartWhereNoSubmissionIsRecorded) {
  RecordingBuilder recording;
  const std::uint32_t a = recording.name("a");
  recording.at(1).add(Event::task_ready, kNone, {31}).add(Event::task_ready, kNone, {32});
  recording.lane(1).ran(32, a, 0, 10, 40);
  recording.lane(2).ran(31, a, 1, 20, 30);
  const RecordedRun run = run_of(recording);
  ASSERT_EQ(run.tasks.size(), 2U);
  EXPECT_EQ(run.tasks[0].id, 32U);
  EXPECT_EQ(run.tasks[1].id, 31U);
  EXPECT_EQ(run.task_of(TaskId{31}), 1U);
  EXPECT_EQ(run.task_of(TaskId{99}), kNobody);
}

TEST(RecordedRun, CountsTasksSubmittedBeforeTheRecordingBeforeTheOthers) {
  RecordingBuilder recording;
  const std::uint32_t a = recording.name("a");
  recording.at(5).submitted(1, a, {}).submitted(2, a, {});
  recording.add(Event::task_after, 0, {2, 77});   // submitted before, and seen later
  recording.add(Event::task_after, 0, {2, 999});  // ended before: not known
  recording.add(Event::task_after, 0, {1, 2});    // backwards: cannot be
  recording.ran(77, a, 0, 10, 20).ran(1, a, 0, 20, 30);
  const RecordedRun run = run_of(recording);
  ASSERT_EQ(run.tasks.size(), 3U);
  EXPECT_EQ(run.tasks[0].id, 77U);
  EXPECT_EQ(run.tasks[1].id, 1U);
  EXPECT_EQ(run.tasks[2].id, 2U);
  ASSERT_EQ(run.dependencies.size(), 1U);
  EXPECT_EQ(run.dependencies[0].before, 0U);
  EXPECT_EQ(run.dependencies[0].task, 2U);
}

TEST(RecordedRun, TakesEndsWithoutStarts) {
  RecordingBuilder recording;
  recording.at(5).submitted(1, recording.name("acquire"), {{4, AccessMode::R}}, 0, 1);
  recording.at(9).add(Event::task_ended, kNone, {1, 0, 0});
  recording.at(12).add(Event::task_ended, 2, {50, 2, 0});  // began before the recording
  recording.at(13).add(Event::copy_ended, 1, {3, 0});
  const RecordedRun run = run_of(recording);
  ASSERT_EQ(run.tasks.size(), 2U);
  EXPECT_EQ(run.tasks[1].kind, KindOfTask::acquisition);
  EXPECT_EQ(run.tasks[1].ended, 9);
  EXPECT_EQ(run.tasks[1].worker, kNobody);
  EXPECT_FALSE(run.tasks[1].ran());
  EXPECT_EQ(run.tasks[0].outcome, Outcome::cancelled);
  EXPECT_EQ(run.tasks[0].worker, 2U);
  EXPECT_EQ(run.name_of(0), "task 0");  // nothing says its name
  EXPECT_THAT(run.copies, IsEmpty());
}

TEST(RecordedRun, BeginsATaskWhenItsDeviceDoes) {
  RecordingBuilder recording = described();
  const std::uint32_t a = recording.name("a");
  // Worker 0 is an accelerator, 1 a core. Put there at 10, ended at 100 after 30 ns: it began at 70.
  recording.at(10).add(Event::task_started, 0, {1, a}).add(Event::task_started, 1, {2, a});
  recording.at(100).add(Event::task_ended, 0, {1, 0, 30}).add(Event::task_ended, 1, {2, 0, 30});
  const RecordedRun run = run_of(recording);
  EXPECT_EQ(run.tasks.at(run.task_of(TaskId{1})).started, 70);
  EXPECT_EQ(run.tasks.at(run.task_of(TaskId{2})).started, 10);
}

TEST(RecordedRun, ForgetsWhatAMovedTaskHadOnItsFormerNode) {
  RecordingBuilder recording;
  recording.at(1).add(Event::operands_wanted, 1, {7}).at(2).add(Event::room_granted, 1, {7});
  recording.at(3).add(Event::task_moved, 2, {7}).at(4).add(Event::operands_wanted, 2, {7});
  recording.at(5).add(Event::operands_ready, 2, {7, 1});  // failed: they are not there
  const RecordedRun run = run_of(recording);
  EXPECT_TRUE(run.tasks.at(0).moved);
  EXPECT_EQ(run.tasks[0].wanted, 4);
  EXPECT_EQ(run.tasks[0].granted, kUnknown);
  EXPECT_EQ(run.tasks[0].operands, kUnknown);
}

TEST(RecordedRun, GivesATextOnePlaceWhicheverThreadsNumberIt) {
  RecordingBuilder recording;
  const std::uint32_t first = recording.lane(1).name("gemm");
  const std::uint32_t second = recording.lane(2).name("gemm");
  const std::uint32_t other = recording.lane(2).name("trsm");
  recording.lane(1).ran(1, first, 0, 10, 20);
  recording.lane(2).ran(2, second, 1, 11, 20).ran(3, other, 1, 30, 40).ran(4, 777, 1, 50, 60);
  const RecordedRun run = run_of(recording);
  ASSERT_EQ(run.tasks.size(), 4U);
  EXPECT_EQ(run.tasks[0].name, run.tasks[1].name);
  EXPECT_EQ(run.name_of(2), "trsm 2");
  EXPECT_EQ(run.name_of(3), "task 3");
}

TEST(RecordedRun, FindsTasksAndDataByNumberAndByName) {
  RecordingBuilder recording;
  const std::uint32_t gemm = recording.name("gemm");
  recording.registered(8, "A(3,4)", 1).registered(9, "", 1);
  recording.submitted(1, gemm, {}).submitted(2, gemm, {}).submitted(3, recording.name("trsm"), {});
  recording.add_text(Event::task_named, "trsm of mine", 0, {3});
  const RecordedRun run = run_of(recording);
  EXPECT_EQ(run.find_task("1"), 1U);
  EXPECT_EQ(run.find_task("gemm 1"), 1U);
  EXPECT_EQ(run.find_task("gemm"), 0U);
  EXPECT_EQ(run.find_task("trsm of mine"), 2U);
  EXPECT_EQ(run.find_task("trsm 2"), kNobody);  // not what it is called
  EXPECT_EQ(run.find_task("3"), kNobody);
  EXPECT_EQ(run.find_task(""), kNobody);
  EXPECT_EQ(run.find_datum("A(3,4)"), 0U);
  EXPECT_EQ(run.find_datum("1"), 1U);
  EXPECT_EQ(run.find_datum("datum 1"), 1U);
  EXPECT_EQ(run.find_datum("datum 0"), kNobody);
  EXPECT_EQ(run.datum_of(HandleId{9}), 1U);
}

TEST(RecordedRun, ReplacesWhatIsNoText) {
  RecordingBuilder recording;
  recording.registered(8, "A\xff", 1).registered(9, "\xc3\xa4", 1);
  const RecordedRun run = run_of(recording);
  EXPECT_EQ(run.data.at(0).name, "A\xef\xbf\xbd");  // U+FFFD
  EXPECT_EQ(run.data.at(1).name, "\xc3\xa4");
}

// A recording of somebody else's program: what is printed of it may not move a terminal, nor forge a line.
TEST(RecordedRun, HasNamesThatATerminalMayBeShown) {
  const std::string bad = "\xef\xbf\xbd";
  RecordingBuilder recording;
  recording.registered(8, "\x1b]0;title\x07", 1)
      .registered(9, "a\nvicinal: all is well\xc2\x9b", 1);
  const RecordedRun run = run_of(recording);
  EXPECT_EQ(run.data.at(0).name, bad + "]0;title" + bad);
  EXPECT_EQ(run.data.at(1).name, "a" + bad + "vicinal: all is well" + bad);
}

TEST(RecordedRun, TakesTasksOnAQueueOneAfterTheOther) {
  RecordingBuilder recording = described();
  const std::uint32_t a = recording.name("a");
  recording.at(10).submitted(1, a, {}).submitted(2, a, {}).submitted(3, a, {});
  recording.at(11).add(Event::task_started, 0, {1, a}).add(Event::task_started, 0, {2, a});
  recording.at(50).add(Event::task_ended, 0, {1, 0, 0});
  recording.at(60).add(Event::task_ended, 0, {2, 0, 0});
  recording.ran(3, a, 0, 70, 80);
  const RecordedRun run = run_of(recording);
  EXPECT_EQ(run.tasks.at(0).started, 11);
  EXPECT_EQ(run.tasks.at(1).started, 50);  // put there at 11, behind the first
  EXPECT_EQ(run.tasks.at(2).started, 70);
}

// --- data, copies, room

TEST(RecordedRun, KnowsWhichDataArePartsOfOthers) {
  RecordingBuilder recording;
  recording.registered(5, "part", 10, kNone, 4).registered(4, "whole", 20, 0);
  const RecordedRun run = run_of(recording);
  const std::uint32_t part = run.datum_of(HandleId{5});
  const std::uint32_t whole = run.datum_of(HandleId{4});
  EXPECT_EQ(run.data[part].part_of, whole);
  EXPECT_EQ(run.data[part].home, kNobody);
  EXPECT_EQ(run.data[whole].part_of, kNobody);
  EXPECT_EQ(run.data[whole].home, 0U);
  EXPECT_EQ(run.data[whole].bytes, 20U);
}

TEST(RecordedRun, PutsACopyTogetherFromItsRequestToItsEnd) {
  RecordingBuilder recording;
  recording.at(10).add(Event::copy_wanted, 1, {5, 0});
  recording.at(12).add(Event::copy_wanted, 2, {5, 1});   // to another node: it never begins
  recording.copied(5, 0, 1, 4096, 77, 20, 30, 1, true);  // as the one of 10
  recording.copied(5, 0, 1, 4096, 77, 40, 50, 0,
                   false);  // its number again; nothing says when it was wanted
  const RecordedRun run = run_of(recording);
  ASSERT_EQ(run.copies.size(), 3U);
  EXPECT_EQ(run.copies[0].wanted, 10);
  EXPECT_EQ(run.copies[0].started, 20);
  EXPECT_EQ(run.copies[0].ended, 30);
  EXPECT_EQ(run.copies[0].from, 0U);
  EXPECT_EQ(run.copies[0].to, 1U);
  EXPECT_EQ(run.copies[0].bytes, 4096U);
  EXPECT_EQ(run.copies[0].cause, Cause::prefetch);
  EXPECT_TRUE(run.copies[0].urgent);
  EXPECT_EQ(run.copies[1].wanted, kUnknown);
  EXPECT_EQ(run.copies[1].ended, 50);
  EXPECT_EQ(run.copies[2].wanted, 12);
  EXPECT_EQ(run.copies[2].started, kUnknown);
  EXPECT_EQ(run.copies[2].to, 2U);
}

TEST(RecordedRun, MakesTheMachineThatItsEventsNeedWhereTheHeadHasNone) {
  RecordingBuilder recording;
  recording.copied(5, 0, 2, 1, 1, 10, 20).ran(1, 1, 3, 10, 20);
  const RecordedRun run = run_of(recording);
  EXPECT_EQ(run.facts.machine.nodes.size(), 3U);
  EXPECT_EQ(run.facts.machine.workers.size(), 4U);
  EXPECT_EQ(run.name_of_node(0), "ram");
  EXPECT_EQ(run.name_of_node(2), "node 2");
  EXPECT_EQ(run.name_of_worker(3), "core 3");
}

TEST(RecordedRun, TellsWhatHappenedToRoom) {
  RecordingBuilder recording;
  recording.at(1).add(Event::room_taken, 1, {5, 4096}).at(2).add(Event::evicted, 1, {5, 1});
  recording.at(3).add(Event::room_freed, 1, {5, 0}).at(4).add(Event::became_void, 0, {5});
  recording.at(5).add(Event::kept, 1, {5});
  const RecordedRun run = run_of(recording);
  ASSERT_EQ(run.room.size(), 5U);
  EXPECT_EQ(run.room[0].kind, RoomChange::Kind::taken);
  EXPECT_EQ(run.room[0].used, 4096U);
  EXPECT_EQ(run.room[1].kind, RoomChange::Kind::evicted);
  EXPECT_TRUE(run.room[1].saved_first);
  EXPECT_EQ(run.room[2].kind, RoomChange::Kind::freed);
  EXPECT_EQ(run.room[3].kind, RoomChange::Kind::became_void);
  EXPECT_EQ(run.room[3].node, 0U);
  EXPECT_EQ(run.room[4].kind, RoomChange::Kind::kept);
}

// --- sleep, marks, decisions

TEST(RecordedRun, PairsFallingAsleepAndWaking) {
  RecordingBuilder recording;
  recording.at(5).add(Event::worker_slept, 1).at(6).add(Event::worker_woke, 2);
  recording.at(8).add(Event::worker_woke, 1).at(9).add(Event::worker_slept, 1);
  const RecordedRun run = run_of(recording);
  ASSERT_EQ(run.sleeps.size(), 3U);
  // Worker 2 was not seen to fall asleep: it slept from the beginning.
  EXPECT_EQ(run.sleeps[0].worker, 2U);
  EXPECT_EQ(run.sleeps[0].from, 0);
  EXPECT_EQ(run.sleeps[0].to, 6);
  EXPECT_EQ(run.sleeps[1].from, 5);
  EXPECT_EQ(run.sleeps[1].to, 8);
  EXPECT_EQ(run.sleeps[2].from, 9);
  EXPECT_EQ(run.sleeps[2].to, kUnknown);
}

TEST(RecordedRun, HasTheMarksAndRegionsOfTheApplication) {
  RecordingBuilder recording;
  recording.lane(3).at(5).add_text(Event::region_began, "step", 0, {1});
  recording.at(6).add_text(Event::mark, "here").at(7).add(Event::region_ended, 0, {1});
  recording.at(8).add(Event::region_ended, 0, {2});  // began before the recording
  recording.at(9).add_text(Event::region_began, "last", 0, {3});
  const RecordedRun run = run_of(recording);
  ASSERT_EQ(run.marks.size(), 3U);
  EXPECT_EQ(run.marks[0].text, "step");
  EXPECT_TRUE(run.marks[0].is_region);
  EXPECT_EQ(run.marks[0].lane, 3U);
  EXPECT_EQ(run.marks[0].to, 7);
  EXPECT_FALSE(run.marks[1].is_region);
  EXPECT_EQ(run.marks[1].to, kUnknown);
  EXPECT_EQ(run.marks[2].to, kUnknown);
}

TEST(RecordedRun, HasDecisionsIfAskedForThem) {
  trace::Decision decision(trace::Reason::least_cost, trace::Among::nodes, Time{});
  decision.task = TaskId{7};
  decision.consider({0, {{trace::Measure::end, 70}}}, true);
  RecordingBuilder recording;
  recording.at(40).decided(decision);
  const RecordedRun run = run_of(recording);
  ASSERT_EQ(run.decisions.size(), 1U);
  EXPECT_EQ(run.decisions[0].time, 40);
  EXPECT_EQ(run.decisions[0].decision.time, Time{40});
  EXPECT_EQ(run.decisions[0].decision.task, TaskId{7});
  EXPECT_EQ(run.decisions[0].decision.winner, 0U);
  EXPECT_THAT(run_of(recording, false).decisions, IsEmpty());
}

// --- what cannot have happened

TEST(RecordedRun, RefusesEventsThatContradictEachOther) {
  struct Case {
    const char* why;
    void (*record)(RecordingBuilder&);
  };
  const Case cases[] = {
      {"submitted twice", [](RecordingBuilder& r) { r.submitted(1, 1, {}).submitted(1, 1, {}); }},
      {"starts twice",
       [](RecordingBuilder& r) {
         r.add(Event::task_started, 0, {1, 1}).add(Event::task_started, 1, {1, 1});
       }},
      {"starts after its end",
       [](RecordingBuilder& r) {
         r.add(Event::task_ended, 0, {1, 0, 0}).add(Event::task_started, 1, {1, 1});
       }},
      {"ends twice",
       [](RecordingBuilder& r) {
         r.ran(1, 1, 0, 1, 2).add(Event::task_ended, 0, {1, 0, 0});
       }},
      {"registered twice",
       [](RecordingBuilder& r) { r.registered(1, "A", 1).registered(1, "B", 1); }},
      {"parts of each other",
       [](RecordingBuilder& r) { r.registered(1, "A", 1, 0, 2).registered(2, "B", 1, 0, 1); }},
      {"no worker 5",
       [](RecordingBuilder& r) {
         r.add(Event::task_started, 5, {1, 1});
       }},
      {"no memory node 3",
       [](RecordingBuilder& r) {
         r.add(Event::room_taken, 3, {1, 1});
       }},
      {"no memory node 4294967296",
       [](RecordingBuilder& r) {
         r.add(Event::copy_started, 0, {1, 1ULL << 32, 1, 1, 0, 0});
       }},
  };
  for (const Case& each : cases) {
    RecordingBuilder recording = described();
    each.record(recording);
    EXPECT_THAT(refusal(recording),
                AllOf(HasSubstr("run.vtrace"), HasSubstr("contradict"), HasSubstr(each.why)));
  }
}

TEST(RecordedRun, DoesNotMakeMachinesOfAnySize) {
  RecordingBuilder recording;
  recording.add(Event::worker_slept, 0xfffffffe);
  EXPECT_THAT(refusal(recording), HasSubstr("no worker 4294967294"));
}

TEST(RecordedRun, GoesAsFarAsAFileThatWasCut) {
  RecordingBuilder recording;
  recording.ran(1, recording.name("a"), 0, 10, 20).cut();
  recording.ran(2, 1, 0, 30, 40);
  const auto bytes = recording.bytes(false);
  const RecordedRun run(trace::Reader(bytes.first(bytes.size() - 8), "cut"));
  EXPECT_FALSE(run.complete);
  EXPECT_EQ(run.tasks.size(), 1U);
  EXPECT_EQ(run.end, 20);
}

}  // namespace
}  // namespace vicinal::analysis
