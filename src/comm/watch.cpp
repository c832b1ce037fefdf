#include "comm/watch.hpp"

#include <utility>

#include <fmt/format.h>

namespace vicinal::comm {

namespace {
std::string seconds_of(Time time) {
  return fmt::format("{:.1f} s", static_cast<double>(time.ns) / 1e9);
}
}  // namespace

void Watch::begin(Time now) {
  heard_ = now;
  told_at_ = now;
}

void Watch::told(std::string status) {
  status_ = std::move(status);
  told_at_.reset();
}

// Who was stopped itself has heard nothing meanwhile, and does not count that.
Watch::Finding Watch::tick(Time now) {
  const bool has_slept = ticked_ && now - *ticked_ >= Time{rules_.silence.ns / 2};
  ticked_ = now;
  if (!told_at_) told_at_ = now;
  if (!heard_ || has_slept) heard_ = now;
  if (has_left_ || now - *heard_ < rules_.silence) {
    silence_.reset();
    return Finding::nothing;
  }
  why_ = "nothing was heard of it for " + seconds_of(now - *heard_);
  if (!asks_) return Finding::lost;
  if (!silence_) {
    silence_ = now + rules_.answer;
    return Finding::asks;
  }
  return now < *silence_ ? Finding::nothing : Finding::lost;
}

std::string Watch::last_known() const {
  if (status_.empty() || !told_at_ || !ticked_) return {};
  return "; " + seconds_of(*ticked_ - *told_at_) + " ago " + status_;
}

}  // namespace vicinal::comm
