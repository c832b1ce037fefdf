// How long the thread that polls a transport sleeps between two polls that find nothing.
#pragma once

#include <algorithm>
#include <chrono>

namespace vicinal::comm {

// A thread that polls takes a core from who computes. What arrives after a short silence is seen soon; what arrives after
// a long one waits for a 64th of that silence. Nothing waits for more than two milliseconds.
class PollPace {
 public:
  using Duration = std::chrono::nanoseconds;
  static constexpr Duration kShortest = std::chrono::microseconds(20);  // of a short message
  static constexpr Duration kSoon = std::chrono::microseconds(200);
  static constexpr Duration kLongest = std::chrono::milliseconds(2);

  // Something has arrived that others may follow, or is to be done.
  void traffic() { silence_ = {}; }
  // Another poll has found nothing.
  Duration next_sleep() {
    const Duration doubled = std::min(silence_ + kShortest, kSoon);
    const Duration sleep = std::min(std::max(doubled, silence_ / 64), kLongest);
    silence_ += sleep;
    return sleep;
  }

 private:
  Duration silence_{};  // slept since then
};

}  // namespace vicinal::comm
