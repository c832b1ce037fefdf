// Several ranks in one process, for tests: transports that a seed delays and reorders, ranks that fall silent or die.
//
//   LocalWorld world(2, {.seed = 7, .delayed = 0.5, .most_delay = 9});
//   const std::unique_ptr<Transport> here = world.transport(RankId{0});
//   const std::unique_ptr<Transport> there = world.transport(RankId{1});  // for another thread
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "comm/local/local_rules.hpp"
#include "comm/transport.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::comm {

class LocalNetwork;

// Any thread may call, at any time. Transports may outlive the world. All share one lock, also while content is
// copied: this is made for tests, not for speed.
//
// A transport is for one thread at a time. Beyond what Transport says, it throws UsageError where the contract is
// broken: a send without its receive, of other bytes than the receive, a channel that is in use, a message that is too
// long, a payload after cancel(), a rank that does not exist or is the caller. What is posted for a rank that was
// killed, has cancelled, or whose transport is gone is dropped: the payload never ends.
class LocalWorld {
 public:
  // 1 to kMostRanks ranks; UsageError for other numbers and for rules that cannot be.
  explicit LocalWorld(std::uint32_t ranks, const LocalRules& rules = {});
  LocalWorld(const LocalWorld&) = delete;
  LocalWorld& operator=(const LocalWorld&) = delete;
  ~LocalWorld();

  static constexpr std::uint32_t kMostRanks = 256;

  std::uint32_t ranks() const;
  // Once for each rank. Its end is a cancel() of which nobody is told; messages it has posted still arrive.
  std::unique_ptr<Transport> transport(RankId rank);

  // The rank falls silent, as a stopped process does: its posts are taken, but none sets out, and nothing is told to
  // it. Nothing gets lost. What a poll has begun to tell, in another thread, it tells to the end.
  void stop(RankId rank);
  void go_on(RankId rank);
  // The rank is lost, as if its process had died. All that is under way from the rank or to it is dropped, also ends
  // of sends to it. The others are told once, with `why` ("rank 2 was killed" if empty). Calls to the rank's transport
  // do nothing. When this returns, nobody reads or writes the memory of the rank's payloads any more.
  void kill(RankId rank, const std::string& why = {});

  LocalTraffic traffic(RankId from, RankId to) const;
  // Messages, payloads, ends of sends and losses that somebody has still to be told. 0, and everybody waits: nothing
  // will ever happen.
  std::size_t under_way() const;

 private:
  std::shared_ptr<LocalNetwork> network_;
};

}  // namespace vicinal::comm
