// Who owns what, and what goes where: sequences worked by hand, seen by each of three ranks.
#include "comm/ownership.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace vicinal::comm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Lines = std::vector<std::string>;
constexpr AccessMode R = AccessMode::R;
constexpr AccessMode W = AccessMode::W;
constexpr AccessMode RW = AccessMode::RW;

// What one rank takes of a sequence: "d0v1 0>2" goes before the task, "d0v2 2>0 after" behind it, "d0 stale" ends.
class Seen {
 public:
  explicit Seen(std::uint32_t here, std::vector<std::uint64_t> bytes = {})
      : bytes_(std::move(bytes)), ownership_(RankId{here}, 3) {}
  DatumId add(std::uint32_t owner, bool written = true) {
    const std::size_t next = ownership_.size();
    return ownership_.add(RankId{owner}, Bytes{next < bytes_.size() ? bytes_[next] : 8}, written);
  }
  Lines run(std::vector<Use> uses, std::uint32_t on) {
    return lines(ownership_.run(uses, RankId{on}));
  }
  Lines everywhere(DatumId datum, AccessMode mode) {
    return lines(ownership_.run_everywhere(datum, mode));
  }
  std::uint32_t place(std::vector<Use> uses) const { return ownership_.place(uses).value; }
  Lines drop() {
    Lines all;
    for (const DatumId datum : ownership_.drop_copies())
      all.push_back("d" + std::to_string(datum.value));
    return all;
  }
  Ownership& its() { return ownership_; }

 private:
  static std::string line(const Transfer& transfer) {
    return "d" + std::to_string(transfer.datum.value) + "v" + std::to_string(transfer.version) +
           " " + std::to_string(transfer.from.value) + ">" + std::to_string(transfer.to.value);
  }
  static Lines lines(const Ownership::Effects& effects) {
    Lines all;
    for (const Transfer& transfer : effects.before) all.push_back(line(transfer));
    for (const Transfer& transfer : effects.after) all.push_back(line(transfer) + " after");
    for (const DatumId datum : effects.stale)
      all.push_back("d" + std::to_string(datum.value) + " stale");
    return all;
  }
  std::vector<std::uint64_t> bytes_;
  Ownership ownership_;
};

TEST(Ownership, AVersionGoesToARankOnce) {
  Seen owner(0);
  Seen reader(1);
  Seen other(2);
  for (Seen* const seen : {&owner, &reader, &other}) seen->add(0);
  EXPECT_THAT(owner.run({{{0}, R}}, 1), ElementsAre("d0v1 0>1"));
  EXPECT_THAT(reader.run({{{0}, R}}, 1), ElementsAre("d0v1 0>1"));
  EXPECT_THAT(other.run({{{0}, R}}, 1), IsEmpty());
  for (Seen* const seen : {&owner, &reader, &other})
    EXPECT_THAT(seen->run({{{0}, R}}, 1), IsEmpty());
  EXPECT_TRUE(reader.its().has({0}));
  EXPECT_FALSE(other.its().has({0}));
  // A new version: the copy ends, and the next reader is sent the new one.
  EXPECT_THAT(owner.run({{{0}, RW}}, 0), IsEmpty());
  EXPECT_THAT(reader.run({{{0}, RW}}, 0), ElementsAre("d0 stale"));
  EXPECT_THAT(other.run({{{0}, RW}}, 0), IsEmpty());
  EXPECT_THAT(owner.run({{{0}, R}}, 1), ElementsAre("d0v2 0>1"));
  EXPECT_THAT(reader.run({{{0}, R}}, 1), ElementsAre("d0v2 0>1"));
}

TEST(Ownership, WhatIsWrittenElsewhereGoesHome) {
  Seen owner(0);
  Seen writer(2);
  Seen other(1);
  for (Seen* const seen : {&owner, &writer, &other}) seen->add(0);
  EXPECT_THAT(other.run({{{0}, R}}, 1), ElementsAre("d0v1 0>1"));
  EXPECT_THAT(owner.run({{{0}, R}}, 1), ElementsAre("d0v1 0>1"));
  EXPECT_THAT(writer.run({{{0}, R}}, 1), IsEmpty());
  EXPECT_THAT(owner.run({{{0}, RW}}, 2), ElementsAre("d0v1 0>2", "d0v1 2>0 after"));
  EXPECT_THAT(writer.run({{{0}, RW}}, 2), ElementsAre("d0v1 0>2", "d0v1 2>0 after"));
  EXPECT_THAT(other.run({{{0}, RW}}, 2), ElementsAre("d0 stale"));
  // The writer has what it has written.
  EXPECT_THAT(owner.run({{{0}, R}}, 2), IsEmpty());
  EXPECT_THAT(writer.run({{{0}, R}}, 2), IsEmpty());
  EXPECT_THAT(owner.run({{{0}, R}}, 1), ElementsAre("d0v2 0>1"));
}

// A rank that has written the version has it without a send.
TEST(Ownership, TheRanksToWhichAVersionGoesAreCounted) {
  Ownership owner(RankId{0}, 200);
  const DatumId datum = owner.add(RankId{0}, Bytes{8}, true);
  const auto reader = [&](std::uint32_t rank) {
    const auto before = owner.run(std::vector<Use>{{datum, R}}, RankId{rank}).before;
    return before.empty() ? 0 : before[0].reader;
  };
  EXPECT_EQ(reader(5), 1U);
  EXPECT_EQ(reader(150), 2U);
  EXPECT_EQ(reader(5), 0U);  // it has the version
  EXPECT_EQ(reader(63), 3U);
  owner.run(std::vector<Use>{{datum, RW}}, RankId{7});  // who has the version then
  EXPECT_EQ(reader(7), 0U);
  EXPECT_EQ(reader(5), 1U);
  owner.run(std::vector<Use>{{datum, W}}, RankId{0});
  EXPECT_EQ(reader(7), 1U);
  owner.run(std::vector<Use>{{datum, W}}, RankId{7});
  owner.drop_copies();
  EXPECT_EQ(reader(7), 1U);
  EXPECT_EQ(reader(8), 2U);
}

TEST(Ownership, ATaskThatOnlyOverwritesReceivesNothing) {
  Seen owner(0);
  owner.add(0, false);
  EXPECT_TRUE(owner.its().unwritten({0}));
  EXPECT_THAT(owner.run({{{0}, W}}, 1), ElementsAre("d0v1 1>0 after"));
  EXPECT_FALSE(owner.its().unwritten({0}));
}

TEST(Ownership, ATaskRunsWhereItReceivesLeast) {
  Seen seen(0, {100, 10, 1000, 100});
  seen.add(0);
  seen.add(1);
  seen.add(2);
  seen.add(0);
  EXPECT_EQ(seen.place({}), 0U);
  EXPECT_EQ(seen.place({{{2}, R}, {{1}, RW}}), 1U);  // what it writes lives there
  EXPECT_EQ(seen.place({{{0}, RW}, {{1}, RW}}), 0U);
  EXPECT_EQ(seen.place({{{0}, W}, {{1}, RW}}), 1U);  // rank 0 would receive 10, rank 1 nothing
  EXPECT_EQ(seen.place({{{0}, R}, {{1}, R}, {{2}, R}}), 2U);
  EXPECT_EQ(seen.place({{{1}, W}, {{2}, W}}), 1U);            // equal
  EXPECT_EQ(seen.place({{{2}, R}, {{0}, W}, {{1}, W}}), 0U);  // 1000 both
}

TEST(Ownership, AllRanksGetWhatAllAccess) {
  Seen owner(1);
  Seen other(2);
  for (Seen* const seen : {&owner, &other}) seen->add(1);
  EXPECT_THAT(owner.everywhere({0}, R), ElementsAre("d0v1 1>0", "d0v1 1>2"));
  EXPECT_THAT(other.everywhere({0}, R), ElementsAre("d0v1 1>2"));
  EXPECT_THAT(owner.everywhere({0}, RW), IsEmpty());
  EXPECT_THAT(other.everywhere({0}, RW), IsEmpty());
  // Each has written the same.
  EXPECT_THAT(owner.run({{{0}, R}}, 2), IsEmpty());
  EXPECT_THAT(other.run({{{0}, R}}, 2), IsEmpty());
  EXPECT_THAT(owner.run({{{0}, W}}, 1), IsEmpty());
  EXPECT_THAT(other.run({{{0}, W}}, 1), ElementsAre("d0 stale"));
}

TEST(Ownership, DroppedCopiesAreSentAgain) {
  Seen owner(0);
  Seen reader(1);
  for (Seen* const seen : {&owner, &reader}) {
    seen->add(0);
    seen->add(0);
    seen->run({{{0}, R}, {{1}, R}}, 1);
    seen->run({{{1}, W}}, 0);  // its copy has ended
  }
  EXPECT_THAT(owner.drop(), IsEmpty());
  EXPECT_THAT(reader.drop(), ElementsAre("d0"));
  EXPECT_THAT(reader.drop(), IsEmpty());
  EXPECT_THAT(owner.run({{{0}, R}}, 1), ElementsAre("d0v3 0>1"));
  EXPECT_THAT(reader.run({{{0}, R}}, 1), ElementsAre("d0v3 0>1"));
}

TEST(Ownership, ForgottenDataHaveNoContent) {
  Seen reader(1);
  reader.add(0);
  reader.run({{{0}, R}}, 1);
  reader.its().forget({0});
  EXPECT_TRUE(reader.its().unwritten({0}));
  EXPECT_FALSE(reader.its().has({0}));
  EXPECT_THAT(reader.drop(), IsEmpty());
}

}  // namespace
}  // namespace vicinal::comm
