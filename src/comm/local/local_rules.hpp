// What the seed of ranks in one process decides, and what is counted of them.
#pragma once

#include <cstdint>
#include <limits>

namespace vicinal::comm {

// There is no clock: a delay is a number of polls of the rank that is told. The seed alone decides how long each thing
// is delayed between two ranks. It decides the order between pairs, too, where one thread calls all transports.
struct LocalRules {
  std::uint64_t seed = 1;
  double delayed = 0;  // the part of messages, payloads and ends of sends that is delayed, 0 to 1
  std::uint32_t most_delay = 0;  // polls; a delay is drawn from 1 to this. 0: none
  // More is told by a later poll. At least 1.
  std::uint32_t most_per_poll = std::numeric_limits<std::uint32_t>::max();
};

// Of one rank to another: what has set out, whether it has arrived or not. What is dropped at once does not count.
struct LocalTraffic {
  std::uint64_t messages = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t payloads = 0;
  std::uint64_t payload_bytes = 0;  // without gaps
  friend constexpr bool operator==(const LocalTraffic&, const LocalTraffic&) = default;
};

}  // namespace vicinal::comm
