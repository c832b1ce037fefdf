// Messages between the simulated hosts of a cluster (machine/network_model.hpp), as flows of a world.
//
//   HostNetwork network(world, cluster.network, listener);
//   network.send({.id = 7, .from = 0, .to = 3, .bytes = 1_MiB});
//   while (world.step()) {
//   }                                     // listener.message_arrived(7) is called in between
//
// A message takes the overhead of its sender; the latency of its route; then its bytes flow, and all that flow at once share the
// links of their routes max-min fairly; at last the overhead of its receiver. A host spends one overhead
// at a time, in the order in which they fall due, whether it sends or receives: LogP's processor (Culler et al. 1993), which is
// the one thread of a rank that communicates. A message from a host to itself takes the overheads alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/sure_memory.hpp"
#include "machine/network_model.hpp"
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
  };
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

  void happened(std::uint64_t token) override;
  void flow_ended(std::uint64_t slot) override;
  Time spend(std::uint32_t host, Time overhead);
  void schedule(std::uint64_t slot, Step step, Time at) {
    world_.schedule(place_, at, 2 * slot + static_cast<std::uint64_t>(step));
  }
  void flow(std::uint64_t slot);
  void arrive(std::uint64_t slot);

  World& world_;
  machine::NetworkModel model_;
  Listener& listener_;
  World::Place place_;
  base::SureVector<Link> links_;       // by number; resources are made when a message first passes
  base::SureVector<Time> busy_until_;  // by host: with overheads
  base::SureVector<Message> slots_;    // on their way
  base::SureVector<std::uint32_t> free_slots_;
};

}  // namespace vicinal::sim
