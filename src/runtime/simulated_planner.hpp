// The policy's long work in a simulated world: a slice that no idle worker has run is something that happens there,
// at the time at which it was found, and takes none of it.
#pragma once

#include "engine/lifecycle.hpp"
#include "sim/world.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::runtime {

class SimulatedPlanner final : public sim::Actor {
 public:
  // Both outlive it.
  SimulatedPlanner(sim::World& world, engine::Engine& engine)
      : world_(world), engine_(engine), place_(world.enter(*this)) {}
  ~SimulatedPlanner() override { world_.leave(place_); }
  SimulatedPlanner(const SimulatedPlanner&) = delete;
  SimulatedPlanner& operator=(const SimulatedPlanner&) = delete;

  // Before each step of the world.
  void look() {
    if (engine_.has_slices()) world_.rouse(place_);
  }
  bool act() override { return engine_.run_slice(kNoWorker); }
  void happened(std::uint64_t /*token*/) override {}
  void flow_ended(std::uint64_t /*token*/) override {}

 private:
  sim::World& world_;
  engine::Engine& engine_;
  const sim::World::Place place_;
};

}  // namespace vicinal::runtime
