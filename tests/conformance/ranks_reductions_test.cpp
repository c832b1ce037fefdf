// Data that tasks of several ranks reduce into: each rank sees in the end what one rank alone would, along whichever tree the
// partial results have come.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/random_ranks.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::rank_reductions {
namespace {

using ::testing::HasSubstr;
using Numbers = std::vector<std::uint64_t>;

// Whose results do not depend on the order, each with a neutral element of its own.
enum class Operation : std::uint8_t { sum, parity, least, most };
constexpr std::uint64_t kOperations = 4;

constexpr std::uint64_t neutral_of(Operation operation) {
  return operation == Operation::least ? std::numeric_limits<std::uint64_t>::max() : 0;
}
constexpr std::uint64_t applied(Operation operation, std::uint64_t a, std::uint64_t b) {
  switch (operation) {
    case Operation::sum:
      return a + b;
    case Operation::parity:
      return a ^ b;
    case Operation::least:
      return std::min(a, b);
    case Operation::most:
      break;
  }
  return std::max(a, b);
}

template <Operation operation>
struct Codelets {
  static inline const Codelet neutral{
      .name = "neutral", .cpu = [](KernelContext& k) {
        std::fill_n(k.data<std::uint64_t>(0), k.count<std::uint64_t>(0), neutral_of(operation));
      }};
  static inline const Codelet combine{.name = "combine", .cpu = [](KernelContext& k) {
                                        for (std::size_t n = 0; n < k.count<std::uint64_t>(0);
                                             ++n) {
                                          std::uint64_t& to = k.data<std::uint64_t>(0)[n];
                                          to = applied(operation, to, k.data<std::uint64_t>(1)[n]);
                                        }
                                      }};
};
Reduction reduction_of(Operation operation) {
  switch (operation) {
    case Operation::sum:
      return {.neutral = &Codelets<Operation::sum>::neutral,
              .combine = &Codelets<Operation::sum>::combine};
    case Operation::parity:
      return {.neutral = &Codelets<Operation::parity>::neutral,
              .combine = &Codelets<Operation::parity>::combine};
    case Operation::least:
      return {.neutral = &Codelets<Operation::least>::neutral,
              .combine = &Codelets<Operation::least>::combine};
    case Operation::most:
      break;
  }
  return {.neutral = &Codelets<Operation::most>::neutral,
          .combine = &Codelets<Operation::most>::combine};
}

// --- random programs

// A task on a rank. It adds, by the operations of these data, numbers that follow from the seed and from its input.
struct Contribution {
  std::vector<std::size_t> into;
  std::size_t input = 0;
  RankId on;
};
// Tasks that reduce, then an access that ends it.
struct Round {
  std::vector<Contribution> contributions;
  std::size_t datum = 0;
  enum class End : std::uint8_t { nothing, read, write, change, acquire, combine, invalidate } end;
  std::vector<RankId> readers;
  RankId on;
  bool waits = false;
};
struct Plan {
  std::size_t shared =
      0;  // data that tasks reduce into; behind them one input, and one result for each rank
  std::vector<std::size_t> numbers;
  std::vector<Operation> operations;
  std::vector<RankId> owners;
  std::vector<Round> rounds;
  tests::RankBytes bytes;
  bool leaves_out = false;  // tasks that do not concern a rank
  bool names_ranks = true;  // of tasks that reduce
};

std::uint64_t counted(std::size_t numbers) {
  return std::max<std::uint64_t>((numbers * 8 + 4095) / 4096 * 4096, 4096);
}

Plan make_plan(std::uint64_t seed, std::uint32_t ranks) {
  base::Random random(seed);
  const auto any_rank = [&] { return RankId{static_cast<std::uint32_t>(random.below(ranks))}; };
  Plan plan;
  plan.shared = 1 + random.below(4);
  for (std::size_t i = 0; i < plan.shared; ++i) {
    plan.numbers.push_back(random.below(3) > 0 ? random.below(513) : random.below(20'000));
    plan.operations.push_back(static_cast<Operation>(random.below(kOperations)));
    plan.owners.push_back(any_rank());
  }
  for (std::uint32_t i = 0; i < 2 * ranks; ++i) {
    plan.numbers.push_back(16);
    plan.owners.push_back({i % ranks});
  }
  plan.names_ranks = tests::reduction_tree_of(seed) != "off";
  plan.leaves_out = random.below(3) == 0;
  const std::size_t rounds = 1 + random.below(8);
  for (std::size_t r = 0; r < rounds; ++r) {
    Round round;
    const std::uint64_t share = 1 + random.below(4);  // of the ranks that contribute
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      for (std::uint64_t task = random.below(share + 1); task > 0; --task) {
        Contribution one{.into = {random.below(plan.shared)},
                         .input = plan.shared + (random.below(4) == 0 ? any_rank().value : rank),
                         .on = {rank}};
        const std::size_t other = (one.into[0] + 1) % plan.shared;
        if (plan.shared > 1 && plan.names_ranks && random.below(3) == 0) one.into.push_back(other);
        round.contributions.push_back(std::move(one));
      }
    }
    for (std::size_t i = round.contributions.size(); i > 1; --i) {
      std::swap(round.contributions[i - 1], round.contributions[random.below(i)]);
    }
    round.datum = random.below(plan.shared);
    round.end = static_cast<Round::End>(random.below(7));
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      if (random.below(2) == 0) round.readers.push_back({rank});
    }
    round.on = any_rank();
    round.waits = random.below(4) == 0;
    plan.rounds.push_back(std::move(round));
  }
  std::vector<std::uint64_t> largest;
  for (const std::size_t numbers : plan.numbers) largest.push_back(counted(numbers));
  std::ranges::sort(largest, std::greater<>{});
  plan.bytes.largest = largest[0];
  // Two that it reduces into and its input; or what is combined.
  plan.bytes.most_of_task =
      largest[0] + largest[plan.shared > 1 ? 1 : 0] + std::max(largest[0], std::uint64_t{4096});
  return plan;
}

std::uint64_t added(std::uint64_t seed, std::uint64_t input, std::size_t n) {
  return (input + seed * 0x9e3779b97f4a7c15U + n) * 0xbf58476d1ce4e5b9U >> 3;
}

struct Parameters {
  std::uint64_t seed;
  std::uint64_t operations;  // of the operands before the last, which is read
};
const Codelet kContribute{
    .name = "contribute", .cpu = [](KernelContext& k) {
      const auto [seed, operations] = k.parameter<Parameters>();
      const std::size_t last = k.operands() - 1;
      for (std::size_t i = 0; i < last; ++i) {
        const auto operation = static_cast<Operation>(operations >> (8 * i) & 0xff);
        for (std::size_t n = 0; n < k.count<std::uint64_t>(i); ++n) {
          std::uint64_t& to = k.data<std::uint64_t>(i)[n];
          to = applied(operation, to, added(seed, k.data<std::uint64_t>(last)[0], n));
        }
      }
    }};
void mix(std::uint64_t* to, std::size_t count, std::uint64_t seed, const std::uint64_t* from,
         std::size_t of) {
  std::uint64_t sum = seed;
  for (std::size_t n = 0; n < of; ++n) sum = (sum ^ from[n]) * 0x9e3779b97f4a7c15U + n;
  for (std::size_t n = 0; n < count; ++n) to[n] = sum + n;
}
const Codelet kWrite{.name = "write", .cpu = [](KernelContext& k) {
                       mix(k.data<std::uint64_t>(0), k.count<std::uint64_t>(0),
                           k.parameter<std::uint64_t>(), nullptr, 0);
                     }};
const Codelet kRead{.name = "read", .cpu = [](KernelContext& k) {
                      mix(k.data<std::uint64_t>(0), k.count<std::uint64_t>(0),
                          k.parameter<std::uint64_t>(), k.data<std::uint64_t>(1),
                          k.count<std::uint64_t>(1));
                    }};
const Codelet kChange{.name = "change", .cpu = [](KernelContext& k) {
                        for (std::size_t n = 0; n < k.count<std::uint64_t>(0); ++n) {
                          k.data<std::uint64_t>(0)[n] ^= k.parameter<std::uint64_t>() + n;
                        }
                      }};

struct Serial {
  std::vector<Numbers> content;
  std::vector<bool> written;
  std::vector<Numbers> acquired;  // by round, if it is
};

Serial run_serially(const Plan& plan, std::uint32_t ranks) {
  Serial run;
  for (const std::size_t numbers : plan.numbers) run.content.emplace_back(numbers);
  run.written.assign(plan.numbers.size(), false);
  for (std::size_t i = plan.shared; i < plan.numbers.size(); ++i) {
    mix(run.content[i].data(), 16, i, nullptr, 0);
    run.written[i] = true;
  }
  run.acquired.resize(plan.rounds.size());
  std::uint64_t seed = 0;
  for (std::size_t r = 0; r < plan.rounds.size(); ++r) {
    const Round& round = plan.rounds[r];
    for (const Contribution& one : round.contributions) {
      ++seed;
      for (const std::size_t into : one.into) {
        const Operation operation = plan.operations[into];
        Numbers& to = run.content[into];
        if (!run.written[into]) std::ranges::fill(to, neutral_of(operation));
        run.written[into] = true;
        for (std::size_t n = 0; n < to.size(); ++n) {
          to[n] = applied(operation, to[n], added(seed, run.content[one.input][0], n));
        }
      }
    }
    Numbers& datum = run.content[round.datum];
    const std::uint64_t number = 1000 + r;
    if (round.end == Round::End::write) {
      mix(datum.data(), datum.size(), number, nullptr, 0);
      run.written[round.datum] = true;
    }
    if (round.end == Round::End::invalidate) run.written[round.datum] = false;
    if (!run.written[round.datum]) continue;
    if (round.end == Round::End::change) {
      for (std::size_t n = 0; n < datum.size(); ++n) datum[n] ^= number + n;
    }
    if (round.end == Round::End::acquire) run.acquired[r] = datum;
    if (round.end != Round::End::read) continue;
    for (const RankId reader : round.readers) {
      mix(run.content[plan.shared + ranks + reader.value].data(), 16, number, datum.data(),
          datum.size());
    }
  }
  return run;
}

class Player {
 public:
  Player(const Plan& plan, const Serial& expected, Runtime& runtime)
      : plan_(plan), expected_(expected), runtime_(runtime), written_(plan.numbers.size()) {
    for (std::size_t i = 0; i < plan.numbers.size(); ++i) {
      handles_.push_back(runtime.register_empty(plan.owners[i], Bytes{plan.numbers[i] * 8},
                                                "d" + std::to_string(i)));
      if (i < plan.shared) {
        runtime.set_reduction(handles_[i], reduction_of(plan.operations[i]));
      } else {
        submit(kWrite, {W(handles_[i])}, std::uint64_t{i}, {});
      }
    }
  }

  void play() {
    for (std::size_t r = 0; r < plan_.rounds.size(); ++r) play(r);
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      if (expected_.written[i]) require(i, expected_.content[i]);
    }
    for (std::size_t i = 0; i < plan_.shared; ++i) runtime_.unregister(handles_[i]);
    runtime_.wait();
  }

 private:
  template <typename Parameter>
  void submit(const Codelet& codelet, const std::vector<Operand>& operands,
              const Parameter& parameter, std::optional<RankId> on) {
    if (plan_.leaves_out && !runtime_.concerns(operands, on)) return;
    runtime_.submit(
        {.codelet = &codelet, .operands = operands, .parameters = parameter, .rank = on});
  }
  void require(std::size_t datum, const Numbers& numbers) {
    const Acquired held = runtime_.acquire(handles_[datum], AccessMode::R);
    EXPECT_TRUE(std::equal(numbers.begin(), numbers.end(), held.data<std::uint64_t>()))
        << "data " << datum << " on rank " << runtime_.this_rank().value;
  }
  void play(std::size_t number) {
    const Round& round = plan_.rounds[number];
    for (const Contribution& one : round.contributions) {
      std::vector<Operand> operands;
      Parameters parameters{++seed_, 0};
      for (std::size_t i = 0; i < one.into.size(); ++i) {
        operands.push_back(Reduce(handles_[one.into[i]]));
        parameters.operations |= static_cast<std::uint64_t>(plan_.operations[one.into[i]])
                                 << (8 * i);
        written_[one.into[i]] = true;
      }
      operands.push_back(R(handles_[one.input]));
      submit(kContribute, operands, parameters,
             plan_.names_ranks ? std::optional(one.on) : std::nullopt);
    }
    const Handle datum = handles_[round.datum];
    const std::uint64_t parameter = 1000 + number;
    if (round.end == Round::End::write) {
      submit(kWrite, {W(datum)}, parameter, round.on);
      written_[round.datum] = true;
    }
    if (round.end == Round::End::invalidate) {
      runtime_.invalidate(datum);
      written_[round.datum] = false;
    }
    if (written_[round.datum]) end(round, datum, parameter, expected_.acquired[number]);
    if (round.waits) runtime_.wait();
  }
  void end(const Round& round, Handle datum, std::uint64_t parameter, const Numbers& numbers) {
    if (round.end == Round::End::change) submit(kChange, {RW(datum)}, parameter, round.on);
    if (round.end == Round::End::acquire) require(round.datum, numbers);
    if (round.end == Round::End::combine) runtime_.combine(datum);
    if (round.end != Round::End::read) return;
    for (const RankId reader : round.readers) {
      const Handle result = handles_[plan_.shared + runtime_.rank_count() + reader.value];
      submit(kRead, {W(result), R(datum)}, parameter, reader);
    }
  }

  const Plan& plan_;
  const Serial& expected_;
  Runtime& runtime_;
  std::vector<Handle> handles_;
  std::vector<bool> written_;
  std::uint64_t seed_ = 0;
};

TEST(RanksReductions, RandomProgramsAreAsOnOneRank) {
  tests::play_random_programs(
      "rank_reductions",
      [](std::uint64_t seed, std::uint32_t ranks, base::Random&) {
        const auto plan = std::make_shared<const Plan>(make_plan(seed, ranks));
        const auto expected = std::make_shared<const Serial>(run_serially(*plan, ranks));
        return tests::RankedProgram{
            plan->bytes, [=](Runtime& runtime) { Player(*plan, *expected, runtime).play(); }};
      },
      9);
}

// --- along which ways, and in which order

Options options_with(const char* tree) {
  Options options{.workers = 1};
  options.bind = false;
  options.models = "none";
  options.reduction_tree = tree;
  options.undelivered_errors = "warn";
  return options;
}

// Of a text of 64 letters: the second is put behind the first.
struct Text {
  char letters[64];
};
const Codelet kEmpty{.name = "empty", .cpu = [](KernelContext& k) { *k.data<Text>(0) = Text{}; }};
const Codelet kAppend{.name = "append", .cpu = [](KernelContext& k) {
                        const std::string both = std::string(k.data<Text>(0)->letters) +
                                                 std::string(k.data<Text>(1)->letters);
                        std::copy_n(both.c_str(), both.size() + 1, k.data<Text>(0)->letters);
                      }};
const Codelet kLetter{.name = "letter", .cpu = [](KernelContext& k) {
                        std::string all = k.data<Text>(0)->letters;
                        all += static_cast<char>('a' + k.parameter<std::uint32_t>());
                        std::copy_n(all.c_str(), all.size() + 1, k.data<Text>(0)->letters);
                      }};

struct Gathered {
  std::string text;
  std::vector<Statistics> ranks;
};
// Each of the ranks but the first `silent` reduces once into data of rank 0.
Gathered gather(const char* tree, std::uint32_t ranks, std::uint32_t silent, std::uint64_t seed) {
  comm::LocalWorld world(ranks, {.seed = seed, .delayed = 0.5, .most_delay = 20});
  Gathered gathered{{}, std::vector<Statistics>(ranks)};
  const auto outcomes = tests::run_on_ranks(
      world, [&](RankId) { return options_with(tree); },
      [&](Runtime& runtime) {
        const Handle all = runtime.register_empty(RankId{0}, Bytes{sizeof(Text)}, "all");
        runtime.set_reduction(all, {.neutral = &kEmpty, .combine = &kAppend});
        for (std::uint32_t rank = silent; rank < ranks; ++rank) {
          runtime.submit({.codelet = &kLetter,
                          .operands = {Reduce(all)},
                          .parameters = rank,
                          .rank = RankId{rank}});
        }
        runtime.combine(all);
        runtime.wait();
        const std::uint32_t here = runtime.this_rank().value;
        gathered.ranks[here] = runtime.statistics();
        const Acquired held = runtime.acquire(all, AccessMode::R);
        if (here == 0) gathered.text = held.data<Text>()->letters;
      });
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.text(), "");
  return gathered;
}

std::vector<std::uint64_t> partial_results(const Gathered& gathered) {
  std::vector<std::uint64_t> all;
  for (const Statistics& one : gathered.ranks) all.push_back(one.partial_results);
  return all;
}

// In a binomial tree of 8 the root's children are 1, 2 and 4, and those of 4 are 5 and 6: the first to be combined wait for
// fewest others.
TEST(RanksReductions, EachRankCombinesWhatComesFromThoseBelowIt) {
  using Counts = std::vector<std::uint64_t>;
  const Gathered binomial = gather("binomial", 8, 0, 1);
  EXPECT_EQ(binomial.text, "abcdefgh");
  EXPECT_EQ(partial_results(binomial), (Counts{3, 0, 1, 0, 2, 0, 1, 0}));
  EXPECT_EQ(binomial.ranks[0].received, Bytes{3 * sizeof(Text)});
  EXPECT_EQ(binomial.ranks[0].partial_results_passed_on, 0U);
  EXPECT_EQ(binomial.ranks[4].partial_results_passed_on, 2U);
  const Gathered flat = gather("flat", 8, 0, 1);
  EXPECT_EQ(partial_results(flat), (Counts{7, 0, 0, 0, 0, 0, 0, 0}));
  const Gathered chain = gather("chain", 8, 0, 1);
  EXPECT_EQ(chain.text, "abcdefgh");
  EXPECT_EQ(partial_results(chain), (Counts{1, 1, 1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(partial_results(gather("2-ary", 8, 0, 1))[0], 2U);
  EXPECT_EQ(partial_results(gather("auto", 8, 0, 1)), partial_results(binomial));
}

TEST(RanksReductions, ARootThatDoesNotContributeBeginsWithWhatComesFirst) {
  const Gathered binomial = gather("binomial", 8, 3, 1);
  EXPECT_EQ(binomial.text, "defgh");
  EXPECT_EQ(binomial.ranks[0].received, Bytes{3 * sizeof(Text)});
}

// Letters stand in the order in which partial results were combined.
TEST(RanksReductions, TheOrderDoesNotDependOnWhoComesFirst) {
  for (const char* const tree : {"flat", "binomial", "binary", "delegated", "3-ary"}) {
    const std::string first = gather(tree, 7, 0, 1).text;
    EXPECT_EQ(first.size(), 7U) << tree;
    for (std::uint64_t seed = 2; seed <= 6; ++seed) {
      EXPECT_EQ(gather(tree, 7, 0, seed).text, first) << tree << ", seed " << seed;
    }
  }
}

// --- where everything must fit in RAM

constexpr std::size_t kManyNumbers = 8192;
const Codelet kPlusOne{.name = "plus one", .cpu = [](KernelContext& k) {
                         for (std::size_t n = 0; n < kManyNumbers; ++n) {
                           ++k.data<std::uint64_t>(0)[n];
                         }
                       }};
// Five ranks reduce, in each of three rounds, where there is room for so many data.
std::vector<std::string> reduce_within(const char* tree, std::uint64_t data) {
  constexpr std::uint32_t kRanks = 5;
  comm::LocalWorld world(kRanks, {.seed = 1, .delayed = 0.25, .most_delay = 5});
  const auto outcomes = tests::run_on_ranks(
      world,
      [&](RankId) {
        Options options = options_with(tree);
        options.memory = Bytes{data * kManyNumbers * 8};
        return options;
      },
      [&](Runtime& runtime) {
        const Handle all = runtime.register_empty(RankId{1}, Bytes{kManyNumbers * 8}, "all");
        runtime.set_reduction(all, reduction_of(Operation::sum));
        for (std::uint64_t round = 1; round <= 3; ++round) {
          for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
            runtime.submit({.codelet = &kPlusOne, .operands = {Reduce(all)}, .rank = RankId{rank}});
          }
          const Acquired held = runtime.acquire(all, AccessMode::R);
          EXPECT_EQ(held.data<std::uint64_t>()[kManyNumbers - 1], round * kRanks);
        }
      });
  std::vector<std::string> texts;
  for (const auto& outcome : outcomes) texts.push_back(outcome.text());
  return texts;
}

// The result, a private copy, and what comes from another rank.
TEST(RanksReductions, RoomForThreeDataSufficesWithoutADisk) {
  for (const char* const tree : {"flat", "binomial", "chain"}) {
    for (const std::string& text : reduce_within(tree, 3)) EXPECT_EQ(text, "") << tree;
    for (const std::string& text : reduce_within(tree, 2)) {
      EXPECT_THAT(text, HasSubstr("writes all (partial result 0)")) << tree;
      EXPECT_THAT(text, HasSubstr("raise the option memory")) << tree;
    }
  }
}

// --- that goes wrong

const Codelet kThrow{.name = "throws",
                     .cpu = [](KernelContext&) { throw std::runtime_error("no more"); }};

// Six ranks reduce into data of rank 0. What each of them hears.
std::vector<std::string> fail_with(const Codelet& neutral, const Codelet& combine,
                                   const Codelet& last, bool cancels = false) {
  comm::LocalWorld world(6, {.seed = 1, .delayed = 0.25, .most_delay = 5});
  const auto outcomes = tests::run_on_ranks(
      world, [&](RankId) { return options_with("binomial"); },
      [&](Runtime& runtime) {
        const Handle all = runtime.register_empty(RankId{0}, Bytes{sizeof(Text)}, "all");
        runtime.set_reduction(all, {.neutral = &neutral, .combine = &combine});
        for (std::uint32_t round = 0; round < 20; ++round) {
          for (std::uint32_t rank = 0; rank < 6; ++rank) {
            const bool is_last = round == 10 && rank == 4;
            runtime.submit({.codelet = is_last ? &last : &kLetter,
                            .operands = {Reduce(all)},
                            .parameters = rank,
                            .rank = RankId{rank}});
          }
          if (cancels && round == 10 && runtime.this_rank().value == 4) runtime.cancel();
          runtime.submit({.codelet = &kEmpty, .operands = {W(all)}});
        }
        const Acquired held = runtime.acquire(all, AccessMode::R);  // all ranks wait for the others
        runtime.wait();
      });
  std::vector<std::string> texts;
  for (const auto& outcome : outcomes) texts.push_back(outcome.text());
  return texts;
}

TEST(RanksReductions, AKernelThatThrowsEndsTheRunOnAllRanks) {
  for (const std::string& text : fail_with(kEmpty, kAppend, kThrow)) {
    EXPECT_THAT(text, HasSubstr("task throws failed: no more"));
  }
  for (const std::string& text : fail_with(kEmpty, kThrow, kLetter)) {
    EXPECT_THAT(text, HasSubstr("combines what tasks reduced into handle all"));
  }
  for (const std::string& text : fail_with(kThrow, kAppend, kLetter)) {
    EXPECT_THAT(text, HasSubstr("neutral element of handle all"));
  }
}

TEST(RanksReductions, ACancelledRunEndsOnAllRanks) {
  for (const std::string& text : fail_with(kEmpty, kAppend, kLetter, true)) {
    EXPECT_THAT(text, HasSubstr("cancel() has ended the run"));
  }
}

// Ranks that go along different trees would wait for each other.
TEST(RanksReductions, DifferentTreesAreADifference) {
  comm::LocalWorld world(2, {});
  const auto outcomes = tests::run_on_ranks(
      world, [](RankId rank) { return options_with(rank.value == 0 ? "chain" : "off"); },
      [&](Runtime& runtime) {
        const Handle all = runtime.register_empty(RankId{0}, Bytes{sizeof(Text)}, "all");
        runtime.set_reduction(all, {.neutral = &kEmpty, .combine = &kAppend});
        for (int round = 0; round < 10'000; ++round) {  // until the error comes
          runtime.submit({.codelet = &kEmpty, .operands = {W(all)}});
          const Acquired held = runtime.acquire(all, AccessMode::R);
        }
      });
  for (const auto& outcome : outcomes) {
    EXPECT_THAT(outcome.text(), HasSubstr("option reduction_tree"));
  }
}

TEST(RanksReductions, ATreeThatIsNoneIsRefused) {
  comm::LocalWorld world(1, {});
  const auto outcomes = tests::run_on_ranks(
      world, [](RankId) { return options_with("round"); }, [](Runtime&) {});
  EXPECT_THAT(outcomes[0].text(), HasSubstr("option reduction_tree: \"round\" is none of"));
}

}  // namespace
}  // namespace vicinal::rank_reductions
