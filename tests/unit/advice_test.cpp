#include "analysis/advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/made_run.hpp"

namespace vicinal::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using vicinal::testing::MadeRun;
using Predecessors = std::vector<std::vector<std::uint32_t>>;

Analyses analyses_of(const RecordedRun& run, const Predecessors& predecessors) {
  return {.predecessors = predecessors,
          .path = critical_path(run, predecessors),
          .chain = longest_chain(run, predecessors),
          .idle = idle_times(run),
          .traffic = traffic(run)};
}

struct Short {
  AdviceKind kind;
  std::string subject;
  std::int64_t gain;
  friend bool operator==(const Short&, const Short&) = default;
  friend void PrintTo(const Short& s, std::ostream* out) {
    *out << to_string(s.kind) << " " << s.subject << " " << s.gain;
  }
};

std::vector<Short> in_short(const std::vector<Advice>& all) {
  std::vector<Short> result;
  for (const Advice& advice : all) result.push_back({advice.kind, advice.subject, advice.gain});
  return result;
}

// The run of CriticalPath.GoesThroughAllThatATaskWaitedFor. On its path, of 300 ns: submission 5, release 5 + 10, policy
// 10 + 10, worker 10 + 5, runs 70 + 35, room 30, link 50, copy 60. The chain is 105 long, and the work 105 for two workers:
// no order can gain more than 300 - 105, and more workers no more than 52 each.
TEST(Advice, GainsWhatTheCriticalPathSpendsOnWhatItTakesAway) {
  MadeRun made(1, 1);
  const std::uint32_t a = made.datum("a", 1000);
  made.task(
      "writes",
      {.worker = 0, .submitted = 5, .ready = 10, .scheduled = 20, .started = 30, .ended = 100},
      {{a, AccessMode::W}});
  made.task("reads",
            {.worker = 1,
             .submitted = 6,
             .ready = 110,
             .scheduled = 120,
             .wanted = 120,
             .granted = 150,
             .operands = 260,
             .started = 265,
             .ended = 300},
            {{a, AccessMode::R}});
  made.copy(
      {.datum = a, .from = 0, .to = 1, .bytes = 1000, .wanted = 150, .started = 200, .ended = 260});
  const std::vector<Advice> all = advice(made.run, analyses_of(made.run, {{}, {0}}));
  using enum AdviceKind;
  EXPECT_THAT(
      in_short(all),
      ElementsAre(Short{order, "", 195}, Short{link, "ram->gpu0", 110}, Short{kernel, "writes", 70},
                  Short{workers, "", 52}, Short{kernel, "reads", 35}, Short{memory, "gpu0", 30},
                  Short{larger_tasks, "", 30}, Short{policy, "", 20}, Short{submission, "", 5}));
  EXPECT_EQ(all[1].change, "A faster link from ram to gpu0");
  EXPECT_THAT(all[1].reason, HasSubstr("60 ns for its copies, and 50 ns for copies before them"));
}

// Core 0 runs for 90 ns; core 1 for the first 30, core 2 never. Divided, that gives 30 / 2 + 60 x 2 / 3.
TEST(Advice, DividesATaskAmongThoseThatHaveNothing) {
  MadeRun made(3);
  made.task("long",
            {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 0, .started = 0, .ended = 90});
  made.task("short",
            {.worker = 1, .submitted = 0, .ready = 0, .scheduled = 0, .started = 0, .ended = 30});
  const std::vector<Advice> all = advice(made.run, analyses_of(made.run, {{}, {}}));
  using enum AdviceKind;
  // The chain is the long task; the path is nothing else.
  EXPECT_THAT(in_short(all),
              ElementsAre(Short{kernel, "long", 90}, Short{smaller_tasks, "long", 55}));
}

// The task waits 20 ns for room on gpu0 and 40 for a datum that had been evicted from there.
TEST(Advice, CountsReloadsAsLackOfMemory) {
  MadeRun made(0, 1);
  const std::uint32_t a = made.datum("a", 1000);
  made.task("t",
            {.worker = 0,
             .submitted = 0,
             .ready = 0,
             .scheduled = 0,
             .wanted = 0,
             .granted = 20,
             .operands = 60,
             .started = 60,
             .ended = 70},
            {{a, AccessMode::R}});
  made.run.room = {
      {.time = 10, .node = 1, .datum = a, .kind = RoomChange::Kind::evicted, .saved_first = false}};
  made.copy(
      {.datum = a, .from = 0, .to = 1, .bytes = 1000, .wanted = 20, .started = 20, .ended = 60});
  const std::vector<Advice> all = advice(made.run, analyses_of(made.run, {{}}));
  using enum AdviceKind;
  EXPECT_THAT(in_short(all), ElementsAre(Short{memory, "gpu0", 60}, Short{order, "", 60},
                                         Short{link, "ram->gpu0", 40}, Short{workers, "", 10},
                                         Short{kernel, "t", 10}));
}

// A chain of twelve codelets: each could be faster, and ten are told, the longest first.
TEST(Advice, IsTenAtMost) {
  MadeRun made(1);
  Predecessors predecessors;
  std::int64_t time = 0;
  for (std::uint32_t t = 0; t < 12; ++t) {
    const std::int64_t begin = time;
    time += 10 + t;
    made.task("codelet " + std::to_string(t), {.worker = 0,
                                               .submitted = 0,
                                               .ready = begin,
                                               .scheduled = begin,
                                               .started = begin,
                                               .ended = time});
    predecessors.push_back(t == 0 ? std::vector<std::uint32_t>{} : std::vector{t - 1});
  }
  const std::vector<Advice> all = advice(made.run, analyses_of(made.run, predecessors));
  ASSERT_EQ(all.size(), kMostAdvice);
  EXPECT_EQ(all.front().subject, "codelet 11");
  EXPECT_EQ(all.front().gain, 21);
}

TEST(Advice, OfNothingIsNone) {
  const RecordedRun run;
  EXPECT_TRUE(advice(run, analyses_of(run, {})).empty());
}

}  // namespace
}  // namespace vicinal::analysis
