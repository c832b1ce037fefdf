// Recordings that several recorders share, and are read as the run of several ranks.
#include "trace/ranks_of_file.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/recorded_run.hpp"
#include "reports/explain.hpp"
#include "reports/page/page.hpp"
#include "support/rank_recordings.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "trace/open_runs.hpp"
#include "trace/recorder.hpp"
#include "vicinal/error.hpp"

namespace vicinal::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using vicinal::testing::message_of;
using vicinal::testing::RankBuilder;

// So many ranks of simulated hosts of two cores, which one thread records.
class SharedRun {
 public:
  SharedRun(std::string file, std::uint32_t ranks, std::uint32_t said = 0)
      : file_(std::move(file)), shared_(ranks) {
    const std::string run = fmt::format(
        R"({{"command": "made", "ranks": {}, "machine": {{"nodes": [{{"name": "ram", "kind": "ram"}}],
        "workers": [{{"kind": "cpu", "node": 0}}, {{"kind": "cpu", "node": 0}}]}}}})",
        said == 0 ? ranks : said);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      recorders_.push_back(std::make_unique<Recorder>([this] { return now; }));
      recorders_.back()->start({.file = file_, .run = run, .shared = &shared_, .rank = rank});
    }
  }
  Recorder& operator[](std::size_t rank) { return *recorders_[rank]; }
  SharedRecording& shared() { return shared_; }
  const std::string& file() const { return file_; }

  // A task that takes 10 ns.
  void ran(std::uint32_t rank, std::uint32_t worker, std::uint64_t task,
           const std::string& codelet) {
    Recorder& of = *recorders_[rank];
    const std::uint32_t name = of.name(&names_[codelet], codelet);
    of.record<Event::task_started>(worker, task, name);
    now.ns += 10;
    of.record<Event::task_ended>(worker, task, Outcome::done, 0);
  }
  void passed(std::uint32_t from, std::uint32_t to, std::uint64_t datum) {
    recorders_[from]->record<Event::message_began>(to, 7, 0, datum, 1, 4096);
    recorders_[to]->record<Event::message_began>(from, 9, 1, datum, 1, 4096);
    now.ns += 5;
    recorders_[from]->record<Event::message_ended>(to, 7, 0, datum, 1);
    recorders_[to]->record<Event::message_ended>(from, 9, 1, datum, 1);
  }
  std::vector<std::uint64_t> stop() {
    std::vector<std::uint64_t> bytes;
    for (const auto& recorder : recorders_) bytes.push_back(recorder->stop().bytes);
    return bytes;
  }

  Time now;

 private:
  std::string file_;
  SharedRecording shared_;
  std::map<std::string, std::string> names_;
  std::vector<std::unique_ptr<Recorder>> recorders_;
};

class RanksOfFileTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name = "run.vtrace") const { return folder_.file(name); }
  RanksOfFile source(const std::string& name = "run.vtrace") const {
    return RanksOfFile(std::make_unique<Reader>(file(name)));
  }
  std::string made(const std::string& name, std::uint32_t ranks) const {
    SharedRun run(file(name), ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) run.ran(rank, rank % 2, 1, "gemm");
    for (std::uint32_t rank = 1; rank < ranks; ++rank) run.passed(rank / 2, rank, 3);
    run.stop();
    return run.file();
  }
  vicinal::testing::TemporaryFolder folder_{"ranks"};
};

TEST_F(RanksOfFileTest, EachEventIsOfTheRankThatRecordedIt) {
  SharedRun run(file(), 3);
  run.ran(0, 1, 5, "gemm");
  run.ran(2, 0, 5, "gemm");
  run.ran(1, 1, 5, "potrf");
  run.ran(2, 1, 6, "gemm");
  EXPECT_EQ(run.shared().file(), file());
  const auto bytes = run.stop();
  EXPECT_EQ(bytes[0], 0U);  // the last one that stops ends the file
  EXPECT_GT(bytes[2], 0U);
  EXPECT_EQ(run.shared().file(), "");

  const analysis::RecordedRun recorded(source());
  ASSERT_EQ(recorded.ranks.size(), 3U);
  std::vector<std::string> tasks;
  for (const analysis::TaskOfRun& task : recorded.tasks) {
    tasks.push_back(recorded.names[task.name] + " on " + recorded.name_of_worker(task.worker));
  }
  EXPECT_THAT(tasks, ElementsAre("gemm on rank 0: core 1", "gemm on rank 2: core 0",
                                 "potrf on rank 1: core 1", "gemm on rank 2: core 1"));
  EXPECT_EQ(recorded.end, 40);
}

TEST_F(RanksOfFileTest, MessagesHaveBothEndsAndSayWhoSentThemOn) {
  SharedRun run(file(), 3);
  run.passed(0, 1, 12);
  run.passed(1, 2, 12);
  run.stop();
  const analysis::RecordedRun recorded(source());
  ASSERT_EQ(recorded.messages.size(), 2U);
  EXPECT_EQ(recorded.messages[1].from, 1U);
  EXPECT_EQ(recorded.messages[1].to, 2U);
  EXPECT_EQ(recorded.messages[1].departs, 5);
  EXPECT_EQ(recorded.messages[1].arrived, 10);
  EXPECT_THAT(reports::explain(std::vector{file()}, {}, false).text,
              HasSubstr("rank 1: sent 1 message, 4 KiB; received 1 message, 4 KiB"));
}

TEST_F(RanksOfFileTest, FactsOfRank0AreToldOnceAndOthersWithTheirRank) {
  SharedRun run(file(), 2);
  run[0].record_text<Event::fact>("seed\n1", 0);
  run[1].record_text<Event::fact>("seed\n1", 0);
  run[1].record_text<Event::fact>("mood\ngood", 0);
  run.stop();
  const analysis::RecordedRun recorded(source());
  EXPECT_THAT(recorded.facts.told,
              ElementsAre(std::pair<std::string, std::string>("seed", "1"),
                          std::pair<std::string, std::string>("rank 1: mood", "good")));
}

TEST_F(RanksOfFileTest, AllShareOneFile) {
  SharedRun run(file(), 1);
  Recorder other([] { return Time{}; });
  EXPECT_THAT(message_of<UsageError>([&] {
                other.start({.file = file("other.vtrace"), .shared = &run.shared(), .rank = 1});
              }),
              HasSubstr("all simulated ranks record into one file, \"" + file()));
}

TEST_F(RanksOfFileTest, RefusesRanksThatAreNotThereAndMachinesThatAreTooLarge) {
  {
    SharedRun run(file("few"), 3, 2);
    run.ran(2, 0, 1, "gemm");
    run.stop();
  }
  EXPECT_THAT(
      message_of<UsageError>([&] { const analysis::RecordedRun run(source("few")); }),
      HasSubstr("few: the events of the recording contradict each other: the run has no rank 2"));
  {
    SharedRun run(file("many"), 2, 1U << 20);
    run.stop();
  }
  EXPECT_THAT(message_of<UsageError>([&] { source("many"); }),
              HasSubstr("the machines of its 1048576 ranks are too large"));
}

TEST_F(RanksOfFileTest, AreOneRunAndAreComparedWithAnother) {
  const std::string a = made("a", 4);
  const std::string b = made("b", 2);
  const auto runs = [](const std::vector<std::string>& files, std::size_t most) {
    std::vector<std::size_t> ranks;
    for (const auto& run : open_runs(files, most)) ranks.push_back(run->ranks().size());
    return ranks;
  };
  EXPECT_THAT(runs({a}, 1), ElementsAre(4));
  EXPECT_THAT(runs({a, b}, 2), ElementsAre(4, 2));
  EXPECT_THAT(message_of<UsageError>([&] {
                runs({a, b}, 1);
              }),
              HasSubstr("give the recordings of one run"));
  EXPECT_THAT(message_of<UsageError>([&] { runs({a, b, a}, 2); }), HasSubstr("two runs at most"));
  EXPECT_EQ(name_of(*open_runs(std::vector{a}, 1)[0]), "a");
  // With a run of which each rank has a file, and two such runs.
  std::vector<std::string> files;
  for (const std::uint64_t key : {3, 4}) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      files.push_back(file(fmt::format("{}.{}", key, rank)));
      RankBuilder(rank, {.key = key}).builder.write(files.back());
    }
  }
  EXPECT_THAT(runs({files[0], files[1], b}, 2), ElementsAre(2, 2));
  EXPECT_THAT(runs({a, files[0], files[1]}, 2), ElementsAre(4, 2));
  EXPECT_THAT(runs({files[3], files[0], files[2], files[1]}, 2), ElementsAre(2, 2));
  EXPECT_THAT(reports::explain(files, {}, false).text, HasSubstr("3.0 to 3.1"));
}

TEST_F(RanksOfFileTest, ManyRanksAreRowsOfThePageWithTheirShares) {
  const std::string many = made("many", 300);
  const std::string few = made("few", 3);
  const std::string folded = reports::page(reports::PageRequest{.recordings = {many}});
  EXPECT_THAT(folded, HasSubstr("\"rank_rows\":[\"ranks 0 to 1\",\"ranks 2 to 3\""));
  const std::string unfolded = reports::page(reports::PageRequest{.recordings = {few}});
  EXPECT_THAT(unfolded, HasSubstr("\"rank_rows\":[]"));
}

TEST_F(RanksOfFileTest, AThreadThatRecordsForTwoRecordersHasOnePlaceInEach) {
  Recorder first;
  Recorder second;
  first.start({.file = file("first")});
  second.start({.file = file("second")});
  for (std::uint64_t i = 0; i < 100; ++i) {
    first.record<Event::task_ready>(0, i);
    second.record<Event::task_ready>(0, i);
  }
  first.stop();
  second.stop();
  for (const char* const name : {"first", "second"}) {
    std::set<std::uint32_t> lanes;
    std::vector<std::uint64_t> tasks;
    Reader(file(name)).each([&](const RecordedEvent& event) {
      lanes.insert(event.lane);
      if (event.event == Event::task_ready) tasks.push_back(event.field(1));
    });
    EXPECT_EQ(lanes.size(), 1U) << name;
    EXPECT_EQ(tasks.size(), 100U) << name;
  }
}

}  // namespace
}  // namespace vicinal::trace
