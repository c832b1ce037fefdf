// The page of runs: how its data are written, what is left out, that names cannot leave their places.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "reports/own_results.hpp"
#include "reports/page/columns.hpp"
#include "reports/page/pack.hpp"
#include "reports/page/page.hpp"
#include "reports/page/run_data.hpp"
#include "reports/page/tile_name.hpp"
#include "support/made_run.hpp"
#include "support/synthetic_run.hpp"
#include "vicinal/error.hpp"

namespace vicinal::reports {
namespace {

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

std::size_t count(const std::string& text, std::string_view word) {
  std::size_t found = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(Pack, Base64IsThatOfRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Columns, PlainNumbersHaveSevenBitsAByteTheLowestFirst) {
  Columns table("t");
  const std::array<std::uint64_t, 3> values{5, 127, 300};
  table.plain("n", 3, [&](std::size_t i) { return values[i]; });
  // 300 = 2 * 128 + 44: 44 with the highest bit, then 2.
  EXPECT_EQ(table.content(), bytes({5, 127, 0xac, 2}));
}

TEST(Columns, DeltasMayBeNegative) {
  Columns table("t");
  const std::array<std::int64_t, 3> values{3, 1, 1};
  table.deltas("n", 3, [&](std::size_t i) { return values[i]; });
  // 3, -2, 0 as 6, 3, 0.
  EXPECT_EQ(table.content(), bytes({6, 3, 0}));
}

TEST(Columns, MomentsAreToldFromWhatIsKnownOfTheirRowOrElseOfTheirColumn) {
  Columns table("t");
  Columns::Moments moments(table, 3);
  const std::array<std::int64_t, 3> first{10, -1, 12};
  const std::array<std::int64_t, 3> second{11, 20, -1};
  moments.add("first", [&](std::size_t i) { return first[i]; });
  moments.add("second", [&](std::size_t i) { return second[i]; });
  // 10 from nothing: 20 + 1. Not known: 0. 12 from the 10 before it in the column: 4 + 1.
  // 11 from the row's 10: 2 + 1. 20, whose row knows nothing, from the column's 11: 18 + 1. Not known: 0.
  EXPECT_EQ(table.content(), bytes({21, 0, 5, 3, 19, 0}));
}

TEST(TileName, IsAMatrixARowAndAColumn) {
  for (const char* const text :
       {"A(3,14)", "A(3, 14)", "A[3][14]", "A[3,14]", "A (3,14)", "A3_14"}) {
    const auto name = tile_name(text);
    ASSERT_TRUE(name) << text;
    EXPECT_EQ(name->matrix, "A") << text;
    EXPECT_EQ(name->row, 3U) << text;
    EXPECT_EQ(name->column, 14U) << text;
  }
  const auto nested = tile_name("work(a)(1,2)");
  ASSERT_TRUE(nested);
  EXPECT_EQ(nested->matrix, "work(a)");
}

TEST(TileName, OtherNamesAreNone) {
  for (const char* const text :
       {"",         "A",       "A(3)",          "A(3,4",  "A(3,4]", "A(3,4)x", "A(x,4)",
        "A(3,4,5)", "A(-1,2)", "A(3,99999999)", "A[3][4", "A()",    "A(,)",    "(",
        "A(3;4)",   "A_4",     "3_4",           "A3_",    "A3_x",   "_"}) {
    EXPECT_FALSE(tile_name(text)) << text;
  }
}

analysis::RecordedRun one_task(std::int64_t from, std::int64_t to) {
  analysis::RecordedRun run;
  run.facts.machine.nodes.push_back({NodeId{0}, "ram", NodeKind::ram, {}, {}, {}});
  run.facts.machine.workers.push_back({WorkerId{0}, ProcessorKind::cpu, NodeId{0}, {}, {}, 1});
  run.names = {"work"};
  analysis::TaskOfRun task;
  task.worker = 0;
  task.started = from;
  task.ended = to;
  run.tasks.push_back(task);
  run.end = to;
  return run;
}

TEST(RunView, OfAShortRunMomentsAreNanosecondsAndOfALongOneTheyHave31Bits) {
  const auto brief = one_task(0, 1'000'000'000);
  EXPECT_EQ(RunView(brief).unit, 1);
  // 100 s are 10^11 ns; in units of 100 ns they are 10^9, less than 2^31; in units of 10 ns more.
  const auto lengthy = one_task(0, 100'000'000'000);
  const RunView view(lengthy);
  EXPECT_EQ(view.unit, 100);
  EXPECT_EQ(view.ticks(250), 2);
  EXPECT_EQ(view.ticks(analysis::kUnknown), -1);
}

TEST(RunView, CodeletsThatTookMostTimeComeFirst) {
  auto run = one_task(0, 10);
  run.names.push_back("longer");
  analysis::TaskOfRun task = run.tasks[0];
  task.name = 1;
  task.started = 10;
  task.ended = 40;
  run.tasks.push_back(task);
  const RunView view(run);
  EXPECT_EQ(view.codelets, (std::vector<std::uint32_t>{1, 0}));
}

TEST(RunData, WhatDoesNotFitIsLeftOutAndNamed) {
  const auto run = support::synthetic_run();
  const RunData all = run_data(PageRun(run), 10'000'000);
  EXPECT_TRUE(all.head["missing"].empty());
  EXPECT_EQ(all.head["computed"], 220);  // 10 + 45 + 45 + 120 of 10 x 10 tiles
  const RunData none = run_data(PageRun(run), 0);
  EXPECT_TRUE(none.later.empty());
  EXPECT_FALSE(none.first.empty());  // the overview is always there
  EXPECT_EQ(none.head["missing"].size(), all.later.size());
}

TEST(Page, NamesCannotEndTheElementThatHoldsThem) {
  support::SyntheticRun asked;
  asked.matrix = "</script><img src=x>";
  asked.gemm = "<b>gemm</b>";
  auto run = support::synthetic_run(asked);
  run.facts.application = "<i>cholesky</i>";
  PageContents contents;
  contents.recordings.push_back({"<u>.vtrace", &run});
  const std::string text = page(contents);
  EXPECT_EQ(count(text, "<img"), 0U);
  EXPECT_EQ(count(text, "<b>gemm"), 0U);
  EXPECT_EQ(count(text, "<i>chol"), 0U);
  EXPECT_EQ(count(text, "<u>"), 0U);
  EXPECT_EQ(count(text, "</script>"), count(text, "<script"));
}

TEST(Page, RefersToNothingOutsideOfIt) {
  const auto run = support::synthetic_run();
  PageContents contents;
  contents.recordings.push_back({"run.vtrace", &run});
  const std::string text = page(contents);
  EXPECT_EQ(count(text, "src="), 0U);
  EXPECT_EQ(count(text, "@import"), 0U);
  EXPECT_EQ(count(text, "<link"), 0U);
  EXPECT_NE(text.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(count(text, "{{"), 0U);  // all places of the frame are filled
}

TEST(Page, ComparesTwoRecordingsAndNoMore) {
  const auto run = support::synthetic_run();
  PageContents contents;
  for (const char* const name : {"a", "b", "c"}) contents.recordings.push_back({name, &run});
  EXPECT_THROW(page(contents), UsageError);
  contents.recordings.pop_back();
  EXPECT_NE(page(contents).find("<title>a and b</title>"), std::string::npos);
}

TEST(Page, ShowsAReportWithoutARecording) {
  Report report;
  report.application = "cholesky";
  RunRecord run;
  run.policy = "darts";
  run.seconds = 1.5;
  report.runs.push_back(run);
  PageContents contents;
  contents.report = &report;
  const std::string text = page(contents);
  EXPECT_NE(text.find("\"policy\":\"darts\""), std::string::npos);
  EXPECT_NE(text.find("\"runs\":[]"), std::string::npos);
}

// Two tasks of 100 ns, one behind the other, on two cores: 200 ns of the longest path, of 250 that it took.
TEST(OwnResults, OfAProgramThatToldNoneAreFoundInItsRecording) {
  vicinal::testing::MadeRun made(2);
  const std::uint32_t x = made.datum("x", 8);
  made.task("add",
            {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 0, .started = 0, .ended = 100},
            {{x, AccessMode::RW}});
  made.task(
      "add",
      {.worker = 1, .submitted = 0, .ready = 100, .scheduled = 100, .started = 150, .ended = 250},
      {{x, AccessMode::RW}});
  const auto value = [&](const std::string& name) -> double {
    for (const auto& [known, text] : own_results(made.run, analysis::analyse(made.run))) {
      if (known == name) return std::stod(text);
    }
    return -1;
  };
  EXPECT_DOUBLE_EQ(value("result.seconds"), 250e-9);
  // Each time is rounded down, so that no bound is too high.
  EXPECT_NEAR(value("bound.path_seconds"), 200e-9, 2.5e-9);
  EXPECT_NEAR(value("bound.work_seconds"), 100e-9, 2.5e-9);
  EXPECT_NEAR(value("bound.seconds"), 200e-9, 2.5e-9);
  made.run.facts.told = {{"result.seconds", "1"}, {"bound.seconds", "1"}};
  EXPECT_EQ(value("result.seconds"), -1);
  EXPECT_EQ(value("bound.seconds"), -1);
}

}  // namespace
}  // namespace vicinal::reports
