// Rates that are max-min fair: the rates of the flows on a resource, each times its weight there, sum up to
// the resource's capacity at most, and no flow could be faster but at the expense of one that is not faster
// than it.
//
// This is what SimGrid computes without cross-traffic, latency weights and bandwidth factors (Velho,
// Schnorr, Casanova, Legrand 2013, section 3), which a test compares it with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/sure_memory.hpp"
#include "vicinal/units.hpp"

namespace vicinal::sim {

using Resource = std::uint32_t;
inline constexpr double kNever = std::numeric_limits<double>::infinity();

// What a flow takes of a resource, per unit of its own rate. A resource named twice is used twice.
struct Demand {
  Resource resource = 0;
  double weight = 1;
};

class FairRates {
 public:
  struct Flow {
    base::SureVector<Demand> demands;
    double most = kNever;  // units per nanosecond, whatever the resources have
    double rate = 0;       // units per nanosecond
  };

  // Throws std::invalid_argument unless the bandwidth is more than 0 and finite.
  Resource add_resource(BytesPerSecond bandwidth);
  std::size_t resources() const { return resources_.size(); }

  // Sets the rates of these flows, which share nothing with others. The cost is O(flows x demands of each),
  // plus, for each bottleneck, a pass over the flows and over their resources.
  void share(std::span<Flow* const> flows);

 private:
  struct State {
    double capacity = 0;  // per nanosecond
    // Of share():
    double left = 0;     // of the capacity, for flows without a rate
    double weights = 0;  // of their demands
    std::uint32_t demands = 0;
  };
  void count(std::span<Flow* const> flows);
  double slowest_most() const;
  double narrowest(Resource& found) const;
  void fix(Flow& flow, double rate);

  base::SureVector<State> resources_;
  base::SureVector<Resource> used_;
  base::SureVector<Flow*> unfixed_;
  bool any_most_ = false;  // a flow has a rate of its own
};

}  // namespace vicinal::sim
