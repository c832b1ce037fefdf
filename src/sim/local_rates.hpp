// The max-min fair rates of many flows (fair_rates.hpp), found anew only where the start or the end of one changes them.
//
// Rates are max-min fair if and only if each flow has a bottleneck: a resource that is used up, and of which no flow
// has more than it, or the rate that it may have at most (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).
// So after a change the flows that lost theirs are filled anew, with what all others leave them; flows that lose
// theirs by that are filled with them, until none does. How far a change reaches is little in a network of
// many bottlenecks: a bottleneck depends on flows that are slower than its own, and on no others.
//
// Rates differ from those of FairRates in their last digits, and by what has been before. Copies and resources of one
// capacity only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sure_memory.hpp"
#include "sim/fair_rates.hpp"

namespace vicinal::sim {

class LocalRates {
 public:
  using FlowIndex = std::uint32_t;

  // Resources have the numbers 0, 1, ... in the order of these calls. `capacity`: per nanosecond.
  void add_resource(double capacity);
  // `any_follows`: the rates of flows there change, perhaps; else they leave some of it, before and after.
  void set_capacity(Resource resource, double capacity, bool any_follows);
  // Adds a flow of a number that no other has. It has no rate before settle().
  void insert(FlowIndex flow, std::span<const Demand> demands, double most);
  void erase(FlowIndex flow);
  void clear();  // of all flows, after settle()
  // Finds the rates after what was inserted and erased. Returns the flows whose rates have changed, in no
  // order that means something but always in the same; the list holds until the next call. Expected cost:
  // O(d log d) for the d flows that lost their bottlenecks and the demands that share a resource with them.
  std::span<const FlowIndex> settle();
  double rate(FlowIndex flow) const { return flows_[flow].rate; }
  // Of the last settle(): of how many flows it had to find the rates, and how many bottlenecks these have.
  std::size_t reached() const { return reached_; }
  std::size_t bottlenecks() const { return bottlenecks_; }

 private:
  static constexpr Resource kOwnRate = 0xffffffffU;       // the flow is as fast as it may be
  static constexpr Resource kNoBottleneck = 0xfffffffeU;  // settle() has not come yet
  struct Use {
    Resource resource = 0;
    double weight = 1;
    std::uint32_t place = 0;  // in the resource's list
  };
  struct Flow {
    base::SureVector<Use> uses;
    double most = kNever;
    double rate = 0;
    double before = 0;  // the rate that is in State::used
    Resource bottleneck = kNoBottleneck;
    Resource found = kNoBottleneck;  // bottleneck of the last fill
    bool filled = false;             // anew: is among filled_
    bool fixed = false;              // has its rate of this fill
  };
  struct Passing {
    FlowIndex flow = 0;
    std::uint32_t use = 0;  // of the flow
  };
  struct State {
    double capacity = 0;
    base::SureVector<Passing> flows;
    double used = 0;                  // by flows at the rates before the change
    std::uint32_t summed = 0;         // additions to `used` since it was summed up
    std::uint32_t bottleneck_of = 0;  // flows, before the change
    // Of a fill, for the flows that it fills:
    std::uint64_t fill = 0;     // its number
    double left = 0;            // for flows without a rate
    double weights = 0;         // of their demands
    std::uint32_t unfixed = 0;  // their demands
    std::uint32_t filled = 0;   // demands of all flows that are filled
    std::uint32_t lost = 0;     // of `bottleneck_of`
    double fastest = 0;         // rate of these flows
    bool used_up = false;       // it is the bottleneck of some, at the rate `fastest`
  };
  struct Candidate {
    double rate = 0;
    std::uint32_t item = 0;  // flow or resource
    bool is_flow = false;
  };

  void put(FlowIndex flow);
  void put_those_bound_by(const State& resource, Resource number);
  void fill();
  void begin(FlowIndex flow);
  void fix(FlowIndex flow, double rate, Resource bottleneck);
  bool put_those_without_bottleneck(bool all);
  void commit();
  void sum_up(State& resource);
  void push(const Candidate& candidate);
  static bool later(const Candidate& a, const Candidate& b);

  base::SureVector<Flow> flows_;
  base::SureVector<State> resources_;
  base::SureVector<FlowIndex> filled_;  // those whose rates are found anew
  base::SureVector<FlowIndex> changed_;
  base::SureVector<Resource> passed_;       // by filled flows
  base::SureVector<Candidate> candidates_;  // a heap: what may fix rates next
  std::uint64_t fill_ = 0;
  std::size_t reached_ = 0;
  std::size_t bottlenecks_ = 0;
};

}  // namespace vicinal::sim
