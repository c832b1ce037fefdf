// The names of policies that tests run under: one of each code, or, where TEST_ALL_POLICIES_VICINAL is set, all.
// PolicyConformance tests each policy's own code in any case.
// Under sanitizers, tests of what policies have to do with little take one of each way.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "sched/policy.hpp"
#include "support/sanitized.hpp"
#include "support/tested.hpp"

namespace vicinal::testing {

// Their code is that of a policy that stays: of the list schedulers dmdas and heft, of those that place data load, of
// the orders hfp, of work stealing xkaapi.
inline constexpr std::string_view kLikeOthers[] = {"prio",  "dmda",     "dmdar", "random", "owner",
                                                   "touch", "directed", "rws",   "mst",    "rcm"};

inline bool all_policies_are_asked_for() {
  return std::getenv("TEST_ALL_POLICIES_VICINAL") != nullptr;
}

// Those that somebody has registered count as they are.
inline std::vector<std::string> policy_names() {
  const bool all = all_policies_are_asked_for() || !sched::registered_policies().empty();
  std::vector<std::string> names;
  for (const sched::PolicyEntry& policy : tested_policies()) {
    const bool like_another = std::ranges::find(kLikeOthers, policy.name) != std::end(kLikeOthers);
    if (all || !like_another) names.emplace_back(policy.name);
  }
  return names;
}

// One that plans, one that steals, one that pushes, one queue, and one that chooses what leaves a memory.
inline constexpr std::string_view kOneOfEachWay[] = {"hfp", "lws", "dmdas", "eager", "darts"};

inline std::vector<std::string> policy_names_of_each_way() {
  std::vector<std::string> names = policy_names();
  const bool sanitized = TEST_ADDRESS_SANITIZER || TEST_THREAD_SANITIZER;
  if (sanitized && !all_policies_are_asked_for() && sched::registered_policies().empty()) {
    std::erase_if(names, [](const std::string& name) {
      return std::ranges::find(kOneOfEachWay, name) == std::end(kOneOfEachWay);
    });
  }
  return names;
}

}  // namespace vicinal::testing
