// Random programs on ranks of one process: how many ranks there are, on what each runs, in which order their messages
// come. RANKS_SEED and RANKS_PROGRAMS choose which programs, and how many, RANKS_FINDING the way in which broadcasts are found (of
// each rank another one without it). Under mpirun the ranks are its processes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/local_ranks.hpp"
#include "support/policy_names.hpp"
#include "support/temporary_folder.hpp"

namespace vicinal::tests {

// As a limit of memory counts them: of the operands of the largest task, and of the largest datum.
struct RankBytes {
  std::uint64_t most_of_task = 0;
  std::uint64_t largest = 0;
};

// A limit that the largest task needs, with one receive beside it, or none.
inline Options random_rank_options(base::Random& random, const RankBytes& bytes,
                                   const std::string& folder) {
  Options options{.workers = 1 + static_cast<std::uint32_t>(random.below(3))};
  options.bind = false;
  options.models = "none";  // each runtime would read their file
  const std::vector<std::string> names = testing::policy_names();
  options.policy = names[random.below(names.size())];
  options.submitter_works = random.below(2) == 0;
  options.stall_seconds = 5;
  if (random.below(3) > 0) {
    options.disk = folder;
    options.direct_io = false;
    const std::uint64_t least = std::max(bytes.most_of_task, bytes.largest) + bytes.largest;
    options.memory = Bytes{least + 4096 * random.below(3)};
  }
  if (random.below(3) == 0) {
    options.accelerators = 1 + static_cast<std::uint32_t>(random.below(2));
    if (random.below(2) == 0) options.accelerator_memory = Bytes{bytes.most_of_task + 4096};
    constexpr const char* kPlacements[] = {"ram", "advised", "owner", "random"};
    options.receive_placement = kPlacements[random.below(4)];
  }
  const char* const way = std::getenv("RANKS_FINDING");
  options.broadcast_finding = way != nullptr ? way : random.below(2) == 0 ? "sequence" : "bags";
  return options;
}

struct RankedProgram {
  RankBytes bytes;
  RankProgram play;  // checks what each rank sees
};
// By seed and number of ranks; the generator is for what else there is to choose.
using MakeRankedProgram =
    std::function<RankedProgram(std::uint64_t seed, std::uint32_t ranks, base::Random& random)>;

// How the ranks of a program send what several of them read.
inline comm::DeliveryRules random_delivery_rules(base::Random& random) {
  comm::DeliveryRules rules;
  rules.most_sends = 1 + random.below(8);
  rules.most_receives = 1 + random.below(16);
  rules.most_small = 4096 << random.below(5);
  const char* const trees[] = {"auto", "off", "chain", "binary", "binomial", "delegated", "3-ary"};
  rules.tree = comm::tree_of_option(trees[random.below(7)]);
  rules.link.bytes_per_second = random.below(2) == 0 ? 1e8 : 1e10;
  rules.patience = Time{static_cast<std::int64_t>(random.below(3) * 1'000'000)};
  return rules;
}

// None but this one, unless a launcher has started several processes.
inline const Ranks& launched_ranks() {
  static const Ranks ranks = Ranks::launched();
  return ranks;
}

// Of all ranks of a program.
inline std::string reduction_tree_of(std::uint64_t seed) {
  const char* const trees[] = {"auto", "flat", "chain", "binary", "binomial", "3-ary", "off"};
  return trees[seed % 7];
}

inline Options random_rank_options(std::uint64_t seed, RankId rank, const RankBytes& bytes,
                                   const std::string& folder) {
  base::Random random(seed * 1000 + rank.value);
  Options options = random_rank_options(random, bytes, folder);
  options.reduction_tree = reduction_tree_of(seed);
  return options;
}

// As rank of several processes.
inline void play_as_rank(std::uint64_t seed, const MakeRankedProgram& make,
                         const std::string& folder) {
  const Ranks& ranks = launched_ranks();
  base::Random random(seed ^ 0x5eed);
  const RankedProgram program = make(seed, ranks.count(), random);
  try {
    Runtime runtime(random_rank_options(seed, ranks.rank(), program.bytes, folder), ranks);
    program.play(runtime);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "rank " << ranks.rank().value << " of " << ranks.count() << ": "
                  << error.what();
  }
}

// As all ranks, in a random number.
inline void play_on_ranks(std::uint64_t seed, const MakeRankedProgram& make,
                          const std::string& folder, std::uint32_t most_ranks) {
  base::Random random(seed ^ 0x5eed);
  const auto ranks = static_cast<std::uint32_t>(1 + random.below(most_ranks));
  const RankedProgram program = make(seed, ranks, random);
  comm::LocalWorld world(ranks, {.seed = seed,
                                 .delayed = static_cast<double>(random.below(3)) / 4,
                                 .most_delay = static_cast<std::uint32_t>(random.below(20))});
  const auto outcomes = run_on_ranks(
      world, [&](RankId rank) { return random_rank_options(seed, rank, program.bytes, folder); },
      program.play,
      {.deliveries = random_delivery_rules(random),
       .silence = Time::from_seconds(300)});  // cores may be shared by many
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(outcomes[rank].text(), "") << "rank " << rank << " of " << ranks;
  }
}

// Stops at the first program that fails, whose seed is said.
inline void play_random_programs(const std::string& name, const MakeRankedProgram& make,
                                 std::uint32_t most_ranks = 5) {
  const testing::TemporaryFolder folder(name);
  const char* const given = std::getenv("RANKS_SEED");
  const char* const number = std::getenv("RANKS_PROGRAMS");
  const std::uint64_t first = given != nullptr ? std::stoull(given) : 1;
  const std::uint64_t programs = number != nullptr ? std::stoull(number) : 60;
  for (std::uint64_t seed = first; seed < first + programs; ++seed) {
    SCOPED_TRACE("RANKS_SEED=" + std::to_string(seed));
    if (launched_ranks().count() > 1) {
      play_as_rank(seed, make, folder.path());
    } else {
      play_on_ranks(seed, make, folder.path(), most_ranks);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace vicinal::tests
