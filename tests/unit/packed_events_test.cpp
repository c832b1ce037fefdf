#include "trace/packed_events.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/random_runs.hpp"
#include "trace/event.hpp"

namespace vicinal::trace {
namespace {

using Words = std::vector<std::uint64_t>;

void add(Words& words, Event event, std::uint64_t time, std::uint32_t first, const Words& rest) {
  words.push_back(time);
  words.push_back(static_cast<std::uint64_t>(event) | (rest.size() + 2) << 16 |
                  std::uint64_t{first} << 32);
  words.insert(words.end(), rest.begin(), rest.end());
}

// Empty: they take no fewer words.
Words packed(const Words& words) {
  Words room(4 * words.size() + 64);
  room.resize(pack_events(words, room));
  return room;
}

Words unpacked(const Words& packed) {
  Words words;
  EXPECT_TRUE(unpack_events(packed, words));
  return words;
}

TEST(PackedEvents, AreTheSameAgain) {
  Words words;
  for (std::uint64_t task = 1; task < 50; ++task) {
    add(words, Event::task_started, 1000 * task, task % 3, {task, 4});
    add(words, Event::task_ended, 1000 * task + 700, task % 3, {task, 0, kNone});
    add(words, Event::worker_slept, 0, kNone & 0xffffffff, {});
    add(words, Event::decision, kNone, task % 2 == 0 ? 3 : 100, {0, task, kNone, kNone, 1, 4});
  }
  const Words small = packed(words);
  ASSERT_FALSE(small.empty());
  EXPECT_LT(small.size(), words.size() / 4);
  EXPECT_EQ(unpacked_words(small), words.size());
  EXPECT_EQ(unpacked(small), words);
}

TEST(PackedEvents, AreLeftAsTheyAreWhereThatTakesNoMore) {
  Words words;
  add(words, Event::task_started, 0x7fedcba987654321, 7, {0x1234567890abcdef, 0xfedcba0987654321});
  EXPECT_TRUE(packed(words).empty());
  EXPECT_TRUE(packed({}).empty());
}

// Any numbers of any events, those of a kind of different lengths.
Words any_events(base::Random& random) {
  Words words;
  Words last(24);
  for (std::uint64_t count = 1 + random.below(300); count > 0; --count) {
    Words rest(random.below(20));
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const std::uint64_t bits = random.below(64);
      rest[i] = random.below(3) == 0 ? random.next() >> bits : last[i];
      last[i] = rest[i];
    }
    const auto event = static_cast<Event>(random.below(events().size()));
    add(words, event, random.next() >> random.below(64), static_cast<std::uint32_t>(random.next()),
        rest);
  }
  return words;
}

TEST(PackedEvents, OfAnyNumbersAreTheSameAgain) {
  testing::for_each_seed(50, [](base::Random& random, std::uint64_t /*seed*/) {
    const Words words = any_events(random);
    const Words small = packed(words);
    if (small.empty()) return;
    EXPECT_EQ(unpacked(small), words);
  });
}

// Whatever they claim; the sanitizers see what lies outside.
TEST(PackedEvents, ThatAreDamagedGiveWholeEventsOrNone) {
  testing::for_each_seed(50, [](base::Random& random, std::uint64_t /*seed*/) {
    Words small;
    while (small.empty()) small = packed(any_events(random));
    for (int damages = 0; damages < 20; ++damages) {
      Words damaged = small;
      for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
        damaged[random.below(damaged.size())] ^= std::uint64_t{1} << random.below(64);
      }
      if (random.below(4) == 0) damaged.resize(random.below(damaged.size() + 1));
      Words words;
      if (!unpack_events(damaged, words)) continue;
      EXPECT_EQ(words.size(), damaged[0]);
      std::size_t at = 0;
      while (at + 1 < words.size()) at += std::max<std::size_t>(words[at + 1] >> 16 & 0xffff, 2);
      EXPECT_EQ(at, words.size());
    }
  });
}

TEST(PackedEvents, ThatClaimMoreThanTheyCanHoldAreNone) {
  Words words;
  EXPECT_FALSE(unpack_events({}, words));
  EXPECT_FALSE(unpack_events(Words{kMostPackedWords + 1, 0, 0}, words));
  EXPECT_FALSE(unpack_events(Words{kMostPackedWords, 0, 0}, words));
  EXPECT_LT(words.capacity(), kMostPackedWords);
}

}  // namespace
}  // namespace vicinal::trace
