// Runs of a sweep: their columns, medians, table and JSON.
#include "reports/sweep.hpp"

#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "reports/row_file.hpp"
#include "support/temporary_folder.hpp"

namespace vicinal::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SweepMeasures measures(double seconds) {
  return {.seconds = seconds, .bytes_in = 3e9 / 7, .bound_seconds = 1, .bound_bytes = 1e8};
}

// Two limits, two policies, three seeds; of the last one run has failed.
Sweep made_sweep() {
  Sweep sweep{.command = "vicinal simulate x",
              .application = "x",
              .parameters = {},
              .machine = {},
              .axes = {{.name = "memory", .is_bytes = true, .values = {1 << 20, 2 << 20}}},
              .runs = {}};
  for (std::size_t memory : {0, 1}) {
    for (std::uint64_t seed : {1, 2, 3}) {
      const double slower = memory == 0 ? 2 : 1;
      sweep.runs.push_back({.at = {memory},
                            .policy = "first",
                            .seed = seed,
                            .vary_seed = seed,
                            .measures = measures(slower * static_cast<double>(seed))});
      sweep.runs.push_back({.at = {memory},
                            .policy = "second",
                            .seed = seed,
                            .vary_seed = seed,
                            .measures = measures(1.5)});
    }
  }
  sweep.runs.back().measures.reset();
  return sweep;
}

TEST(Sweep, QuartilesLieBetweenNeighboursInProportion) {
  const Quartiles one = quartiles({4});
  EXPECT_EQ(one.low, 4);
  EXPECT_EQ(one.high, 4);
  // 1 2 3 4: a quarter of the way from the first to the last is at place 0.75.
  const Quartiles four = quartiles({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(four.low, 1.75);
  EXPECT_DOUBLE_EQ(four.median, 2.5);
  EXPECT_DOUBLE_EQ(four.high, 3.25);
}

TEST(Sweep, FieldsOfARowComeBackToTheLastDigit) {
  const SweepMeasures one = measures(1.0 / 3);
  const std::string text = sweep_fields(one);
  const auto again = parse_sweep_fields(text);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->seconds, one.seconds);
  EXPECT_EQ(again->bytes_in, one.bytes_in);
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto cut = parse_sweep_fields(text.substr(0, length));
    EXPECT_FALSE(cut && cut->bound_bytes_out != 0) << length;
  }
  EXPECT_FALSE(parse_sweep_fields(text + ",1"));
}

TEST(Sweep, TheTableRanksMediansAndSaysWhatIsMissing) {
  const std::string text = sweep_text(made_sweep());
  // With 1 MiB: 2, 4, 6 s against 1.5 s; with 2 MiB: 1, 2, 3 s against 1.5 s.
  EXPECT_THAT(text, HasSubstr("1 MiB   second  1.5 s  1.50x  1.5 s  1.5 s"));
  EXPECT_THAT(text, HasSubstr("\n        first     4 s  4.00x    3 s    5 s"));
  EXPECT_THAT(text, HasSubstr("2 of 3 runs"));
  EXPECT_THAT(text, HasSubstr("medians of 3 seeds"));
  Sweep single = made_sweep();
  std::erase_if(single.runs, [](const SweepRun& run) { return run.seed > 1; });
  EXPECT_THAT(sweep_text(single), Not(HasSubstr("25 %")));
}

TEST(Sweep, TheJsonHasTheFieldsOfThePage) {
  std::ifstream file(VICINAL_SOURCE_DIR "/docs/report.md");
  std::stringstream content;
  content << file.rdbuf();
  const std::string page = content.str();
  const std::size_t begin = page.find("```json\n", page.find("## Sweeps\n")) + 8;
  const auto documented =
      nlohmann::json::parse(page.substr(begin, page.find("```", begin) - begin));
  const auto actual = nlohmann::json::parse(sweep_json(made_sweep()));
  const auto names = [](const nlohmann::json& object) {
    std::vector<std::string> list;
    for (const auto& [name, value] : object.items()) list.push_back(name);
    return list;
  };
  EXPECT_EQ(names(actual), names(documented));
  EXPECT_EQ(names(actual["medians"][0]), names(documented["medians"][0]));
  EXPECT_EQ(names(actual["runs"][0]), names(documented["runs"][0]));
  EXPECT_EQ(actual["medians"][0]["seconds"]["median"], 4);
  EXPECT_EQ(actual["medians"][3]["runs"], 2);
  EXPECT_FALSE(actual["runs"][11].contains("seconds"));
}

TEST(Sweep, ThePictureHasACurvePerPolicyOrABarWithoutAnAxis) {
  const auto curves = nlohmann::json::parse(sweep_picture(made_sweep()));
  const auto& panel = curves["plots"][0]["panels"][0];
  EXPECT_EQ(panel["x_label"], "memory (MiB)");
  EXPECT_EQ(panel["curves"][0]["y"], (nlohmann::json{4.0, 2.0}));
  EXPECT_EQ(panel["curves"][0]["high"], (nlohmann::json{5.0, 2.5}));
  EXPECT_EQ(panel["limits"][0]["y"], (nlohmann::json{1.0, 1.0}));
  Sweep bars = made_sweep();
  bars.axes.clear();
  for (SweepRun& run : bars.runs) run.at.clear();
  EXPECT_EQ(nlohmann::json::parse(sweep_picture(bars))["runs"].size(), 2);
  for (SweepRun& run : bars.runs) run.measures.reset();
  EXPECT_EQ(sweep_picture(bars), "");
}

TEST(RowFile, ARowOfAnotherKeyIsAStranger) {
  const vicinal::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/x.csv";
  std::ofstream(path) << "a,b\nx,1\nxy,2\n";
  const auto is_whole = [](std::string_view text) { return text.size() == 1; };
  const RowFile own(path, {.head = "a,b\n", .keys = {"xy", "x"}, .is_whole = is_whole});
  EXPECT_FALSE(own.stranger());
  EXPECT_EQ(own.rest("x"), "1");
  EXPECT_EQ(own.rest("xy"), "2");
  const RowFile other(path, {.head = "a,b\n", .keys = {"x", "y"}, .is_whole = is_whole});
  ASSERT_TRUE(other.stranger());
  EXPECT_EQ(other.stranger()->number, 2);
  EXPECT_EQ(other.stranger()->line, "xy,2");
  const RowFile columns(path, {.head = "a,c\n", .keys = {"x"}, .is_whole = is_whole});
  EXPECT_EQ(columns.found(), RowFile::Found::other);
}

}  // namespace
}  // namespace vicinal::reports
