#include "trace/decision_words.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "trace/event.hpp"

namespace vicinal::trace {
namespace {

using Words = std::vector<std::uint64_t>;

Words put(const Decision& decision) {
  Words words(words_of(decision));
  put_decision(decision, words.data());
  return words;
}

Decision full_decision() {
  Decision decision(Reason::latest_next_use, Among::handles, Time{90});
  decision.task = TaskId{0x700000001};
  decision.handle = HandleId{3};
  decision.node = NodeId{1};
  decision.worker = WorkerId{2};
  decision.bytes = Bytes{4096};
  decision.scores = {{Measure::priority, -5}};
  decision.consider({11, {{Measure::next_use, 4}, {Measure::queued, 0}}});
  decision.consider({12, {}}, true);
  return decision;
}

void expect_same(const Decision& a, const Decision& b) {
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.among, b.among);
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.task, b.task);
  EXPECT_EQ(a.handle, b.handle);
  EXPECT_EQ(a.node, b.node);
  EXPECT_EQ(a.worker, b.worker);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.scores, b.scores);
  EXPECT_EQ(a.winner, b.winner);
  ASSERT_EQ(a.candidates.size(), b.candidates.size());
  for (std::size_t i = 0; i < a.candidates.size(); ++i) {
    EXPECT_EQ(a.candidates[i].id, b.candidates[i].id);
    EXPECT_EQ(a.candidates[i].scores, b.candidates[i].scores);
  }
}

void expect_returns(const Decision& decision) {
  const auto read =
      read_decision(static_cast<std::uint32_t>(decision.reason), decision.time.ns, put(decision));
  ASSERT_TRUE(read);
  expect_same(*read, decision);
}

TEST(DecisionWords, GiveTheDecisionBack) {
  expect_returns(full_decision());
  expect_returns(Decision(Reason::no_room, Among::nodes, Time{}));  // with nothing in it
}

TEST(DecisionWords, AreThoseThatTheHeaderSays) {
  Decision decision(Reason::least_cost, Among::workers, Time{});
  decision.worker = WorkerId{5};
  decision.scores = {{Measure::draw, 9}};
  decision.consider({3, {{Measure::end, 70}}}, true);
  // The fields: among, task, handle, node, worker, bytes, winner. The tail: one candidate and one score; the score; the
  // candidate's id, the number of its scores, its score.
  const Words expected{3,
                       kNone,
                       kNone,
                       kNone,
                       5,
                       kNone,
                       0,
                       1 | 1ULL << 32,
                       static_cast<std::uint64_t>(Measure::draw),
                       9,
                       3,
                       1,
                       static_cast<std::uint64_t>(Measure::end),
                       70};
  EXPECT_EQ(put(decision), expected);
}

TEST(DecisionWords, AreRefusedIfTheyAreCutOrTooMany) {
  const auto rule = static_cast<std::uint32_t>(Reason::latest_next_use);
  const Words words = put(full_decision());
  for (std::size_t count = 0; count < words.size(); ++count) {
    EXPECT_FALSE(read_decision(rule, 0, std::span(words).first(count))) << count;
  }
  Words more = words;
  more.push_back(0);
  EXPECT_FALSE(read_decision(rule, 0, more));
}

TEST(DecisionWords, AreRefusedIfTheySayWhatCannotBe) {
  const auto rule = static_cast<std::uint32_t>(Reason::latest_next_use);
  const Words good = put(full_decision());
  const auto with = [&](std::size_t at, std::uint64_t word) {
    Words words = good;
    words[at] = word;
    return read_decision(rule, 0, words).has_value();
  };
  EXPECT_TRUE(with(6, 1));
  EXPECT_FALSE(with(0, 4));                           // among what there is not
  EXPECT_FALSE(with(3, 1ULL << 32));                  // a node of more than 32 bits
  EXPECT_FALSE(with(4, kNone - 1));                   // a worker likewise
  EXPECT_FALSE(with(6, 2));                           // a winner that is no candidate
  EXPECT_FALSE(with(7, 2 | 0xffffffffULL << 32));     // more scores than words
  EXPECT_FALSE(with(7, 0xffffffffULL | 1ULL << 32));  // more candidates
  EXPECT_FALSE(with(8, measures().size()));           // a measure that there is not
  EXPECT_FALSE(with(11, kNone));                      // of a candidate: more scores
  EXPECT_FALSE(read_decision(static_cast<std::uint32_t>(reasons().size()), 0, good));
}

TEST(DecisionWords, OfManyRandomDecisionsComeBack) {
  constexpr std::uint64_t kSeed = 20;
  base::Random random(kSeed);
  const auto scores = [&] {
    base::SureVector<Score> some(random.below(5));
    for (Score& score : some) {
      score = {static_cast<Measure>(random.below(measures().size())),
               static_cast<std::int64_t>(random.next())};
    }
    return some;
  };
  for (int i = 0; i < 200; ++i) {
    Decision decision(static_cast<Reason>(random.below(reasons().size())),
                      static_cast<Among>(random.below(4)), Time{i});
    if (random.below(2) == 0) decision.handle = HandleId{random.next() >> 1};
    decision.scores = scores();
    const std::uint64_t candidates = random.below(70);
    for (std::uint64_t c = 0; c < candidates; ++c) {
      decision.consider({random.next(), scores()}, random.below(30) == 0);
    }
    SCOPED_TRACE(i);
    expect_returns(decision);
  }
}

TEST(DecisionWords, SayWhereTheirMeasuresAre) {
  const Words words = put(full_decision());
  const std::span<const std::uint64_t> tail = std::span(words).subspan(7);
  std::vector<std::uint64_t> found;
  EXPECT_TRUE(visit_measures(tail, [&](std::size_t place) { found.push_back(tail[place]); }));
  EXPECT_EQ(found, (std::vector<std::uint64_t>{static_cast<std::uint64_t>(Measure::priority),
                                               static_cast<std::uint64_t>(Measure::next_use),
                                               static_cast<std::uint64_t>(Measure::queued)}));
  for (std::size_t count = 0; count < tail.size(); ++count) {
    EXPECT_FALSE(visit_measures(tail.first(count), [](std::size_t) {})) << count;
  }
}

}  // namespace
}  // namespace vicinal::trace
