// What several ranks on a host have in common, and have each of their own.
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/launch.hpp"
#include "drivers/cpu/binding.hpp"
#include "reports/report.hpp"
#include "vicinal/trace.hpp"

namespace vicinal {
namespace {

std::uint32_t ranks_with(const std::map<std::string, const char*>& variables) {
  return comm::ranks_on_this_host([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second;
  });
}

TEST(SeveralRanks, LaunchersSayHowManyShareTheHost) {
  EXPECT_EQ(ranks_with({}), 1U);
  EXPECT_EQ(ranks_with({{"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}}), 3U);
  EXPECT_EQ(ranks_with({{"MPI_LOCALNRANKS", "5"}}), 5U);
  EXPECT_EQ(ranks_with({{"MPI_LOCALNRANKS", "0"}}), 1U);
  EXPECT_EQ(ranks_with({{"MPI_LOCALNRANKS", "many"}}), 1U);
  EXPECT_EQ(ranks_with({{"SLURM_STEP_NUM_TASKS", "9"}, {"SLURM_STEP_NUM_NODES", "2"}}), 5U);
  EXPECT_EQ(ranks_with({{"SLURM_STEP_NUM_TASKS", "9"}, {"SLURM_STEP_NUM_NODES", "0"}}), 1U);
}

TEST(SeveralRanks, ShareProcessorsOfWhichEachHasOne) {
  EXPECT_LE(drivers::usable_processors_among(1), drivers::usable_processors());
  EXPECT_GE(drivers::usable_processors_among(1'000'000), 1U);
  EXPECT_LE(drivers::usable_processors_among(2), drivers::usable_processors());
}

TEST(SeveralRanks, EachHasAFileOfItsOwn) {
  EXPECT_EQ(file_of_rank("run.vtrace", RankId{2}), "run.rank2.vtrace");
  EXPECT_EQ(file_of_rank("/no/folder/run", RankId{0}), "/no/folder/run.rank0");
  EXPECT_EQ(file_of_rank("/dev/null", RankId{1}), "/dev/null");
  EXPECT_EQ(file_of_rank("", RankId{1}), "");
}

TEST(SeveralRanks, ARecordCountsAllOfThem) {
  reports::RunRecord record;
  record.seconds = 2;
  record.tasks = 5;
  reports::RankRecord quick;
  quick.seconds = 2;
  quick.idle_seconds = 1;
  quick.tasks = 5;
  quick.workers = 2;
  reports::RankRecord slow;
  slow.seconds = 3;
  slow.idle_seconds = 0.5;
  slow.tasks = 7;
  slow.workers = 1;
  quick.sent = Bytes{100};
  slow.received = Bytes{100};
  slow.bytes_in = Bytes{8};
  reports::join_ranks(record, {quick, slow});
  EXPECT_EQ(record.seconds, 3);
  EXPECT_EQ(record.tasks, 12U);
  EXPECT_EQ(record.workers, 3U);
  EXPECT_EQ(record.bytes_in, Bytes{8});
  EXPECT_EQ(record.ranks[0].idle_seconds, 3);  // two workers wait a second for the other rank
  EXPECT_EQ(record.ranks[0].ended_seconds, 2);
  EXPECT_EQ(record.idle_seconds, 3.5);
  reports::Report report{.application = "lu", .parameters = {}, .machine = {}, .runs = {record}};
  const std::string text = reports::report_text(report);
  EXPECT_NE(text.find("rank"), std::string::npos) << text;
  EXPECT_NE(text.find("100 B"), std::string::npos) << text;
  EXPECT_NE(reports::report_json(report).find("\"received\": 100"), std::string::npos);
}

// Two ranks of two workers for 10 s: idle for so many seconds in all.
std::string text_of_run(double idle, double awaiting, double ended) {
  reports::RunRecord record;
  record.seconds = 10;
  record.workers = 4;
  record.idle_seconds = idle;
  record.ranks.resize(2);
  for (reports::RankRecord& rank : record.ranks) {
    rank.seconds = 10;
    rank.workers = 2;
  }
  record.ranks[0].seconds = 9;
  record.ranks[0].idle_seconds = idle;
  record.ranks[0].awaiting_seconds = awaiting;
  record.ranks[0].ended_seconds = ended;
  return reports::report_text(
      {.application = "lu", .parameters = {}, .machine = {}, .runs = {record}});
}

TEST(SeveralRanks, ASentenceSaysWhyMoreOfThemHelpLittle) {
  using ::testing::HasSubstr;
  EXPECT_THAT(text_of_run(3, 2, 1), HasSubstr("busy for 92.5 % of the time: more ranks help"));
  EXPECT_THAT(text_of_run(20, 10, 5), HasSubstr("for 25.0 % of their time workers had nothing to "
                                                "do while content of other ranks was awaited"));
  EXPECT_THAT(text_of_run(20, 4, 10),
              HasSubstr("for 25.0 % of their time workers of ranks that had "
                        "ended waited for others, in the end for rank 1"));
  EXPECT_THAT(text_of_run(20, 2, 2), HasSubstr("for 40.0 % of their time workers had no task"));
}

}  // namespace
}  // namespace vicinal
