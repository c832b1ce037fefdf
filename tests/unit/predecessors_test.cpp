#include <cstdint>
#include <initializer_list>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/recorded_run.hpp"

namespace vicinal::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using enum AccessMode;

// Tasks in the order of their submission.
class Program {
 public:
  explicit Program(std::size_t data) { run_.data.resize(data); }
  std::uint32_t task(std::initializer_list<AccessOfTask> accesses, std::int64_t ended = 0) {
    TaskOfRun task;
    task.first_access = static_cast<std::uint32_t>(run_.accesses.size());
    task.access_count = static_cast<std::uint32_t>(accesses.size());
    task.ended = ended;
    run_.accesses.insert(run_.accesses.end(), accesses);
    run_.tasks.push_back(task);
    return static_cast<std::uint32_t>(run_.tasks.size() - 1);
  }
  void after(std::uint32_t task, std::uint32_t before) {
    run_.dependencies.push_back({before, task});
  }
  std::vector<std::vector<std::uint32_t>> predecessors() const {
    return analysis::predecessors(run_);
  }

 private:
  RecordedRun run_;
};

TEST(Predecessors, ReadersWaitForTheWriterAndTheNextWriterForTheReaders) {
  Program program(1);
  program.task({{0, W}});   // 0
  program.task({{0, R}});   // 1
  program.task({{0, R}});   // 2
  program.task({{0, RW}});  // 3: through its readers for 0
  program.task({{0, W}});   // 4
  program.task({{0, R}});   // 5
  EXPECT_THAT(program.predecessors(),
              ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(0), ElementsAre(1, 2),
                          ElementsAre(3), ElementsAre(4)));
}

TEST(Predecessors, ThoseThatCommuteDoNotWaitForEachOtherButAllOthersDo) {
  Program program(1);
  program.task({{0, W}});        // 0
  program.task({{0, commute}});  // 1
  program.task({{0, commute}});  // 2
  program.task({{0, R}});        // 3
  program.task({{0, commute}});  // 4: another group
  program.task({{0, RW}});       // 5
  EXPECT_THAT(program.predecessors(),
              ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(0), ElementsAre(1, 2),
                          ElementsAre(3), ElementsAre(4)));
}

TEST(Predecessors, ContributionsToAReductionAreAGroupAsWell) {
  Program program(1);
  program.task({{0, R}});          // 0
  program.task({{0, reduction}});  // 1
  program.task({{0, reduction}});  // 2
  program.task({{0, commute}});    // 3: of another kind
  program.task({{0, R}});          // 4
  EXPECT_THAT(program.predecessors(), ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(0),
                                                  ElementsAre(1, 2), ElementsAre(3)));
}

TEST(Predecessors, NobodyWaitsForScratch) {
  Program program(1);
  program.task({{0, scratch}});
  program.task({{0, scratch}});
  EXPECT_THAT(program.predecessors(), ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(Predecessors, ATaskThatOneTaskPrecedesTwiceNamesItOnce) {
  Program program(2);
  program.task({{0, W}, {1, W}});   // 0
  program.task({{0, R}, {1, RW}});  // 1
  EXPECT_THAT(program.predecessors(), ElementsAre(IsEmpty(), ElementsAre(0)));
}

TEST(Predecessors, ATaskThatNamesADatumTwiceDoesNotWaitForItself) {
  Program program(1);
  program.task({{0, R}});           // 0
  program.task({{0, R}, {0, RW}});  // 1
  program.task({{0, R}});           // 2
  EXPECT_THAT(program.predecessors(), ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(1)));
}

TEST(Predecessors, DependenciesCountBesideAccesses) {
  Program program(1);
  program.task({});         // 0
  program.task({{0, W}});   // 1
  program.task({{0, RW}});  // 2
  program.after(2, 0);
  program.after(2, 1);  // follows from the accesses as well
  program.after(0, 2);  // cannot be, and is left out
  EXPECT_THAT(program.predecessors(), ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0, 1)));
}

TEST(Predecessors, PartsFollowTheirWholeThroughWhatDividesIt) {
  Program program(3);                         // a whole, two parts
  program.task({{0, W}});                     // 0
  program.task({{0, RW}, {1, W}, {2, W}});    // 1: repartition
  program.task({{1, RW}});                    // 2
  program.task({{2, RW}});                    // 3
  program.task({{0, RW}, {1, RW}, {2, RW}});  // 4: back
  program.task({{0, R}});                     // 5
  EXPECT_THAT(program.predecessors(),
              ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(1), ElementsAre(1),
                          ElementsAre(1, 2, 3), ElementsAre(4)));
}

TEST(Predecessors, OfAGreatManyBehindAGreatManyMostNameTheLastToEndAlone) {
  constexpr std::uint32_t kMany = 1000;
  Program program(1);
  for (std::uint32_t i = 0; i < kMany; ++i) {
    program.task({{0, commute}}, i == 17 ? 5'000 : i);  // 17 ends last
  }
  for (std::uint32_t i = 0; i < kMany; ++i) program.task({{0, R}});
  const std::uint32_t next = program.task({{0, RW}});
  const auto before = program.predecessors();
  EXPECT_EQ(before[kMany].size(), kMany);  // the first of them names all
  EXPECT_THAT(before[2 * kMany - 1], ElementsAre(17));
  EXPECT_EQ(before[next].size(), kMany);
}

TEST(Predecessors, OfAnEmptyRunThereAreNone) {
  EXPECT_THAT(predecessors(RecordedRun()), IsEmpty());
}

}  // namespace
}  // namespace vicinal::analysis
