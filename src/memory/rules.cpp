#include "memory/rules.hpp"

#include <algorithm>
#include <string>

#include "vicinal/error.hpp"

namespace vicinal::memory {
namespace {

struct Rule {
  std::string_view name;
  bool Rules::*member;
  std::string_view runtime = {};  // whose name stands for it and its others
};
constexpr std::string_view kStarPu = "starpu";
constexpr std::string_view kXKaapi = "xkaapi";
constexpr Rule kRules[] = {
    {"lru", &Rules::lru, kStarPu},
    {"clean", &Rules::clean, kStarPu},
    {"prefetch", &Rules::prefetch, kStarPu},
    {"owner", &Rules::owner, kStarPu},
    {"hint", &Rules::hint, kStarPu},
    {"pipeline", &Rules::pipeline, kStarPu},
    {"peer", &Rules::peer, kStarPu},
    {"saved", &Rules::saved, kXKaapi},
    {"unified", &Rules::unified},
};

}  // namespace

Rules parse_rules(std::string_view text) {
  Rules rules;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    text.remove_prefix(std::min(name.size() + 1, text.size()));
    bool known = false;
    for (const Rule& rule : kRules) {
      if (name != rule.name && (name.empty() || name != rule.runtime)) continue;
      rules.*rule.member = true;
      known = true;
    }
    if (known) continue;
    std::string names = std::string(kStarPu) + ", " + std::string(kXKaapi);
    for (const Rule& rule : kRules) names += ", " + std::string(rule.name);
    throw UsageError("memory_rules: there is no rule \"" + std::string(name) + "\"; there are " +
                     names);
  }
  rules.lru |= rules.clean || rules.prefetch || rules.owner || rules.saved ||
               rules.unified;  // they say which victims there are
  return rules;
}

}  // namespace vicinal::memory
