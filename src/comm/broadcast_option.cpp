#include "comm/broadcast_option.hpp"

#include <algorithm>
#include <string>

#include "vicinal/error.hpp"

namespace vicinal::comm {

namespace {

bool set(DeliveryRules& rules, std::string_view word) {
  if (word == "priorities=yes" || word == "priorities=sends" || word == "priorities=no") {
    rules.by_priority = !word.ends_with("=no");
    rules.places_by_priority = word.ends_with("=yes");
  } else if (word == "readers=first" || word == "readers=last") {
    rules.readers_first = word.ends_with("=first");
  } else {
    return false;
  }
  return true;
}

}  // namespace

void set_broadcast(DeliveryRules& rules, std::string_view text) {
  std::size_t end = std::min(text.find(':'), text.size());
  rules.tree = tree_of_option(text.substr(0, end));
  while (end < text.size()) {
    const std::size_t begin = end + 1;
    end = std::min(text.find(':', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (set(rules, word)) continue;
    throw UsageError(
        "option broadcast: \"" + std::string(word) +
        "\" is no setting; give priorities=yes, sends or no, or readers=first or last");
  }
}

}  // namespace vicinal::comm
