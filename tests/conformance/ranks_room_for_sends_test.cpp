// Several ranks: the room that is taken from the limit for sends, and the data that are registered behind it.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/local_ranks.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::rank_room {
namespace {

constexpr Bytes kSize{8192};

const Codelet kSevens{.name = "sevens", .cpu = [](KernelContext& k) {
                        for (std::size_t n = 0; n < k.count<std::uint64_t>(0); ++n)
                          k.data<std::uint64_t>(0)[n] = 7;
                      }};

// With a limit and a disk, so that content that is sent may have to be read first.
Options limited(const std::string& folder, Bytes memory) {
  Options options{.workers = 1};
  options.bind = false;
  options.models = "none";
  options.disk = folder;
  options.direct_io = false;
  options.memory = memory;
  options.undelivered_errors = "warn";
  return options;
}

std::vector<tests::RankOutcome> run_on_two(const std::string& folder, Bytes memory,
                                           const tests::RankProgram& program) {
  comm::LocalWorld world(2, {});
  return tests::run_on_ranks(
      world, [&](RankId) { return limited(folder, memory); }, program);
}

void expect_no_failure(const std::vector<tests::RankOutcome>& outcomes) {
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    EXPECT_EQ(outcomes[rank].text(), "") << "rank " << rank;
  }
}

// The slot of the handle by which room was taken is used again: what is registered there lives until the runtime ends.
TEST(RanksRoomForSends, DataBehindItGoHomeAtTheEndOfTheRuntime) {
  const testing::TemporaryFolder folder("ranks_room");
  const std::string path = folder.file("sevens");
  expect_no_failure(run_on_two(folder.path(), Bytes{8 * kSize.value}, [&](Runtime& runtime) {
    runtime.register_empty(RankId{0}, kSize, "x");  // takes the room
    const Handle y =
        runtime.register_file(RankId{0}, {.path = path, .writable = true, .create = true},
                              {.rows = kSize.value / 8, .columns = 1, .element_bytes = 8}, "y");
    runtime.submit({.codelet = &kSevens, .operands = {W(y)}});
    runtime.wait();
  }));
  std::vector<std::uint64_t> found(kSize.value / sizeof(std::uint64_t));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(found.data()), static_cast<std::streamsize>(kSize.value));
  EXPECT_TRUE(file.good());
  EXPECT_EQ(found, std::vector<std::uint64_t>(found.size(), 7));
}

// What is said while the program runs on both ranks, and by their ends.
std::string said(const tests::RankProgram& program) {
  const testing::TemporaryFolder folder("ranks_room");
  ::testing::internal::CaptureStderr();
  expect_no_failure(run_on_two(folder.path(), Bytes{8 * kSize.value}, program));
  return ::testing::internal::GetCapturedStderr();
}

TEST(RanksRoomForSends, DataBehindItAreForgottenOnce) {
  std::vector<std::uint64_t> home(kSize.value / sizeof(std::uint64_t));
  int released = 0;
  EXPECT_EQ(said([&](Runtime& runtime) {
              runtime.register_empty(RankId{0}, kSize, "x");
              runtime.unregister(runtime.register_buffer(RankId{0}, home.data(), kSize, "y",
                                                         [&released] { ++released; }));
            }),
            "");
  EXPECT_EQ(released, 1);
}

TEST(RanksRoomForSends, PartsBehindItAreForgottenOnce) {
  std::vector<std::uint64_t> home(kSize.value / sizeof(std::uint64_t));
  EXPECT_EQ(said([&](Runtime& runtime) {
              const Handle x = runtime.register_buffer(RankId{0}, home.data(), kSize, "x");
              runtime.unpartition(runtime.partition(x, pieces(kSize.value / 2)));
              runtime.wait();
            }),
            "");
}

// The thread holds what would have to give way: the call is refused, and what it had asked for is withdrawn.
TEST(RanksRoomForSends, RoomThatDoesNotComeIsNoLongerAskedFor) {
  const testing::TemporaryFolder folder("ranks_room");
  const auto outcomes = run_on_two(folder.path(), Bytes{4 * kSize.value}, [](Runtime& runtime) {
    const Handle x = runtime.register_empty(RankId{0}, kSize, "x");  // takes a quarter
    const Handle y = runtime.register_empty(RankId{0}, kSize, "y");
    const Handle z = runtime.register_empty(RankId{0}, kSize, "z");
    const Acquired held[] = {runtime.acquire(x, AccessMode::W), runtime.acquire(y, AccessMode::W),
                             runtime.acquire(z, AccessMode::W)};
    runtime.register_empty(RankId{0}, Bytes{2 * kSize.value}, "large");
    runtime.wait();
  });
  EXPECT_NE(outcomes[0].text().find("waits for what this thread itself holds"), std::string::npos)
      << outcomes[0].text();
}

}  // namespace
}  // namespace vicinal::rank_room
