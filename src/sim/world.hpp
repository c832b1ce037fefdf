// A simulated world: a clock, a queue of events, and resources that flows share, for all actors of the world.
//
//   World world;
//   const Resource link = world.add_resource(BytesPerSecond{1e9});
//   const World::Place place = world.enter(actor);
//   const Demand demand{link};
//   world.start(place, 7, {.amount = 1000, .demands = {&demand, 1}});
//   while (world.step()) {
//   }                                     // actor.flow_ended(7) is called at 1000 ns
//
// Actors are simulated drivers, of one runtime or of several; later also transports. One thread calls all of it, but
// for now(). A run is deterministic: actors act in the order of their places, flows end before events of the same
// nanosecond happen, and Turn says which of these come first.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/sure_memory.hpp"
#include "sim/event_queue.hpp"
#include "sim/fluid_network.hpp"
#include "vicinal/units.hpp"

namespace vicinal::sim {

// Who has events and flows in a world. All calls come from World::step() or pass().
class Actor {
 public:
  virtual ~Actor() = default;
  // Was roused: does one of the things that are to be done at once. False: nothing is left of them.
  virtual bool act() { return false; }
  // What was scheduled with this token happens now.
  virtual void happened(std::uint64_t token) = 0;
  // A flow has ended, in the nanosecond that ends now.
  virtual void flow_ended(std::uint64_t token) = 0;
};

class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  static constexpr Time kNoTime{INT64_MAX};
  // 36 years. What tasks take altogether, and the end of each copy, is kept below it; so sums of some times are
  // in range.
  static constexpr Time kEndOfTime{std::int64_t{1} << 60};

  Time now() const { return now_.load(std::memory_order_relaxed); }  // any thread
  // Throws std::invalid_argument unless the bandwidth is more than 0 and finite. It stays as long as the world.
  Resource add_resource(BytesPerSecond bandwidth) { return network_.add_resource(bandwidth); }
  // Its capacity depends on who draws on it.
  Resource add_resource(CapacityRule rule) { return network_.add_resource(std::move(rule)); }
  // As FluidNetwork's.
  Resource add_resources(std::uint32_t count, JointRule rule) {
    return network_.add_resources(count, std::move(rule));
  }

  using Place = std::uint32_t;
  Place enter(Actor& actor);
  // Its events do not happen any more, its flows are cut off.
  void leave(Place place);
  // act() is to be called before time goes on, until it says no.
  void rouse(Place place) {
    roused_[place / 64] |= std::uint64_t{1} << (place % 64);
    first_roused_ = std::min<std::size_t>(first_roused_, place / 64);
    any_roused_ = true;
  }
  // `at` is not in the past.
  void schedule(Place place, Time at, std::uint64_t token, Turn turn = Turn::others) {
    events_.schedule({at, token, place}, turn);
  }
  // A flow that begins now.
  void start(Place place, std::uint64_t token, const Fluid& fluid);

  // Lets an actor act, or else goes on to the next end of a flow or event, if that is not after `until`. False: there
  // is none.
  bool step(Time until = kNoTime) { return (any_roused_ && act()) || next_event(until); }
  // All that happens in the time to come.
  void pass(Time duration);
  // Inside an actor's call.
  bool stepping() const { return stepping_; }

  // What all tasks of a run take together, each as long as it may.
  Time claimed() const { return claimed_; }
  void claim(Time time) { claimed_ += time; }

 private:
  struct Flow {
    Place place = 0;
    std::uint64_t token = 0;
    bool active = false;
  };
  bool act();
  bool next_event(Time until);
  Time next_flow_end() const;
  void end_flow();

  std::atomic<Time> now_{};
  EventQueue events_;
  FluidNetwork network_;
  std::vector<Actor*> actors_;         // by place; nullptr: it has left
  bool any_left_ = false;              // may have; false: none has
  std::vector<std::uint64_t> roused_;  // bit per place
  std::size_t first_roused_ = 0;       // none in words before this one
  bool any_roused_ = false;            // may be; false: none is
  base::SureVector<Flow> flows_;       // by the id in the network
  base::SureVector<std::uint32_t> free_flows_;
  bool stepping_ = false;
  Time claimed_;
};

}  // namespace vicinal::sim
