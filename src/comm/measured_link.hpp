// What a message costs between ranks, as this rank sees it: learnt from what goes between ranks anyway, without a message of its own.
// A state machine without clock. Not thread safe.
//
// Latency is half of the shortest time between a question and its answer, which no accident makes too short: rank 0 is asked the time
// by all others (clock_rounds.hpp), and they tell it what they have found.
//
// Bandwidth is measured where content comes, for a sender's payloads end when the network has taken them, not when they are there. From the moment
// at which the first receive of a rank is open until none is, all bytes that have come, over the time until then, are
// no more than the link carries. The best of these quotients is that of the busy time; of the last such times the upper quartile
// counts: others were slow because the sender had other things to send. Who sends is told in credits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "comm/broadcast_trees.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::comm {

// Of the option `rank_link`: none: it is measured; else latency and bandwidth, "20us,1GB/s". Throws UsageError: it is neither.
std::optional<LinkCost> link_of_option(std::string_view text);

class MeasuredLink {
 public:
  // Bytes below which a part of a busy time says nothing, and a whole one: what shapes a network lets some pass at any speed.
  static constexpr std::uint64_t kLeastOfPart = 1 << 20;
  static constexpr std::uint64_t kLeast = 1 << 18;
  // What comes later in a busy time is not looked at: it would take long to see that a link has become quicker.
  static constexpr std::uint64_t kMost = 64 * kLeast;

  // `first`: as long as nothing is known. `learns`: else it stays.
  MeasuredLink(const LinkCost& first, std::uint32_t ranks, bool learns);

  bool learns() const { return learns_; }
  const LinkCost& cost() const { return cost_; }

  // A question was answered after so long.
  void answered(Time round_trip);
  // What a rank has found; 0: nothing yet.
  void told_round_trip(RankId by, Time round_trip);
  void told_bandwidth(RankId by, std::uint64_t bytes_per_second);
  // A receive from there was posted; it has ended.
  void awaits(RankId from, Time now);
  void came(RankId from, Bytes bytes, Time now);
  // What this rank has found, to be told; 0: nothing yet.
  Time round_trip() const { return own_round_trip_; }
  std::uint64_t bandwidth() const { return own_bandwidth_; }

 private:
  struct Peer {
    Time told_round_trip = {};
    std::uint64_t told_bandwidth = 0;
    // Its busy time.
    std::uint32_t open = 0;  // receives
    Time since = {};
    std::uint64_t bytes = 0;
    double best = 0;  // bytes per second, of its parts from the beginning on
  };
  void end_busy(const Peer& peer);
  void look_at_latency();
  void look_at_bandwidth();

  const bool learns_;
  LinkCost cost_;
  std::vector<Peer> peers_;  // none if it does not learn
  Time own_round_trip_ = {};
  std::uint64_t own_bandwidth_ = 0;
  std::array<double, 32> busy_{};  // the best of the last busy times, in a ring
  std::size_t busy_times_ = 0;
};

}  // namespace vicinal::comm
