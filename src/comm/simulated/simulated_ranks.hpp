// The ranks of a simulated cluster, in one process: their messages and payloads pass a network of a simulated world, and
// each takes its turns as events there. What ranks say and decide is what real ones do; content is not there. Payloads from one rank
// to another go one after the other, as they were posted, also beside a more urgent one that was posted later: so do those of MPI
// over a connection. What is urgent is for the sender to say before it posts (Deliveries).
//
//   SimulatedRanks ranks(world, cluster.network, 64);
//   RuntimeImpl runtime(..., ranks.progress(RankId{3}));
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "comm/progress.hpp"
#include "comm/transport.hpp"
#include "machine/network_model.hpp"
#include "sim/host_network.hpp"
#include "sim/world.hpp"
#include "trace/recorder.hpp"

namespace vicinal::comm {

class SimulatedRanks final : private sim::HostNetwork::Listener {
 public:
  // One rank on each of the first so many hosts. The world outlives it, and it outlives the runtimes of the ranks. Throws
  // std::invalid_argument if the network has fewer hosts.
  SimulatedRanks(sim::World& world, const machine::NetworkModel& network, std::uint32_t ranks,
                 const DeliveryRules& rules = {});
  ~SimulatedRanks() override;
  SimulatedRanks(const SimulatedRanks&) = delete;
  SimulatedRanks& operator=(const SimulatedRanks&) = delete;

  std::uint32_t count() const { return static_cast<std::uint32_t>(ranks_.size()); }
  Progress& progress(RankId rank);
  // Into which all of them record.
  trace::SharedRecording& recording() { return recording_; }

 private:
  class RankTransport;
  class RankProgress;
  struct Event;  // of which a rank is told
  struct Rank;
  // On its way. A payload has the receiver's, too.
  struct Message {
    RankId from;
    RankId to;
    std::vector<std::byte> bytes = {};
    PayloadId sent = {};
    PayloadId received = {};
    bool is_payload = false;
    bool has_come = false;
  };
  using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>;  // from, to, channel

  void post_message(RankId from, RankId to, std::span<const std::byte> bytes);
  void post_send(RankId from, RankId to, Channel channel, Bytes bytes, PayloadId payload,
                 std::uint32_t numa_node);
  void message_left(std::uint64_t id) override;
  void message_arrived(std::uint64_t id) override;
  std::uint64_t pair(RankId from, RankId to) const {
    return std::uint64_t{from.value} * count() + to.value;
  }

  sim::World& world_;
  trace::SharedRecording recording_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::uint64_t next_ = 0;
  std::unordered_map<std::uint64_t, Message> messages_;
  // Between two ranks: messages come in the order in which they were posted.
  std::unordered_map<std::uint64_t, std::deque<std::uint64_t>> in_order_;
  struct Receive {
    PayloadId payload;
    std::uint32_t numa_node = 0;  // to which content comes
  };
  std::map<Place, Receive> posted_;
  sim::HostNetwork network_;
};

}  // namespace vicinal::comm
