// What a policy may be told behind its name: "hfp:flip=no:victims=lru".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vicinal::sched {

// One setting that a policy knows.
struct Setting {
  std::string_view name;
  std::string_view usual;     // what holds if nothing is said
  std::string_view values;    // "yes|no", any words between bars; or "number", not negative
  std::string_view sentence;  // for `vicinal policies`
};

class Settings {
 public:
  Settings() = default;
  // `text`: name=value, several of them with colons between; nothing: all are as usual. Throws UsageError that
  // names the policy, what was said and what may be said.
  Settings(std::string_view policy, std::string_view text, std::span<const Setting> known);

  // Of a setting that the policy knows; else std::logic_error.
  std::string_view text(std::string_view name) const;
  bool yes(std::string_view name) const { return text(name) == "yes"; }
  double number(std::string_view name) const;

 private:
  void say(std::string_view policy, std::string_view word);

  std::span<const Setting> known_;
  std::vector<std::string> values_;  // by number in known_
};

}  // namespace vicinal::sched
