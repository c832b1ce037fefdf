// Bytes that a task lacks on a node, compared in this order by the ready rule (Gonthier et al. 2024, dmdar).
#pragma once

#include <compare>
#include <cstdint>

#include "trace/decision.hpp"

namespace vicinal::sched {

struct Missing {
  std::uint64_t invalid = 0;      // of what it reads: not valid there
  std::uint64_t unrequested = 0;  // of what it reads: not even requested
  std::uint64_t unplaced = 0;     // of all operands: no room there, and none asked for
  friend auto operator<=>(const Missing&, const Missing&) = default;

  struct Operand {
    std::uint64_t size = 0;
    bool read = false;
    bool valid = false;
    bool requested = false;
  };
  static Missing of(const Operand& operand) {
    const auto& [size, read, valid, requested] = operand;
    return {.invalid = read && !valid ? size : 0,
            .unrequested = read && !requested ? size : 0,
            .unplaced = !requested ? size : 0};
  }
  Missing& operator+=(const Missing& part) {
    invalid += part.invalid;
    unrequested += part.unrequested;
    unplaced += part.unplaced;
    return *this;
  }
  Missing& operator-=(const Missing& part) {
    invalid -= part.invalid;
    unrequested -= part.unrequested;
    unplaced -= part.unplaced;
    return *this;
  }
  void score(trace::Candidate& candidate) const {
    candidate.scores.push_back({trace::Measure::missing_bytes, invalid});
    candidate.scores.push_back({trace::Measure::unrequested_bytes, unrequested});
    candidate.scores.push_back({trace::Measure::unplaced_bytes, unplaced});
  }
};

}  // namespace vicinal::sched
