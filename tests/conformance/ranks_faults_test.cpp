// Ranks that die, fall silent, leave, throw, or do something else than the others, at moments that a seed draws: all ranks
// end with an error that names the rank.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/local_ranks.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using tests::RankOutcome;
using Milliseconds = std::chrono::milliseconds;

constexpr std::uint32_t kRanks = 3;
constexpr Time kSilence{1'500'000'000};

const Codelet kFill{.name = "fill", .cpu = [](KernelContext& k) {
                      std::fill_n(k.data<double>(0), k.count<double>(0), 1.0);
                    }};
const Codelet kStep{.name = "step",
                    .cpu = [](KernelContext& k) { k.data<double>(0)[0] += k.data<double>(1)[0]; }};

comm::ExchangeRules quick_rules() {
  comm::ExchangeRules rules;
  rules.beat = {20'000'000};
  rules.silence = kSilence;
  rules.suspicion = {200'000'000};
  return rules;
}

Options quiet_options() {
  Options options{.workers = 1};
  options.bind = false;
  options.window_tasks = 32;
  options.undelivered_errors = "warn";
  return options;
}

// What a test does differently on one rank.
struct Deviation {
  std::uint64_t at = ~std::uint64_t{0};                  // step
  std::function<bool(std::uint64_t step)> instead = {};  // true: the step is left out
};

// Steps of a ring of data, of which each rank owns two: large ones, and small ones that go without credit.
class Ring {
 public:
  explicit Ring(Runtime& runtime, std::uint64_t larger = 0) : runtime_(runtime) {
    for (std::uint32_t i = 0; i < 2 * kRanks; ++i) {
      const std::uint64_t numbers = i % 2 == 0 ? 2000 : 20;
      x_.push_back(runtime.register_empty(RankId{i % kRanks}, Bytes{8 * (numbers + larger)},
                                          "x" + std::to_string(i)));
    }
    for (const Handle x : x_) runtime.submit({.codelet = &kFill, .operands = {W(x)}});
  }
  static constexpr std::uint64_t kFills = std::uint64_t{2} * kRanks;

  void step(std::uint64_t number, std::uint64_t other = 1, const Codelet& codelet = kStep) {
    runtime_.submit(
        {.codelet = &codelet,
         .operands = {RW(x_[number % x_.size()]), R(x_[(number + other) % x_.size()])}});
  }
  // Until an error comes.
  void go_on(const Deviation& deviation = {}) {
    for (std::uint64_t number = 0;; ++number) {
      if (number != deviation.at || !deviation.instead(number)) step(number);
      if (number % 20 == 19) runtime_.wait();
      if (number % 33 == 32) {
        const Acquired seen = runtime_.acquire(x_[0], AccessMode::R);
      }
    }
  }

 private:
  Runtime& runtime_;
  std::vector<Handle> x_;
};

// The program on each rank, and `meanwhile`, beside them, once all have begun. A rank that nobody reaches any more ends
// when the others have.
class FaultyRanks {
 public:
  FaultyRanks(std::uint64_t seed, const Options& options = quiet_options(),
              const comm::ExchangeRules& rules = quick_rules())
      : world(kRanks, {.seed = seed, .delayed = 0.25, .most_delay = 5}),
        options_(options),
        rules_(rules) {}

  std::vector<RankOutcome> run(const tests::RankProgram& program,
                               const std::function<void()>& meanwhile = {},
                               std::uint32_t unreached = kRanks) {
    std::vector<RankOutcome> outcomes(kRanks);
    std::vector<std::thread> threads;
    std::vector<std::shared_ptr<internals::RanksImpl>> all(kRanks);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      all[rank] = std::make_shared<internals::RanksImpl>(
          [&, rank] { return world.transport(RankId{rank}); }, rules_);
    }
    std::atomic<std::uint32_t> begun{0};
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          Runtime runtime(options_, internals::RanksOpener::make(all[rank]));
          ++begun;
          program(runtime);
        } catch (...) {
          outcomes[rank].error = std::current_exception();
        }
        ++begun;  // it may have failed before
      });
    }
    while (begun < kRanks) std::this_thread::yield();
    if (meanwhile) meanwhile();
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      if (rank != unreached) threads[rank].join();
    }
    if (unreached < kRanks) {
      all[unreached]->progress->fail("nobody reaches it");
      threads[unreached].join();
    }
    return outcomes;
  }

  comm::LocalWorld world;

 private:
  const Options options_;
  const comm::ExchangeRules rules_;
};

class RanksFaults : public ::testing::Test {
 protected:
  // Each with a seed of its own.
  static void repeat(std::uint64_t times,
                     const std::function<void(std::uint64_t seed, base::Random& random)>& once) {
    const char* const given = std::getenv("FAULTS_SEED");
    const char* const more = std::getenv("FAULTS_MOMENTS");
    const std::uint64_t first = given != nullptr ? std::stoull(given) : 1;
    if (more != nullptr) times = std::stoull(more);
    for (std::uint64_t seed = first; seed < first + times && !HasFailure(); ++seed) {
      SCOPED_TRACE("FAULTS_SEED=" + std::to_string(seed));
      base::Random random(seed);
      once(seed, random);
    }
  }
  static void sleep_up_to(base::Random& random, std::uint64_t milliseconds) {
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(milliseconds * 1000)));
  }
};

TEST_F(RanksFaults, ADeadRankIsNamedWithWhatItDid) {
  repeat(4, [](std::uint64_t seed, base::Random& random) {
    const auto dead = static_cast<std::uint32_t>(random.below(kRanks));
    FaultyRanks run(seed);
    const auto outcomes = run.run([](Runtime& runtime) { Ring(runtime).go_on(); },
                                  [&] {
                                    std::this_thread::sleep_for(Milliseconds(60));
                                    sleep_up_to(random, 20);
                                    run.world.kill(RankId{dead});
                                  },
                                  dead);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      if (rank == dead) continue;
      EXPECT_THAT(outcomes[rank].text(), HasSubstr("rank " + std::to_string(dead) + " is lost"));
      EXPECT_THAT(outcomes[rank].text(), HasSubstr("s ago it had run "));
    }
  });
}

TEST_F(RanksFaults, ASilentRankIsNamedWithWhatItDid) {
  repeat(1, [](std::uint64_t seed, base::Random& random) {
    const auto silent = static_cast<std::uint32_t>(random.below(kRanks));
    FaultyRanks run(seed);
    const auto outcomes = run.run([](Runtime& runtime) { Ring(runtime).go_on(); },
                                  [&] {
                                    std::this_thread::sleep_for(Milliseconds(60));
                                    sleep_up_to(random, 20);
                                    run.world.stop(RankId{silent});
                                  },
                                  silent);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      if (rank == silent) continue;
      EXPECT_THAT(outcomes[rank].text(), HasSubstr("rank " + std::to_string(silent) +
                                                   " is lost: nothing was heard of it for 1."));
      EXPECT_THAT(outcomes[rank].text(), HasSubstr("s ago it had run "));
    }
  });
}

TEST_F(RanksFaults, ALongKernelIsNoSilence) {
  static std::atomic<std::uint32_t> ran{0};
  ran = 0;
  const Codelet sleeps{.name = "sleeps", .cpu = [](KernelContext&) {
                         std::this_thread::sleep_for(Milliseconds(1000));
                         ++ran;
                       }};
  comm::ExchangeRules rules = quick_rules();
  rules.silence = {600'000'000};
  FaultyRanks run(1, quiet_options(), rules);
  const auto outcomes = run.run([&](Runtime& runtime) {
    Ring ring(runtime);
    ring.step(1, 1, sleeps);
    runtime.wait();
    // Nor is a program that computes.
    if (runtime.this_rank() == RankId{2}) std::this_thread::sleep_for(Milliseconds(800));
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.text(), "");
  EXPECT_EQ(ran, 1U);
}

TEST_F(RanksFaults, WhoLeavesEarlyIsNamed) {
  repeat(4, [](std::uint64_t seed, base::Random& random) {
    const auto leaver = static_cast<std::uint32_t>(random.below(kRanks));
    const std::uint64_t at = random.below(100);
    FaultyRanks run(seed);
    const auto outcomes = run.run([&](Runtime& runtime) {
      Ring ring(runtime);
      if (runtime.this_rank() != RankId{leaver}) return ring.go_on();
      for (std::uint64_t number = 0; number < at; ++number) ring.step(number);
    });
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      if (rank == leaver) continue;
      const std::string who = "rank " + std::to_string(leaver);
      EXPECT_THAT(outcomes[rank].text(), HasSubstr("the ranks do not submit the same tasks"));
      EXPECT_THAT(outcomes[rank].text(), HasSubstr(who + " "));
    }
  });
}

TEST_F(RanksFaults, WhoThrowsIsNamed) {
  repeat(4, [](std::uint64_t seed, base::Random& random) {
    const auto thrower = static_cast<std::uint32_t>(random.below(kRanks));
    const Deviation throws{random.below(100),
                           [](std::uint64_t) -> bool { throw std::runtime_error("enough"); }};
    FaultyRanks run(seed);
    const auto outcomes = run.run([&](Runtime& runtime) {
      Ring(runtime).go_on(runtime.this_rank() == RankId{thrower} ? throws : Deviation{});
    });
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      if (rank == thrower) {
        EXPECT_EQ(outcomes[rank].text(), "enough");
      } else {
        EXPECT_THAT(outcomes[rank].text(),
                    HasSubstr("rank " + std::to_string(thrower) +
                              " has left early: an exception ends its program"));
      }
    }
  });
}

TEST_F(RanksFaults, WhatAKernelThrowsArrivesAtAll) {
  repeat(6, [](std::uint64_t seed, base::Random& random) {
    const std::uint64_t at = random.below(100);
    const auto runs_on = static_cast<std::uint32_t>(at % (2 * kRanks) % kRanks);
    const Codelet fails{.name = "fails", .cpu = [](KernelContext&) {
                          throw std::runtime_error("the 7th tile is not finite");
                        }};
    FaultyRanks run(seed);
    const auto outcomes = run.run([&](Runtime& runtime) {
      Ring ring(runtime);
      ring.go_on({at, [&](std::uint64_t number) {
                    ring.step(number, 1, fails);
                    return true;
                  }});
    });
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const std::string who = rank == runs_on ? "" : "rank " + std::to_string(runs_on) + ": ";
      EXPECT_THAT(outcomes[rank].text(),
                  HasSubstr(who + "task fails failed: the 7th tile is not finite"));
    }
  });
}

// The number of the first submission in which a rank differs, and what it does there.
TEST_F(RanksFaults, TheFirstDifferentSubmissionIsNamed) {
  repeat(8, [](std::uint64_t seed, base::Random& random) {
    const auto other = static_cast<std::uint32_t>(random.below(kRanks));
    const std::uint64_t at = random.below(60);
    const std::uint64_t what = seed % 4;
    FaultyRanks run(seed);
    const auto outcomes = run.run([&](Runtime& runtime) {
      const bool is_other = runtime.this_rank() == RankId{other};
      Ring ring(runtime, is_other && what == 0 ? 1 : 0);
      if (!is_other || what == 0) return ring.go_on();
      ring.go_on({at, [&](std::uint64_t number) {
                    if (what == 1) ring.step(number, 2);   // another operand
                    if (what == 2) ring.step(number + 1);  // another task
                    return what <= 3;                      // a task left out
                  }});
    });
    const std::string text =
        what == 0 ? "after submission 0: rank "
                  : "submission " + std::to_string(Ring::kFills + at + 1) + ": rank ";
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      EXPECT_THAT(outcomes[rank].text(),
                  HasSubstr("the ranks do not submit the same tasks; " + text))
          << what;
      EXPECT_THAT(outcomes[rank].text(), HasSubstr("rank " + std::to_string(other) + " ")) << what;
    }
  });
}

TEST_F(RanksFaults, RanksMayRestBetweenRuntimesAndLeaveThereEarly) {
  comm::ExchangeRules rules = quick_rules();
  rules.silence = {600'000'000};
  comm::LocalWorld world(2);
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const auto progress = std::make_shared<internals::RanksImpl>(
          [&] { return world.transport(RankId{rank}); }, rules);
      for (std::uint32_t number = 0; number < 3 - rank; ++number) {
        if (rank == 1 && number == 1) std::this_thread::sleep_for(Milliseconds(900));
        try {
          Runtime runtime(quiet_options(), internals::RanksOpener::make(progress));
          const Handle x = runtime.register_empty(RankId{1}, Bytes{80}, "x");
          runtime.submit({.codelet = &kFill, .operands = {W(x)}});
          const Acquired seen = runtime.acquire(x, AccessMode::R);
          EXPECT_EQ(seen.data<double>()[0], 1.0);
        } catch (const std::exception& error) {
          errors[rank] += std::to_string(number) + ": " + error.what();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors[0], HasSubstr("2: rank 1 has left early"));
  EXPECT_EQ(errors[1], "");
}

TEST_F(RanksFaults, AStallIsToldOfAllRanksAtOnce) {
  Options options = quiet_options();
  options.stall_seconds = 0.3;
  const Codelet sleeps{.name = "sleeps", .cpu = [](KernelContext&) {
                         std::this_thread::sleep_for(Milliseconds(900));
                       }};
  FaultyRanks run(1, options);
  ::testing::internal::CaptureStderr();
  const auto outcomes = run.run([&](Runtime& runtime) {
    Ring ring(runtime);
    ring.step(1, 1, sleeps);  // writes x1, which rank 1 owns
    ring.step(0);             // reads it on rank 0
    runtime.wait();
  });
  const std::string told = ::testing::internal::GetCapturedStderr();
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.text(), "");
  EXPECT_THAT(told, HasSubstr("no task has ended for a while on rank "));
  EXPECT_THAT(told, HasSubstr("rank 1:"));
  EXPECT_THAT(told, HasSubstr("runs sleeps"));
  EXPECT_THAT(told, HasSubstr("x1 (transfer 1) is awaited from rank 1, which has not offered it"));
}

}  // namespace
}  // namespace vicinal
