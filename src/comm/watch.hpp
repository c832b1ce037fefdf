// The rank before this one, watched: each rank hears of one other now and then. A state machine without clock or messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vicinal/units.hpp"

namespace vicinal::comm {

struct WatchRules {
  Time silence;  // after which the rank is taken to be lost
  Time answer;   // in which other ranks are to answer, before that
};

class Watch {
 public:
  // `asks`: there are other ranks to ask whether it is this rank that is cut off.
  Watch(const WatchRules& rules, bool asks) : rules_(rules), asks_(asks) {}

  void begin(Time now);
  void heard() { heard_.reset(); }   // anything of the rank
  void told(std::string status);     // what it does
  void left() { has_left_ = true; }  // it has ended: silence means nothing
  enum class Finding : std::uint8_t { nothing, asks, lost };
  // asks: the other ranks are to be asked, once; lost: `why` says it.
  Finding tick(Time now);
  // Another rank has answered. True: so the watched rank is lost.
  bool answered() const { return silence_.has_value(); }
  const std::string& why() const { return why_; }
  // "; 3.0 s ago it had run 3 tasks", or nothing.
  std::string last_known() const;

 private:
  const WatchRules rules_;
  const bool asks_;
  bool has_left_ = false;
  std::optional<Time> heard_;    // none: since the last tick
  std::optional<Time> told_at_;  // likewise
  std::string status_;
  std::optional<Time> ticked_;
  std::optional<Time> silence_;  // until when answers are awaited
  std::string why_;
};

}  // namespace vicinal::comm
