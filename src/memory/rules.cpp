#include "memory/rules.hpp"

#include <algorithm>
#include <string>

#include "vicinal/error.hpp"

namespace vicinal::memory {
namespace {

struct Rule {
  std::string_view name;
  bool Rules::*member;
};
constexpr Rule kRules[] = {
    {"lru", &Rules::lru},         {"clean", &Rules::clean}, {"prefetch", &Rules::prefetch},
    {"owner", &Rules::owner},     {"hint", &Rules::hint},   {"pipeline", &Rules::pipeline},
    {"unified", &Rules::unified},
};
constexpr std::string_view kAll = "starpu";
constexpr std::string_view kNotTheirs = "unified";

}  // namespace

Rules parse_rules(std::string_view text) {
  Rules rules;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    text.remove_prefix(std::min(name.size() + 1, text.size()));
    bool known = name == kAll;
    for (const Rule& rule : kRules) {
      if (name == kAll ? rule.name == kNotTheirs : name != rule.name) continue;
      rules.*rule.member = true;
      known = true;
    }
    if (known) continue;
    std::string names(kAll);
    for (const Rule& rule : kRules) names += ", " + std::string(rule.name);
    throw UsageError("memory_rules: there is no rule \"" + std::string(name) + "\"; there are " +
                     names);
  }
  rules.lru |= rules.clean || rules.prefetch || rules.owner ||
               rules.unified;  // they say which victims there are
  return rules;
}

}  // namespace vicinal::memory
