// The names of all policies, for tests that run under every one.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "sched/policy.hpp"

namespace vicinal::testing {

// Their code is that of a policy that stays: of the list schedulers dmdas and heft, of those that place data load, of
// the orders hfp, of work stealing xkaapi.
inline constexpr std::string_view kLikeOthers[] = {"prio",  "dmda",     "dmdar", "random", "owner",
                                                   "touch", "directed", "rws",   "mst",    "rcm"};

// Under sanitizers, which take 5 to 20 times as long, one of each code, unless TEST_ALL_POLICIES_VICINAL is set.
inline std::vector<std::string> policy_names() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  const bool all = std::getenv("TEST_ALL_POLICIES_VICINAL") != nullptr;
#else
  const bool all = true;
#endif
  std::vector<std::string> names;
  for (const sched::PolicyEntry& policy : sched::policies()) {
    const bool like_another = std::ranges::find(kLikeOthers, policy.name) != std::end(kLikeOthers);
    if (all || !like_another) names.emplace_back(policy.name);
  }
  return names;
}

}  // namespace vicinal::testing
