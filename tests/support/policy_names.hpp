// The names of all policies, for tests that run under every one; and of one of each code, where that is enough, unless
// TEST_ALL_POLICIES_VICINAL is set.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "sched/policy.hpp"
#include "support/tested.hpp"

namespace vicinal::testing {

// Their code is that of a policy that stays: of the list schedulers dmdas and heft, of those that place data load, of
// the orders hfp, of work stealing xkaapi.
inline constexpr std::string_view kLikeOthers[] = {"prio",  "dmda",     "dmdar", "random", "owner",
                                                   "touch", "directed", "rws",   "mst",    "rcm"};

inline bool all_policies_are_asked_for() {
  return std::getenv("TEST_ALL_POLICIES_VICINAL") != nullptr;
}

// One of each code: for tests that take long and look at what surrounds a policy.
inline std::vector<std::string> policies_of_each_code() {
  std::vector<std::string> names;
  for (const sched::PolicyEntry& policy : tested_policies()) {
    const bool like_another = std::ranges::find(kLikeOthers, policy.name) != std::end(kLikeOthers);
    if (!like_another || all_policies_are_asked_for()) names.emplace_back(policy.name);
  }
  return names;
}

// Under sanitizers, which take 5 to 20 times as long, one of each code.
inline std::vector<std::string> policy_names() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return policies_of_each_code();
#else
  std::vector<std::string> names;
  for (const sched::PolicyEntry& policy : tested_policies()) names.emplace_back(policy.name);
  return names;
#endif
}

}  // namespace vicinal::testing
