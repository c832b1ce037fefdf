#include "analysis/phases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/advice.hpp"
#include "support/made_run.hpp"

namespace vicinal::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using vicinal::testing::MadeRun;

MarkOfRun region(const char* text, std::int64_t from, std::int64_t to) {
  return {.text = text, .lane = 0, .from = from, .to = to, .is_region = true};
}

TaskOfRun lasting(std::int64_t started, std::int64_t ended) {
  return {.worker = 0,
          .submitted = started,
          .ready = started,
          .scheduled = started,
          .started = started,
          .ended = ended};
}

// Filled from 0 to 100, run from 100 to 300, checked until 350; one copy and one task on each side and inside.
MadeRun filled_run_checked() {
  MadeRun made(1);
  const std::uint32_t a = made.datum("a", 10);
  made.task("fill", lasting(0, 90));
  made.task("work", lasting(110, 260));
  made.task("check", lasting(310, 340));
  made.copy(
      {.datum = a, .from = 0, .to = 0, .bytes = 10, .wanted = 10, .started = 20, .ended = 60});
  made.copy(
      {.datum = a, .from = 0, .to = 0, .bytes = 10, .wanted = 80, .started = 90, .ended = 150});
  made.copy(
      {.datum = a, .from = 0, .to = 0, .bytes = 10, .wanted = 280, .started = 290, .ended = 320});
  made.run.end = 350;
  made.run.marks = {region("prepare", 0, 95), region("run", 100, 300), region("step 1", 100, 200),
                    region("check", 305, 350)};
  return made;
}

TEST(Phases, AreTheOutermostRegionsIfOneIsTheRun) {
  const MadeRun made = filled_run_checked();
  std::vector<std::string> names;
  for (const PhaseOfRun& phase : phases(made.run)) names.push_back(phase.name);
  EXPECT_THAT(names, ElementsAre("prepare", "run", "check"));
  EXPECT_EQ(time_of_run(made.run), (Interval{100, 300}));
}

TEST(Phases, AreNoneWithoutARegionOfThatName) {
  MadeRun made = filled_run_checked();
  made.run.marks[1].text = "solve";
  EXPECT_THAT(phases(made.run), IsEmpty());
  EXPECT_FALSE(time_of_run(made.run));
  const RecordedRun proper = run_proper(made.run);
  EXPECT_EQ(proper.begin, 0);
  EXPECT_EQ(proper.length(), 350);
  EXPECT_TRUE(proper.tasks[0].ran());
}

TEST(Phases, ARegionWithoutAnEndGoesToThatOfTheRecording) {
  MadeRun made = filled_run_checked();
  made.run.marks[1].to = kUnknown;
  EXPECT_EQ(time_of_run(made.run), (Interval{100, 350}));
}

TEST(RunProper, HasOnlyWhatHappenedInIt) {
  const MadeRun made = filled_run_checked();
  const RecordedRun proper = run_proper(made.run);
  EXPECT_EQ(proper.length(), 200);
  EXPECT_FALSE(proper.tasks[0].ran());
  EXPECT_TRUE(proper.tasks[1].ran());
  EXPECT_FALSE(proper.tasks[2].ran());
  // As Statistics: where they ended.
  EXPECT_EQ(proper.copies[0].ended, kUnknown);
  EXPECT_EQ(proper.copies[1].started, 100);
  EXPECT_EQ(proper.copies[1].ended, 150);
  EXPECT_EQ(proper.copies[2].ended, kUnknown);
}

TEST(RunProper, ATaskThatRanIntoItIsCut) {
  MadeRun made = filled_run_checked();
  made.run.tasks[0].ended = 130;
  made.run.tasks[1].started = 140;
  const RecordedRun proper = run_proper(made.run);
  EXPECT_EQ(proper.tasks[0].started, 100);
  EXPECT_EQ(proper.tasks[0].ended, 130);
}

// 10 of submission, 150 of the run; the path does not begin before the run does.
TEST(RunProper, ItsPathAndIdleTimesCoverIt) {
  const MadeRun made = filled_run_checked();
  const RecordedRun proper = run_proper(made.run);
  const Analyses of = analyse(proper);
  EXPECT_EQ(of.path.begin, 100);
  EXPECT_EQ(of.path.length(), 160);
  EXPECT_EQ(of.path.of(PathCause::run), 150);
  EXPECT_EQ(of.idle.wall, 200);
  EXPECT_EQ(of.idle.all.run, 150);
}

}  // namespace
}  // namespace vicinal::analysis
