// The copies of a simulated machine: those of links that exclude each other run in the order of their
// start, those that run at once share bandwidth (sim/world.hpp).
//
// What a copy costs at its start and its end grows with the copies in flight that it excludes, and with the
// flows that it shares bandwidth with, not with the links of the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/sure_memory.hpp"
#include "drivers/simulated/simulated_resources.hpp"
#include "memory/copy.hpp"
#include "sim/world.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::drivers {

class SimulatedLinks final : public sim::Actor {
 public:
  // What the links need to know of a copy.
  struct Copy {
    memory::CopyId id;
    std::uint32_t link = 0;
    Bytes bytes;
    Time faults = {};             // before it flows, beside the link's latency
    bool is_first_write = false;  // the disk has no room for it yet (LinkDescription::first_write)
    std::uint32_t numa_node = 0;  // where it reads or writes RAM
  };
  // `ended` is called at the end of each copy, from the world. The machine, the world and the resources outlive this.
  using Ended = std::function<void(const Copy&)>;
  // A kernel runs on every CPU worker; none: that is never so.
  using CoresBusy = std::function<bool()>;
  SimulatedLinks(const MachineDescription& machine, sim::World& world,
                 const SimulatedResources& resources, Ended ended, CoresBusy cores_busy = {});
  ~SimulatedLinks() override;
  SimulatedLinks(const SimulatedLinks&) = delete;
  SimulatedLinks& operator=(const SimulatedLinks&) = delete;

  // Throws std::logic_error if no link leads there.
  Copy describe(const memory::Copy& copy) const;
  // From now on it waits for those that exclude it, then for its link's latency, and then it flows; at the end for a core,
  // where the link says so (LinkDescription::busy_latency).
  void start(const Copy& copy);

  void happened(std::uint64_t token) override;
  void flow_ended(std::uint64_t token) override;

 private:
  using Slot = std::uint32_t;
  struct Transfer {
    Copy copy;
    std::uint32_t waits_for = 0;     // transfers that exclude it and began before
    base::SureVector<Slot> waiters;  // those that wait for this one
  };
  struct Link {
    Time latency;
    std::optional<sim::Resource> first_writes;  // shared by those
    base::SureVector<sim::Demand> path;
    std::vector<std::uint32_t> excludes;  // links, each once
    base::SureVector<Slot> unended;       // in the order of their start
  };
  struct Way {
    NodeId to;
    std::uint32_t link = 0;
  };
  Slot take_slot();
  void begin(Slot transfer);
  void flow(Slot transfer);
  void end(Slot transfer);

  const MachineDescription& machine_;
  sim::World& world_;
  const SimulatedResources& resources_;
  const Ended ended_;
  const CoresBusy cores_busy_;
  const sim::World::Place place_;
  std::vector<std::vector<Way>> ways_;  // by the node they lead from, sorted by `to`
  std::vector<Link> links_;
  base::SureVector<Transfer> transfers_;
  base::SureVector<Slot> unused_;
  base::SureVector<sim::Demand> demands_;  // of a flow that starts: to keep the room
};

}  // namespace vicinal::drivers
