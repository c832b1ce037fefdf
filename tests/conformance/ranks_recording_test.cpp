// What recordings of several ranks say, so that they can be joined: who records, how its clock differs, and each message on
// both sides.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "support/local_ranks.hpp"
#include "support/temporary_folder.hpp"
#include "trace/reader.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::ranks_recording {
namespace {

using trace::Event;

const Codelet kFirst{.name = "first", .cpu = [](KernelContext& k) {
                       std::ranges::fill(std::span(k.data<double>(0), k.count<double>(0)), 1.0);
                     }};
const Codelet kAdd{.name = "add",
                   .cpu = [](KernelContext& k) { k.data<double>(0)[0] += k.data<double>(1)[0]; }};

using Message = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

struct File {
  std::vector<std::uint64_t> known;                              // rank, ranks, run
  std::vector<std::pair<std::int64_t, std::uint64_t>> compared;  // offset, error
  std::map<Message, std::uint64_t> began[2];                     // bytes
  std::set<Message> ended[2];
};

File read_file(const std::string& path, std::uint64_t rank) {
  File file;
  const trace::Reader reader(path);
  reader.each([&](const trace::RecordedEvent& event) {
    const bool is_received =
        (event.event == Event::message_began || event.event == Event::message_ended) &&
        event.field(2) == 1;
    const auto message = [&] {
      const std::uint64_t other = event.field(0);
      return Message{is_received ? other : rank, is_received ? rank : other, event.field(3),
                     event.field(4)};
    };
    switch (event.event) {
      case Event::rank_known:
        file.known = {event.field(0), event.field(1), event.field(2)};
        break;
      case Event::clock_compared:
        file.compared.emplace_back(static_cast<std::int64_t>(event.field(2)), event.field(3));
        break;
      case Event::message_began:
        EXPECT_TRUE(file.began[is_received].emplace(message(), event.field(5)).second);
        break;
      case Event::message_ended:
        EXPECT_TRUE(file.began[is_received].contains(message()));
        EXPECT_TRUE(file.ended[is_received].insert(message()).second);
        break;
      default:
        break;
    }
  });
  return file;
}

// A tile that goes round: small enough for a message, and not.
void go_round(Runtime& runtime, Bytes bytes, std::uint32_t rounds) {
  const std::uint32_t ranks = runtime.rank_count();
  std::vector<Handle> tiles;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    tiles.push_back(runtime.register_empty(RankId{rank}, bytes, "t" + std::to_string(rank)));
    runtime.submit({.codelet = &kFirst, .operands = {W(tiles.back())}});
  }
  for (std::uint32_t i = 0; i < rounds * ranks; ++i) {
    runtime.submit(
        {.codelet = &kAdd, .operands = {RW(tiles[(i + 1) % ranks]), R(tiles[i % ranks])}});
  }
  runtime.wait();
}

class RanksRecording : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, RanksRecording, ::testing::Values(64, 100'000));

TEST_P(RanksRecording, SaysWhatReadersNeedToJoinThem) {
  constexpr std::uint32_t kRanks = 3;
  constexpr std::uint32_t kRounds = 5;
  const testing::TemporaryFolder folder;
  const auto path = [&](std::uint32_t rank) {
    return folder.path() + "/rank" + std::to_string(rank) + ".vtrace";
  };
  comm::LocalWorld world(kRanks, {.seed = 11});
  const auto options = [](RankId) { return Options{.workers = 1}; };
  const auto outcomes = tests::run_on_ranks(world, options, [&](Runtime& runtime) {
    runtime.start_trace(path(runtime.this_rank().value));
    go_round(runtime, Bytes{GetParam()}, kRounds);
  });
  for (const tests::RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.text(), "");
  std::vector<File> files;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) files.push_back(read_file(path(rank), rank));
  std::map<Message, std::uint64_t> sent;
  std::map<Message, std::uint64_t> received;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const File& file = files[rank];
    ASSERT_EQ(file.known.size(), 3U);
    EXPECT_EQ(file.known[0], rank);
    EXPECT_EQ(file.known[1], kRanks);
    EXPECT_EQ(file.known[2], files[0].known[2]);
    // When it begins, or soon afterwards, and at the end; all have one clock.
    EXPECT_GE(file.compared.size(), rank == 0 ? 0U : 1U);
    for (const auto& [offset, error] : file.compared) {
      EXPECT_LE(static_cast<std::uint64_t>(std::abs(offset)), error);
    }
    for (const int direction : {0, 1}) {
      EXPECT_EQ(file.began[direction].size(), file.ended[direction].size());
    }
    sent.insert(file.began[0].begin(), file.began[0].end());
    received.insert(file.began[1].begin(), file.began[1].end());
  }
  EXPECT_EQ(sent, received);
  EXPECT_EQ(sent.size(), kRounds * kRanks);
  for (const auto& [message, bytes] : sent) EXPECT_EQ(bytes, GetParam());
}

// Rank 1 has nothing to do before the tile of rank 0 has come.
TEST(RanksIdle, TimeInWhichContentWasAwaitedIsIdleTime) {
  comm::LocalWorld world(2, {.seed = 3});
  const Codelet slow{.name = "slow", .cpu = [](KernelContext& k) {
                       std::this_thread::sleep_for(std::chrono::milliseconds(20));
                       k.data<double>(0)[0] = 1;
                     }};
  const auto options = [](RankId) { return Options{.workers = 1, .submitter_works = false}; };
  const auto outcomes = tests::run_on_ranks(world, options, [&](Runtime& runtime) {
    const Handle made = runtime.register_empty(RankId{0}, Bytes{8}, "made");
    const Handle used = runtime.register_empty(RankId{1}, Bytes{8}, "used");
    runtime.submit({.codelet = &kFirst, .operands = {W(used)}});
    runtime.submit({.codelet = &slow, .operands = {W(made)}});
    runtime.submit({.codelet = &kAdd, .operands = {RW(used), R(made)}});
    runtime.wait();
    const Statistics statistics = runtime.statistics();
    const WorkerStatistics& worker = statistics.workers[0];
    EXPECT_LE(worker.awaiting, statistics.now);
    if (runtime.this_rank().value == 1) {
      EXPECT_GT(worker.awaiting, Time{0});
    } else {
      EXPECT_EQ(worker.awaiting, Time{0});
    }
  });
  for (const tests::RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.text(), "");
}

}  // namespace
}  // namespace vicinal::ranks_recording
