// Rates that are max-min fair: the rates of the flows on a resource, each times its weight there, sum up to
// the resource's capacity at most, and no flow could be faster but at the expense of one that is not faster
// than it.
//
// This is what SimGrid computes without cross-traffic, latency weights and bandwidth factors (Velho,
// Schnorr, Casanova, Legrand 2013, section 3), which a test compares it with.
//
// Flows are of two classes, copies and kernels, whose rates have different units: bytes, and parts of full speed. So each
// class shares max-min fairly within itself. Where both draw on a resource, kernels come first, but for a part of its
// capacity that is kept for copies, as in the model of Swartvagher's thesis (2022) for computations and communications:
// kernels have what copies leave of that part, copies have what kernels leave of the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "base/sure_memory.hpp"
#include "vicinal/units.hpp"

namespace vicinal::sim {

using Resource = std::uint32_t;
inline constexpr double kNever = std::numeric_limits<double>::infinity();

enum class Drawer : std::uint8_t { copy, kernel };

// What a flow takes of a resource, per unit of its own rate. A resource named twice is used twice.
struct Demand {
  Resource resource = 0;
  double weight = 1;
};

// What a resource has while so many flows draw on it, per nanosecond.
struct Capacity {
  double all = 0;         // above 0
  double for_copies = 0;  // kept for copies that can use it: from 0 to `all`
  // What kernels can use: from 0 to `all`. Copies take first of what kernels cannot use.
  double for_kernels = 0;
};
// Demands of active flows.
struct Drawing {
  std::uint32_t kernels = 0;
  std::uint32_t copies = 0;
};
// Must say the same whenever it is asked the same.
using CapacityRule = std::function<Capacity(Drawing)>;

class FairRates {
 public:
  struct Flow {
    base::SureVector<Demand> demands;
    double most = kNever;  // units per nanosecond, whatever the resources have
    double rate = 0;       // units per nanosecond
    Drawer drawer = Drawer::copy;
  };

  // Of always the same capacity; each demand, of kernel or copy, is kept an equal part. Throws std::invalid_argument
  // unless the bandwidth is more than 0 and finite.
  Resource add_resource(BytesPerSecond bandwidth);
  Resource add_resource(CapacityRule rule);
  std::size_t resources() const { return resources_.size(); }
  bool has_rule(Resource resource) const { return resources_[resource].rule != kNoRule; }
  double capacity(Resource resource) const {
    return resources_[resource].capacity;
  }  // without a rule
  // Per nanosecond, above 0 and finite; of a resource without a rule. Rates follow at the next share().
  void set_capacity(Resource resource, double capacity) {
    resources_[resource].capacity = capacity;
  }

  // Sets the rates of these flows, which share nothing with others. The cost is O(flows x demands of each),
  // plus, for each bottleneck, a pass over the flows and over their resources. A rate may be 0 where a rule keeps
  // all of a resource for copies.
  void share(std::span<Flow* const> flows);
  // Of the last share(): how many bottlenecks it found, and that no flow was a kernel and no resource had a rule.
  std::size_t bottlenecks() const { return bottlenecks_; }
  bool only_plain_copies() const { return !by_class_; }

 private:
  static constexpr std::uint32_t kNoRule = 0xffffffffU;
  struct State {
    double capacity = 0;           // per nanosecond
    std::uint32_t rule = kNoRule;  // by which the capacity is found, if there is one
    // Of share():
    std::uint32_t demands = 0;
    std::uint32_t kernels = 0;  // demands of kernels
    double left = 0;            // of the capacity, for flows without a rate
    double weights = 0;         // of their demands
    Capacity now = {};
  };
  void count(std::span<Flow* const> flows);
  void fill();
  void share_by_class(std::span<Flow* const> flows);
  void find_capacities();
  Capacity capacity_of(const State& resource) const;
  void give(double Capacity::*part);
  void take(const base::SureVector<Flow*>& flows);
  void fill(const base::SureVector<Flow*>& flows, double Capacity::*most);
  double slowest_most() const;
  double narrowest(Resource& found) const;
  void fix(Flow& flow, double rate);

  base::SureVector<State> resources_;
  base::SureVector<CapacityRule> rules_;
  base::SureVector<Resource> used_;
  base::SureVector<Flow*> unfixed_;
  base::SureVector<Flow*> kernels_;
  base::SureVector<Flow*> copies_;
  std::size_t bottlenecks_ = 0;
  bool any_most_ = false;  // a flow has a rate of its own
  bool by_class_ = false;  // a flow is a kernel, or a resource in use has a rule
};

}  // namespace vicinal::sim
