#include "runtime/progress_line.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/terminal_line.hpp"
#include "support/small_runs.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

TEST(TerminalLine, BarsHaveAsManyMarksAsIsDone) {
  EXPECT_EQ(base::progress_bar(0, 4, 8), "[........]   0 %");
  EXPECT_EQ(base::progress_bar(1, 4, 8), "[##......]  25 %");
  EXPECT_EQ(base::progress_bar(4, 4, 8), "[########] 100 %");
  EXPECT_EQ(base::progress_bar(9, 4, 8), "[########] 100 %");
  EXPECT_EQ(base::progress_bar(3, 0, 8), "[........]   0 %");
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(base::progress_bar(kMost / 2, kMost, 4), "[##..]  50 %");
}

TEST(TerminalLine, IsCutBeforeTheLastColumn) {
  EXPECT_EQ(base::fitting("abcdef", 7), "abcdef");
  EXPECT_EQ(base::fitting("abcdef", 6), "abcde");
  EXPECT_EQ(base::fitting("abcdef", 0), "");
}

TEST(ProgressLine, SaysWhatIsDoneHowFastAndHowLongItTakes) {
  // 3 of 4 in 3 s: one a second, and a second left.
  EXPECT_EQ(runtime::describe("run", "factorise", {3, 4, Time::from_seconds(3)}, 4),
            "run: factorise [###.]  75 %  3/4 tasks  3 s, 1/s, 1 s left");
  EXPECT_EQ(runtime::describe("", "", {4, 4, Time::from_seconds(2)}, 0), "4/4 tasks  2 s, 2/s");
  EXPECT_EQ(runtime::describe("", "", {0, 4, Time{}}, 0), "0/4 tasks  0 ns");
  EXPECT_THAT(
      runtime::describe("", "",
                        {1, std::numeric_limits<std::uint64_t>::max(), Time::from_seconds(1e9)}, 0),
      ::testing::HasSubstr(" h "));
}

TEST(ProgressLine, CountsWhatThePhaseDoes) {
  Statistics before;
  before.tasks_submitted = 10;
  before.tasks_done = 4;
  before.own_tasks_done = 1;
  Statistics now;
  now.tasks_submitted = 20;
  now.tasks_done = 10;
  now.tasks_failed = 1;
  now.tasks_cancelled = 2;
  now.own_tasks_done = 3;
  now.now = Time{5};
  // 13 - 4 have ended since then, of the 16 that had not ended or came.
  const runtime::Advance all = runtime::advance_since(before, now, 0);
  EXPECT_EQ(all.done, 9U);
  EXPECT_EQ(all.all, 16U);
  EXPECT_EQ(all.elapsed.ns, 5);
  // Of what the application expects 2 were the runtime's own.
  const runtime::Advance some = runtime::advance_since(before, now, 8);
  EXPECT_EQ(some.done, 7U);
  EXPECT_EQ(some.all, 8U);
}

std::string shown_by(const ProgressOptions& options) {
  ::testing::internal::CaptureStderr();
  {
    Runtime runtime(testing::small_options());
    Progress progress = runtime.progress(options);
    progress.phase("first", 3);
    for (int i = 0; i < 3; ++i) runtime.task("nothing", [] {});
    runtime.wait();
    const Progress moved = std::move(progress);
  }
  return ::testing::internal::GetCapturedStderr();
}

TEST(ProgressLine, IsQuietWhereTheErrorOutputIsNoTerminalUnlessAskedOtherwise) {
  EXPECT_EQ(shown_by({.label = "quiet"}), "");
  const std::string said = shown_by({.label = "a\nb", .always = true});
  EXPECT_THAT(said, ::testing::AllOf(::testing::StartsWith("a\xEF\xBF\xBD"
                                                           "b: first 3/3 tasks  "),
                                     ::testing::EndsWith("\n")));
}

}  // namespace
}  // namespace vicinal
