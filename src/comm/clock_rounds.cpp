#include "comm/clock_rounds.hpp"

namespace vicinal::comm {

void ClockRounds::begin() {
  left_ = rules_.rounds;
  best_.reset();
}

bool ClockRounds::tick(Time now) {
  if (rules_.rounds == 0 || left_ > 0 || is_last_) return false;
  if (began_ && now - *began_ < rules_.period) return false;
  began_ = now;
  begin();
  return true;
}

// One that is being made is made anew.
bool ClockRounds::begin_last() {
  is_last_ = true;
  const bool is_asked = left_ > 0;
  begin();
  return !is_asked;
}

ClockRounds::Answered ClockRounds::answered(Time asked, Time there, Time now) {
  if (left_ == 0) return {};
  // Rounded up: the error is a bound.
  const Time error{(now.ns - asked.ns + 1) / 2};
  if (!best_ || error < best_->error) {
    const Time middle{asked.ns + (now.ns - asked.ns) / 2};
    best_ = ClockComparison{.at = middle, .offset = there - middle, .error = error};
  }
  if (--left_ > 0) return {.asks_again = true, .comparison = {}, .was_last = false};
  return {.asks_again = false, .comparison = best_, .was_last = is_last_};
}

}  // namespace vicinal::comm
