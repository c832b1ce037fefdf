// The clock of this rank beside that of rank 0: questions and answers of which the fastest counts. A state machine without
// clock or messages. After Swartvagher's thesis (2022), section 3.4.2, with the roles exchanged: each rank asks rank 0, and so
// knows the result without another message.
//
//   asked = now here;  there = now on rank 0;  answered = now here
//   offset = there - (asked + answered) / 2, wrong by at most (answered - asked) / 2
#pragma once

#include <cstdint>
#include <optional>

#include "vicinal/units.hpp"

namespace vicinal::comm {

struct ClockComparison {
  Time at;      // of the clock here
  Time offset;  // a time here and the offset are the time on rank 0
  Time error;   // the offset is wrong by this at most
};

struct ClockRules {
  std::uint32_t rounds = 8;  // of which the fastest counts; 0: clocks are not compared
  Time period{1'000'000'000};
};

class ClockRounds {
 public:
  explicit ClockRounds(const ClockRules& rules) : rules_(rules) {}

  // True: a question is to be asked. `now`: of any steady clock.
  bool tick(Time now);
  // The last comparison begins. False: a question is on its way already, which is its first.
  bool begin_last();
  struct Answered {
    bool asks_again = false;
    std::optional<ClockComparison> comparison;  // all rounds have been made
    bool was_last = false;                      // and this was the last comparison
  };
  Answered answered(Time asked, Time there, Time now);

 private:
  void begin();

  const ClockRules rules_;
  std::uint32_t left_ = 0;  // rounds of this comparison; 0: none is being made
  bool is_last_ = false;
  std::optional<ClockComparison> best_;
  std::optional<Time> began_;
};

}  // namespace vicinal::comm
