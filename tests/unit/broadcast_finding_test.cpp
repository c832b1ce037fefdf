#include "comm/broadcast_finding.hpp"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vicinal/error.hpp"

namespace vicinal::comm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr DatumId kDatum{7};

// The `reader`th send of a version, to the rank of this number.
ReadyTransfer send(std::uint32_t reader, DatumId datum = kDatum) {
  return {.id = {100 * datum.value + reader},
          .what = {datum, 1, RankId{0}, RankId{reader}, reader == 1, reader},
          .bytes = Bytes{8}};
}

std::vector<std::uint32_t> left_with(BroadcastFinding& finding,
                                     const BroadcastFinding::Group& group) {
  std::vector<std::uint32_t> ranks;
  for (const ReadyTransfer& one : finding.leave(*group)) ranks.push_back(one.what.to.value);
  return ranks;
}

TEST(BroadcastFinding, ReadersSubmittedBeforeTheVersionIsReadyLeaveTogetherInBothWays) {
  for (const Finding way : {Finding::sequence, Finding::bags}) {
    BroadcastFinding finding(way);
    const auto first = finding.join(send(1));
    const auto second = finding.join(send(2));
    const auto third = finding.join(send(3));
    finding.ready(*second);
    EXPECT_THAT(left_with(finding, second), ElementsAre(1, 2, 3));
    for (const auto& group : {first, third}) {
      finding.ready(*group);
      EXPECT_THAT(left_with(finding, group), IsEmpty());
    }
    const FindingCounts counts = finding.counts();
    EXPECT_EQ(counts.several, 1U);
    EXPECT_EQ(counts.in_time, 1U);
    EXPECT_EQ(counts.missed, 0U);
    EXPECT_EQ(counts.late, 0U);
  }
}

TEST(BroadcastFinding, AReaderBetweenReadyAndSentIsTakenAlongBySequenceAndGoesAloneWithBags) {
  BroadcastFinding sequence(Finding::sequence);
  const auto group = sequence.join(send(1));
  sequence.ready(*group);
  EXPECT_EQ(sequence.join(send(2)), group);
  EXPECT_THAT(left_with(sequence, group), ElementsAre(1, 2));
  EXPECT_EQ(sequence.counts().late, 0U);
  EXPECT_EQ(sequence.counts().several, 1U);
  EXPECT_EQ(sequence.counts().in_time, 0U);

  BroadcastFinding bags(Finding::bags);
  const auto bag = bags.join(send(1));
  bags.ready(*bag);
  const auto alone = bags.join(send(2));
  EXPECT_THAT(left_with(bags, bag), ElementsAre(1));
  bags.ready(*alone);
  EXPECT_THAT(left_with(bags, alone), ElementsAre(2));
  EXPECT_EQ(bags.counts().late, 1U);
  EXPECT_EQ(bags.counts().several, 1U);
  EXPECT_EQ(bags.counts().in_time, 0U);
  EXPECT_EQ(bags.counts().missed, 0U);
}

TEST(BroadcastFinding, LateReadersLeaveTogetherBySequenceAndOneByOneWithBags) {
  for (const Finding way : {Finding::sequence, Finding::bags}) {
    BroadcastFinding finding(way);
    const auto first = finding.join(send(1));
    finding.ready(*first);
    EXPECT_THAT(left_with(finding, first), ElementsAre(1));
    const auto second = finding.join(send(2));
    finding.ready(*second);
    const auto third = finding.join(send(3));
    finding.ready(*third);
    if (way == Finding::sequence) {
      EXPECT_THAT(left_with(finding, second), ElementsAre(2, 3));
      EXPECT_THAT(left_with(finding, third), IsEmpty());
    } else {
      EXPECT_THAT(left_with(finding, second), ElementsAre(2));
      EXPECT_THAT(left_with(finding, third), ElementsAre(3));
    }
    EXPECT_EQ(finding.counts().late, 2U);
    EXPECT_EQ(finding.counts().missed, 0U);  // of nothing that was submitted in time
  }
}

// The old version is not sent yet when the datum is written: its readers go without those of the new one.
TEST(BroadcastFinding, AWriteEndsTheGroup) {
  for (const Finding way : {Finding::sequence, Finding::bags}) {
    BroadcastFinding finding(way);
    const auto old = finding.join(send(1));
    finding.join(send(2));
    const auto next = finding.join(send(1));  // the first of a version
    finding.join(send(2));
    finding.join(send(3));
    EXPECT_NE(old, next);
    finding.ready(*old);
    EXPECT_THAT(left_with(finding, old), ElementsAre(1, 2));
    finding.ready(*next);
    EXPECT_THAT(left_with(finding, next), ElementsAre(1, 2, 3));
    EXPECT_EQ(finding.counts().several, 2U);
    EXPECT_EQ(finding.counts().in_time, 2U);
    EXPECT_EQ(finding.counts().missed, 0U);
  }
}

TEST(BroadcastFinding, ABagClosesWhenAsManyHaveJoinedAsWereAnnounced) {
  BroadcastFinding finding(Finding::bags);
  finding.announce(kDatum, 2);
  const auto bag = finding.join(send(1));
  EXPECT_EQ(finding.join(send(2)), bag);
  const auto alone = finding.join(send(3));
  EXPECT_NE(alone, bag);
  finding.ready(*alone);  // in any order
  finding.ready(*bag);
  EXPECT_THAT(left_with(finding, alone), ElementsAre(3));
  EXPECT_THAT(left_with(finding, bag), ElementsAre(1, 2));
  EXPECT_EQ(finding.counts().in_time, 1U);
  EXPECT_EQ(finding.counts().missed, 1U);  // three were there in time, and did not go together
  EXPECT_EQ(finding.counts().late, 0U);
  // The announcement was of that version.
  const auto next = finding.join(send(1));
  for (std::uint32_t reader = 2; reader < 6; ++reader) EXPECT_EQ(finding.join(send(reader)), next);
}

// Fewer than announced: nobody waits for the others.
TEST(BroadcastFinding, ABagThatIsReadyDoesNotWaitForTheAnnounced) {
  BroadcastFinding finding(Finding::bags);
  finding.announce(kDatum, 5);
  const auto bag = finding.join(send(1));
  finding.join(send(2));
  finding.ready(*bag);
  EXPECT_THAT(left_with(finding, bag), ElementsAre(1, 2));
  EXPECT_EQ(finding.counts().missed, 0U);
}

// After a wait with a limit of memory the ranks have given up their copies, and are sent the same version again: no rank is
// in a group twice.
TEST(BroadcastFinding, ARankThatIsSentAVersionAgainIsInAnotherGroup) {
  for (const Finding way : {Finding::sequence, Finding::bags}) {
    BroadcastFinding finding(way);
    const auto first = finding.join(send(1));
    finding.join(send(2));
    ReadyTransfer again = send(1);
    again.what.is_first = false;
    const auto second = finding.join(again);
    const auto third = finding.join(send(2));
    finding.ready(*first);
    EXPECT_THAT(left_with(finding, first), ElementsAre(1, 2));
    finding.ready(*second);
    finding.ready(*third);
    if (way == Finding::sequence) {
      EXPECT_THAT(left_with(finding, second), ElementsAre(1, 2));
      EXPECT_THAT(left_with(finding, third), IsEmpty());
    } else {
      EXPECT_THAT(left_with(finding, second), ElementsAre(1));
      EXPECT_THAT(left_with(finding, third), ElementsAre(2));
    }
    EXPECT_EQ(finding.counts().missed, 0U);
  }
}

TEST(BroadcastFinding, DataAreApart) {
  BroadcastFinding finding(Finding::bags);
  const auto one = finding.join(send(1, {1}));
  const auto other = finding.join(send(1, {2}));
  finding.join(send(2, {2}));
  finding.ready(*one);
  EXPECT_THAT(left_with(finding, one), ElementsAre(1));
  finding.ready(*other);
  EXPECT_THAT(left_with(finding, other), ElementsAre(1, 2));
}

TEST(BroadcastFinding, AnotherWayIsRefusedAndTheChoicesNamed) {
  EXPECT_EQ(finding_of_option("sequence"), Finding::sequence);
  EXPECT_EQ(finding_of_option("bags"), Finding::bags);
  try {
    finding_of_option("bag");
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("sequence and bags"));
  }
}

}  // namespace
}  // namespace vicinal::comm
