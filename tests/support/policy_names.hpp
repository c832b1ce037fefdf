// The names of all policies, for tests that run under every one.
#pragma once

#include <string>
#include <vector>

#include "sched/policy.hpp"

namespace vicinal::testing {

inline std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const sched::PolicyEntry& policy : sched::policies()) names.emplace_back(policy.name);
  return names;
}

}  // namespace vicinal::testing
