// Messages between the simulated hosts of a cluster (machine/network_model.hpp), as flows of a world.
//
//   HostNetwork network(world, cluster.network, listener);
//   network.send({.id = 7, .from = 0, .to = 3, .bytes = 1_MiB});
//   while (world.step()) {
//   }                                     // listener.message_arrived(7) is called in between
//
// A message takes the overhead of its sender; the latency of its route; then its bytes flow, and all that flow at once share the
// links of their routes, and the memory of their hosts where that is known, max-min fairly; at last the overhead of its receiver. Messages between two hosts that are in order, as on
// one connection, flow in a row; their latencies pass meanwhile. A host spends one overhead
// at a time, in the order in which they fall due, whether it sends or receives: LogP's processor (Culler et al. 1993), which is
// the one thread of a rank that communicates. A message from a host to itself takes the overheads alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/sure_memory.hpp"
#include "machine/network_model.hpp"
#include "sim/host_memory.hpp"
#include "sim/world.hpp"
#include "vicinal/units.hpp"

namespace vicinal::sim {

class HostNetwork final : private Actor {
 public:
  struct Message {
    std::uint64_t id = 0;  // given back to the listener; the network does not look at it
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    Bytes bytes;
    // Its bytes flow when those of all earlier such messages from this host to that one have left.
    bool in_order = false;
    // It is read from this NUMA node and written to that one, where the memory of the hosts is known (use_memory); none: from
    // caches.
    std::uint32_t from_numa = kNoNuma;
    std::uint32_t to_numa = kNoNuma;
  };
  static constexpr std::uint32_t kNoNuma = 0xffffffffU;
  // All calls come from World::step() or pass(), at the simulated time that they are about; they may send.
  class Listener {
   public:
    virtual ~Listener() = default;
    // All bytes have left the sender's memory.
    virtual void message_left(std::uint64_t /*id*/) {}
    // They are in the receiver's, which has spent its overhead.
    virtual void message_arrived(std::uint64_t id) = 0;
  };

  // `world` and `listener` outlive the network. When it ends, messages on their way are cut off.
  HostNetwork(World& world, const machine::NetworkModel& model, Listener& listener);
  ~HostNetwork() override { world_.leave(place_); }
  HostNetwork(const HostNetwork&) = delete;
  HostNetwork& operator=(const HostNetwork&) = delete;

  const machine::NetworkModel& model() const { return model_; }
  // Messages from this host and to it share its memory with what else is done there. Null: they do not, from now on.
  void use_memory(std::uint32_t host, std::shared_ptr<HostMemory> memory);
  // A message that its sender begins with now. Throws std::invalid_argument for a host that is not there.
  void send(const Message& message);
  std::size_t on_their_way() const { return slots_.size() - free_slots_.size(); }
  // Of messages that have left their senders.
  Bytes carried(machine::NetworkLink link) const { return links_[link].carried; }

 private:
  enum class Step : std::uint8_t { flow, arrive };
  struct Link {
    Resource resource = kNotYet;  // of the world
    Bytes carried;
  };
  static constexpr Resource kNotYet = 0xffffffffU;
  static constexpr std::uint32_t kNone = 0xffffffffU;
  struct Slot {
    Message message;
    std::uint32_t behind = kNone;  // the slot of the next message in its line
  };
  // Messages in order from one host to another that have not left, as they were sent.
  struct Line {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    std::uint32_t due = 0;  // of those that wait: whose latency has passed; the first ones
    bool flows = false;     // the first
  };

  void happened(std::uint64_t token) override;
  void flow_ended(std::uint64_t slot) override;
  Time spend(std::uint32_t host, Time overhead);
  void schedule(std::uint64_t slot, Step step, Time at) {
    world_.schedule(place_, at, 2 * slot + static_cast<std::uint64_t>(step));
  }
  std::uint64_t pair(const Message& message) const {
    return std::uint64_t{message.from} * model_.hosts + message.to;
  }
  void fall_in(std::uint32_t slot);
  void fall_due(std::uint32_t slot);
  void fall_out(std::uint32_t slot);
  void flow(std::uint32_t slot);
  void add_memory(std::uint32_t host, HostMemory::Lane lane, std::uint32_t numa_node);
  void arrive(std::uint64_t slot);

  World& world_;
  machine::NetworkModel model_;
  Listener& listener_;
  World::Place place_;
  base::SureVector<Link> links_;       // by number; resources are made when a message first passes
  base::SureVector<Time> busy_until_;  // by host: with overheads
  base::SureVector<Slot> slots_;       // on their way
  base::SureVector<std::uint32_t> free_slots_;
  std::unordered_map<std::uint64_t, Line> lines_;
  std::vector<std::shared_ptr<HostMemory>> memories_;  // by host, or empty: none has one
  base::SureVector<Demand> demands_;                   // of a message that flows: to keep the room
};

}  // namespace vicinal::sim
