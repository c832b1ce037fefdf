#include "memory/rules.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::memory {
namespace {

struct Rule {
  std::string_view name;
  bool Rules::*member;
};
constexpr Rule kRules[] = {
    {"lru", &Rules::lru},
    {"clean", &Rules::clean_first},
    {"prefetch", &Rules::early_evicts},
    {"owner", &Rules::early_owner},
    {"hint", &Rules::hint},
    {"pipeline", &Rules::one_ahead},
};
constexpr std::string_view kAll = "starpu";

}  // namespace

Rules parse_rules(std::string_view text) {
  Rules rules;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    text.remove_prefix(std::min(name.size() + 1, text.size()));
    bool known = name == kAll;
    for (const Rule& rule : kRules) {
      if (name != kAll && name != rule.name) continue;
      rules.*rule.member = true;
      known = true;
    }
    if (known) continue;
    std::vector<std::string_view> names{kAll};
    for (const Rule& rule : kRules) names.push_back(rule.name);
    throw UsageError("memory_rules: there is no rule \"" + std::string(name) + "\"; did you mean " +
                     std::string(base::nearest(name, names)) + "?");
  }
  rules.lru |= rules.clean_first;
  return rules;
}

}  // namespace vicinal::memory
