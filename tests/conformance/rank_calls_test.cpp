// Several ranks: calls of the API, one by one. What is wrong is refused on all ranks alike, or ends the run on all.
#include <atomic>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/local_ranks.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::rank_calls {
namespace {

Options plain_options(RankId) {
  Options options{.workers = 1};
  options.bind = false;
  options.models = "none";
  options.submitter_works = true;
  return options;
}

// The program on each of so many ranks; none fails.
void run_everywhere(std::uint32_t ranks, const tests::RankProgram& program,
                    const tests::RankOptions& options = plain_options) {
  comm::LocalWorld world(ranks, {});
  const auto outcomes = tests::run_on_ranks(world, options, program);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(outcomes[rank].text(), "") << "rank " << rank;
  }
}

// The call is refused, and the run goes on.
template <typename Call>
void expect_refused(const Call& call, const std::string& words) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown of: " << words;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

const Codelet kOne{.name = "one", .cpu = [](KernelContext& k) {
                     for (std::size_t n = 0; n < k.count<std::uint64_t>(0); ++n)
                       k.data<std::uint64_t>(0)[n] = 1;
                   }};
const Codelet kNothing{.name = "nothing", .cpu = [](KernelContext&) {}};
const Codelet kPlus{.name = "plus", .cpu = [](KernelContext& k) { ++k.data<std::uint64_t>(0)[0]; }};
const Codelet kPlusBoth{.name = "plus both", .cpu = [](KernelContext& k) {
                          ++k.data<std::uint64_t>(0)[0];
                          ++k.data<std::uint64_t>(1)[0];
                        }};
const Codelet kZero{.name = "zero",
                    .cpu = [](KernelContext& k) { k.data<std::uint64_t>(0)[0] = 0; }};
const Codelet kAdd{.name = "add", .cpu = [](KernelContext& k) {
                     k.data<std::uint64_t>(0)[0] += k.data<std::uint64_t>(1)[0];
                   }};

std::uint64_t value_of(Runtime& runtime, Handle handle) {
  return *runtime.acquire(handle, AccessMode::R).data<std::uint64_t>();
}

TEST(RankCalls, WrongUseIsRefusedOnAllRanksAlike) {
  run_everywhere(3, [](Runtime& runtime) {
    const Handle x = runtime.register_empty(RankId{1}, Bytes{64}, "x");
    const Parts parts = runtime.partition(x, pieces(32));
    expect_refused([&] { runtime.partition(x, pieces(16)); }, "overlaps x[0]");
    expect_refused([&] { runtime.partition(x, [](const Layout&) { return Division{}; }); },
                   "lists no part");
    expect_refused([&] { runtime.unpartition(Parts({x}, 0)); }, "x is no part of another");
    expect_refused([&] { runtime.unregister(parts[0]); }, "is a part of another");
    expect_refused([&] { runtime.set_reduction(x, {.neutral = &kZero, .combine = &kAdd}); },
                   "is in parts");
    expect_refused([&] { runtime.submit({.codelet = &kNothing, .operands = {R(parts[1])}}); },
                   "x[1], which nobody has written");
    runtime.submit({.codelet = &kOne, .operands = {W(parts[0])}});
    expect_refused([&] { runtime.submit({.codelet = &kNothing, .operands = {R(x)}}); },
                   "x, whose part x[1] nobody has written");
    expect_refused([&] { runtime.acquire(x, AccessMode::R); }, "whose part x[1]");
    expect_refused(
        [&] {
          runtime.submit({.codelet = &kOne, .operands = {W(x), R(parts[0])}});
        },
        "x and its part x[0] at once");
    runtime.submit({.codelet = &kOne, .operands = {W(parts[1])}});
    const Parts inner = runtime.partition(parts[1], pieces(8), PartAccess::read_only);
    expect_refused([&] { runtime.submit({.codelet = &kOne, .operands = {W(inner[2])}}); },
                   "may only be read");
    expect_refused([&] { runtime.invalidate(inner[0]); }, "may only be read");
    expect_refused([&] { runtime.acquire(inner[0], AccessMode::RW); }, "may only be read");
    EXPECT_EQ(value_of(runtime, inner[3]), 1U);
    runtime.unpartition(parts);
    expect_refused([&] { runtime.submit({.codelet = &kNothing, .operands = {R(inner[0])}}); },
                   "taken back");
    expect_refused([&] { runtime.unpartition(parts); }, "taken back");
    EXPECT_EQ(value_of(runtime, x), 1U);
    runtime.unregister(x);
    expect_refused([&] { runtime.submit({.codelet = &kOne, .operands = {W(x)}}); },
                   "was unregistered");
    expect_refused([&] { runtime.unregister(x); }, "was unregistered");
    runtime.wait();
  });
}

// Only the owner looks at the memory that is registered: the others wait for what comes of it.
TEST(RankCalls, ARegistrationThatFailsOnTheOwnerEndsTheRun) {
  comm::LocalWorld world(2, {});
  const auto options = [](RankId rank) {
    Options its = plain_options(rank);
    its.undelivered_errors = "warn";
    return its;
  };
  const auto outcomes = tests::run_on_ranks(world, options, [](Runtime& runtime) {
    const Handle y = runtime.register_empty(RankId{1}, Bytes{8}, "y");
    runtime.register_buffer(RankId{1}, nullptr, Bytes{8}, "x");
    runtime.submit({.codelet = &kOne, .operands = {W(y)}});
    value_of(runtime, y);
  });
  EXPECT_NE(outcomes[1].text().find("the address of data \"x\" is null"), std::string::npos)
      << outcomes[1].text();
  EXPECT_NE(outcomes[0].text().find("rank 1: register: the address of data \"x\" is null"),
            std::string::npos)
      << outcomes[0].text();
}

// No data are looked at, and nothing is counted.
TEST(RankCalls, TasksOfOthersAreLeftOutBeforeAnythingIsMade) {
  run_everywhere(2, [](Runtime& runtime) {
    const Handle x = runtime.register_empty(RankId{0}, Bytes{8}, "x");
    const Handle y = runtime.register_empty(RankId{1}, Bytes{8}, "y");
    runtime.submit({.codelet = &kOne, .operands = {W(x)}});
    for (int i = 0; i < 10; ++i) runtime.submit({.codelet = &kPlus, .operands = {RW(x)}});
    runtime.submit({.codelet = &kOne, .operands = {W(y)}});
    runtime.wait();
    EXPECT_EQ(runtime.statistics().tasks_done, runtime.this_rank() == RankId{0} ? 11U : 1U);
  });
}

TEST(RankCalls, TasksReduceAnywhere) {
  run_everywhere(3, [](Runtime& runtime) {
    const Handle sum = runtime.register_empty(RankId{2}, Bytes{8}, "sum");
    const Handle other = runtime.register_empty(RankId{1}, Bytes{8}, "other");
    const Handle third = runtime.register_empty(RankId{0}, Bytes{8}, "third");
    runtime.submit({.codelet = &kZero, .operands = {W(sum)}});
    runtime.submit({.codelet = &kOne, .operands = {W(other)}});
    runtime.submit({.codelet = &kOne, .operands = {W(third)}});
    for (const Handle one : {sum, third}) {
      runtime.set_reduction(one, {.neutral = &kZero, .combine = &kAdd});
    }
    const bool reads = runtime.this_rank() == RankId{1};
    const std::uint64_t before = runtime.statistics().tasks_submitted;
    // Where what they read lives.
    runtime.submit({.codelet = &kAdd, .operands = {Reduce(sum), R(other)}});
    EXPECT_EQ(runtime.statistics().tasks_submitted - before, reads ? 1U : 0U);
    // Of two ranks.
    runtime.submit({.codelet = &kPlusBoth, .operands = {Reduce(sum), Reduce(third)}});
    runtime.submit({.codelet = &kPlus, .operands = {Reduce(sum)}, .rank = RankId{0}});
    runtime.submit({.codelet = &kPlus, .operands = {Reduce(sum)}});
    EXPECT_EQ(value_of(runtime, sum), 4U);
    EXPECT_EQ(value_of(runtime, third), 2U);
    // A copy of the version before is no partial result.
    runtime.submit({.codelet = &kPlus, .operands = {Reduce(sum)}, .rank = RankId{1}});
    EXPECT_EQ(value_of(runtime, sum), 5U);
    runtime.submit({.codelet = &kPlus, .operands = {Reduce(sum)}, .rank = RankId{1}});
    runtime.unregister(sum);
    runtime.wait();
  });
}

TEST(RankCalls, TasksReduceWhereTheDataLiveWithoutATree) {
  const auto options = [](RankId rank) {
    Options without = plain_options(rank);
    without.reduction_tree = "off";
    return without;
  };
  const auto program = [](Runtime& runtime) {
    const Handle sum = runtime.register_empty(RankId{2}, Bytes{8}, "sum");
    const Handle other = runtime.register_empty(RankId{1}, Bytes{8}, "other");
    runtime.submit({.codelet = &kZero, .operands = {W(sum)}});
    runtime.submit({.codelet = &kOne, .operands = {W(other)}});
    expect_refused([&] { runtime.submit({.codelet = &kPlus, .operands = {Reduce(sum)}}); },
                   "set_reduction");
    runtime.set_reduction(sum, {.neutral = &kZero, .combine = &kAdd});
    expect_refused([&] { runtime.set_reduction(sum, {.neutral = &kZero, .combine = &kAdd}); },
                   "has a reduction already");
    expect_refused([&] { runtime.partition(sum, pieces(4)); }, "tasks may reduce");
    for (int i = 0; i < 10; ++i)
      runtime.submit({.codelet = &kAdd, .operands = {Reduce(sum), R(other)}});
    expect_refused(
        [&] { runtime.submit({.codelet = &kPlus, .operands = {Reduce(sum)}, .rank = RankId{0}}); },
        "leave TaskSpec::rank out");
    runtime.combine(sum);
    EXPECT_EQ(value_of(runtime, sum), 10U);
    runtime.unregister(sum);
    runtime.wait();
  };
  run_everywhere(3, program, options);
}

// As on one rank: the sum begins with the neutral element.
TEST(RankCalls, TasksReduceIntoWhatNobodyHasWritten) {
  for (std::uint32_t ranks = 1; ranks <= 3; ++ranks) {
    run_everywhere(ranks, [ranks](Runtime& runtime) {
      const Handle sum = runtime.register_empty(RankId{ranks - 1}, Bytes{8}, "sum");
      const Handle other = runtime.register_empty(RankId{0}, Bytes{8}, "other");
      runtime.set_reduction(sum, {.neutral = &kZero, .combine = &kAdd});
      runtime.submit({.codelet = &kOne, .operands = {W(other)}});
      expect_refused([&] { runtime.submit({.codelet = &kNothing, .operands = {R(sum)}}); },
                     "sum, which nobody has written");
      for (int i = 0; i < 10; ++i)
        runtime.submit({.codelet = &kAdd, .operands = {Reduce(sum), R(other)}});
      EXPECT_EQ(value_of(runtime, sum), 10U);
      runtime.invalidate(sum);
      expect_refused([&] { value_of(runtime, sum); }, "sum, which nobody has written");
      for (int i = 0; i < 5; ++i)
        runtime.submit({.codelet = &kAdd, .operands = {Reduce(sum), R(other)}});
      runtime.submit({.codelet = &kAdd, .operands = {RW(other), R(sum)}});
      EXPECT_EQ(value_of(runtime, other), 6U);
      runtime.wait();
    });
  }
}

// All ranks note that it has content then, and the next such task concerns the owner alone.
TEST(RankCalls, ConcernsKnowsAReductionIntoWhatNobodyHasWritten) {
  run_everywhere(3, [](Runtime& runtime) {
    const Handle sum = runtime.register_empty(RankId{1}, Bytes{8}, "sum");
    runtime.set_reduction(sum, {.neutral = &kZero, .combine = &kAdd});
    EXPECT_TRUE(runtime.concerns({Reduce(sum)}));
    runtime.submit({.codelet = &kPlus, .operands = {Reduce(sum)}});
    EXPECT_EQ(runtime.concerns({Reduce(sum)}), runtime.this_rank() == RankId{1});
    EXPECT_EQ(value_of(runtime, sum), 1U);
    runtime.wait();
  });
}

// Who contributes concerns all ranks; so does the access that ends it.
TEST(RankCalls, ConcernsKnowsWhoReduces) {
  run_everywhere(3, [](Runtime& runtime) {
    const Handle sum = runtime.register_empty(RankId{1}, Bytes{8}, "sum");
    const Handle other = runtime.register_empty(RankId{2}, Bytes{8}, "other");
    runtime.set_reduction(sum, {.neutral = &kZero, .combine = &kAdd});
    runtime.submit({.codelet = &kZero, .operands = {W(sum)}});
    runtime.submit({.codelet = &kZero, .operands = {W(other)}});
    EXPECT_TRUE(runtime.concerns({Reduce(sum)}, RankId{2}));
    runtime.submit({.codelet = &kPlus, .operands = {Reduce(sum)}, .rank = RankId{2}});
    EXPECT_EQ(runtime.concerns({Reduce(sum)}, RankId{2}), runtime.this_rank() == RankId{2});
    EXPECT_TRUE(runtime.concerns({Reduce(sum)}, RankId{0}));
    EXPECT_TRUE(runtime.concerns({RW(sum)}));
    runtime.submit({.codelet = &kPlus, .operands = {RW(sum)}});
    EXPECT_EQ(runtime.concerns({RW(sum)}), runtime.this_rank() == RankId{1});
    EXPECT_EQ(value_of(runtime, sum), 2U);
    runtime.wait();
  });
}

TEST(RankCalls, ATaskComesAfterTasksOfItsRankAlone) {
  run_everywhere(3, [](Runtime& runtime) {
    const Handle x = runtime.register_empty(RankId{1}, Bytes{8}, "x");
    const TaskId first = runtime.submit({.codelet = &kOne, .operands = {W(x)}});
    expect_refused(
        [&] {
          runtime.submit({.codelet = &kNothing,
                          .rank = RankId{0},
                          .after = std::span(&first, 1),
                          .name = "late"});
        },
        "task late, on rank 0, is declared after a task of rank 1");
    runtime.submit({.codelet = &kNothing, .rank = RankId{1}, .after = std::span(&first, 1)});
    runtime.wait();
  });
}

TEST(RankCalls, AResultIsReadOnAllRanks) {
  run_everywhere(3, [](Runtime& runtime) {
    for (int round = 0; round < 3; ++round) {
      const auto x = runtime.data<std::uint64_t>(RankId{1}, 4, "x");
      runtime.task(
          "fill", [](std::span<std::uint64_t> all) { std::ranges::fill(all, 3); }, out(x));
      const auto sum = runtime.task(
          "sum",
          [](std::span<const std::uint64_t> all) { return all[0] + all[1] + all[2] + all[3]; },
          in(x));
      EXPECT_EQ(sum.get(), 12U);
      EXPECT_TRUE(sum.ready());
      runtime.release(x);
    }
    runtime.wait();
  });
}

TEST(RankCalls, DataGoOnAllRanks) {
  run_everywhere(3, [](Runtime& runtime) {
    std::vector<std::uint64_t> home(1, 5);
    const auto kept = runtime.tile(RankId{1}, Tile<std::uint64_t>(home.data(), 1, 1), "kept");
    const auto x = runtime.data<std::uint64_t>(RankId{1}, 1, "x");
    const Handle y = runtime.register_empty(RankId{2}, Bytes{8}, "y");
    runtime.submit({.codelet = &kOne, .operands = {W(x.handle())}});
    runtime.submit({.codelet = &kZero, .operands = {W(y)}});
    runtime.submit({.codelet = &kAdd, .operands = {RW(y), R(x.handle())}});
    expect_refused([&] { runtime.release_later(kept); }, "in memory or a file");
    runtime.release_later(x);
    expect_refused([&] { runtime.submit({.codelet = &kNothing, .operands = {R(x.handle())}}); },
                   "unregistered");
    EXPECT_EQ(value_of(runtime, y), 1U);
    runtime.wait();
  });
}

TEST(RankCalls, ConcernsSaysWhoIsNeeded) {
  run_everywhere(4, [](Runtime& runtime) {
    const Handle x = runtime.register_empty(RankId{1}, Bytes{8}, "x");
    const Handle y = runtime.register_empty(RankId{2}, Bytes{8}, "y");
    const auto here = [&](std::initializer_list<std::uint32_t> ranks) {
      return std::ranges::find(ranks, runtime.this_rank().value) != ranks.end();
    };
    EXPECT_TRUE(runtime.concerns({W(x)}));  // all note that it has content
    for (const Handle handle : {x, y}) runtime.submit({.codelet = &kOne, .operands = {W(handle)}});
    EXPECT_EQ(runtime.concerns({W(x)}), here({1}));
    EXPECT_EQ(runtime.concerns({R(x), RW(y)}), here({1, 2}));
    EXPECT_EQ(runtime.concerns({R(x)}, RankId{3}), here({1, 3}));
    runtime.submit({.codelet = &kAdd, .operands = {RW(y), R(x)}});
    EXPECT_EQ(runtime.concerns({R(x), RW(y)}), here({2}));
    EXPECT_EQ(runtime.concerns({W(x)}), here({1, 2}));  // whose copy ends
    runtime.wait();
  });
}

TEST(RankCalls, AWaitLooksAtWhatIsHere) {
  run_everywhere(2, [](Runtime& runtime) {
    const Handle x = runtime.register_empty(RankId{1}, Bytes{8}, "x");
    Group group;
    runtime.submit({.codelet = &kOne, .operands = {W(x)}, .group = &group});
    if (runtime.this_rank() == RankId{0}) {
      EXPECT_TRUE(group.ready());
      EXPECT_TRUE(runtime.ready(x));
    }
    runtime.wait(group);
    runtime.wait(x);
    EXPECT_TRUE(runtime.wait_for(x, std::chrono::seconds(0)));
    EXPECT_TRUE(runtime.ready(x));
    expect_refused([&] { runtime.cancel(group); }, "ends the run on all ranks");
    runtime.wait();
  });
}

TEST(RankCalls, ACancellationEndsTheRunOnAllRanks) {
  comm::LocalWorld world(2, {});
  const auto outcomes = tests::run_on_ranks(world, plain_options, [](Runtime& runtime) {
    const Handle x = runtime.register_empty(RankId{1}, Bytes{8}, "x");
    runtime.submit({.codelet = &kOne, .operands = {W(x)}});
    if (runtime.this_rank() == RankId{1}) runtime.cancel();
    value_of(runtime, x);
    runtime.wait();
  });
  EXPECT_NE(outcomes[0].text().find("rank 1: cancel() has ended the run"), std::string::npos)
      << outcomes[0].text();
}

// The wait sees the end of all at once, perhaps before the thread that talks to the other ranks looks.
TEST(RankCalls, ACancellationIsToldThoughNothingWasSubmitted) {
  comm::LocalWorld world(2, {});
  const auto outcomes = tests::run_on_ranks(world, plain_options, [](Runtime& runtime) {
    const Handle x = runtime.register_empty(RankId{1}, Bytes{8}, "x");
    if (runtime.this_rank() == RankId{1}) runtime.cancel();
    runtime.wait();
    runtime.submit({.codelet = &kOne, .operands = {W(x)}});
    value_of(runtime, x);
    runtime.wait();
  });
  EXPECT_EQ(outcomes[1].text(), "cancel() has ended the run on all ranks");
  EXPECT_NE(outcomes[0].text().find("rank 1: cancel() has ended the run"), std::string::npos)
      << outcomes[0].text();
}

// The program has caught it, and the other ranks have been told meanwhile: nothing is left to tell, which would end the
// process.
TEST(RankCalls, AnErrorThatWasThrownIsNotToldAgainAtTheEnd) {
  static const Codelet fails{.name = "fails",
                             .cpu = [](KernelContext&) { throw std::runtime_error("no"); }};
  for (const bool cancels : {true, false}) {
    comm::LocalWorld world(2, {});
    std::atomic<bool> has_begun{false};  // rank 0
    std::atomic<bool> is_told{false};
    const auto outcomes = tests::run_on_ranks(world, plain_options, [&](Runtime& runtime) {
      if (runtime.this_rank() == RankId{0}) has_begun = true;
      while (!has_begun) std::this_thread::yield();
      const Handle x = runtime.register_empty(RankId{1}, Bytes{8}, "x");
      if (cancels && runtime.this_rank() == RankId{1}) runtime.cancel();
      if (!cancels) runtime.submit({.codelet = &fails, .operands = {W(x)}});
      if (runtime.this_rank() == RankId{1}) {
        EXPECT_THROW(runtime.wait(), Error);
        while (!is_told) std::this_thread::yield();
        return;
      }
      const auto go_on = [&] {
        runtime.wait();
        runtime.submit({.codelet = &kOne, .operands = {W(x)}});
        value_of(runtime, x);
      };
      EXPECT_THROW(go_on(), Error);
      is_told = true;
    });
    for (const tests::RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.text(), "");
  }
}

}  // namespace
}  // namespace vicinal::rank_calls
