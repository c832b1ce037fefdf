// How many random cases a test runs: TEST_SEEDS_VICINAL for more than the default, TEST_SEED_VICINAL
// for that one alone, TEST_FIRST_SEED_VICINAL to go on behind those that were run. (No names that begin
// with VICINAL_: the runtime refuses those it does not know.)
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace vicinal::testing {

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::stoull(text) : otherwise;
}

// `share`: one in so many of the seeds asked for, for tests that take longer.
inline std::vector<std::uint64_t> seeds(std::uint64_t by_default, std::uint64_t share = 1) {
  if (std::getenv("TEST_SEED_VICINAL") != nullptr)
    return {from_environment("TEST_SEED_VICINAL", 1)};
  std::uint64_t count = by_default;
  if (std::getenv("TEST_SEEDS_VICINAL") != nullptr) {
    count = from_environment("TEST_SEEDS_VICINAL", by_default) / share;
  }
  std::vector<std::uint64_t> list;
  const std::uint64_t first = from_environment("TEST_FIRST_SEED_VICINAL", 1);
  for (std::uint64_t seed = first; seed < first + count; ++seed) list.push_back(seed);
  return list;
}

// Calls check(random, seed) with the random numbers of each of seeds(by_default), until one has failed; the
// failure names it.
template <typename Check>
void for_each_seed(std::uint64_t by_default, Check check) {
  for (const std::uint64_t seed : seeds(by_default)) {
    SCOPED_TRACE("TEST_SEED_VICINAL=" + std::to_string(seed));
    base::Random random(seed);
    check(random, seed);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace vicinal::testing
