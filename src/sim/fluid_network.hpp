// Flows that share resources: transfers on links, kernels in memory, messages in a network. At every moment
// their rates are max-min fair (fair_rates.hpp).
//
// Pure and re-entrant. Times are nanoseconds in double precision; only starts and ends are rounded in
// it, so that ends are the same, bit for bit, whatever the times at which one asks.
//
// Flows that are joined by resources in use are a group: the rates of no other flow can change with theirs. A
// start joins groups, an end may take one apart. A change costs a pass over the flows of its group, with
// what FairRates::share says, and O(log(groups)); all other flows are left alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sure_memory.hpp"
#include "sim/fair_rates.hpp"
#include "sim/indexed_heap.hpp"
#include "vicinal/units.hpp"

namespace vicinal::sim {

// What flows: bytes of a copy, or the time of a kernel; the weights say how much of each resource one unit takes.
struct Fluid {
  double amount = 0;
  std::span<const Demand> demands = {};
  double most = kNever;  // units per nanosecond
  Drawer drawer = Drawer::copy;
};

class FluidNetwork {
 public:
  // As those of FairRates.
  Resource add_resource(BytesPerSecond bandwidth);
  Resource add_resource(CapacityRule rule);
  std::size_t resources() const { return rates_.resources(); }

  // `id` is given back at the end. A flow without an amount, or with neither demands nor a rate of its own, ends at
  // once. `at` is not before any earlier change, and not after next_end(). Throws std::invalid_argument for
  // a weight that is not between 1e-6 and 1e6 or a rate that is not above 0.
  void start(std::uint64_t id, const Fluid& fluid, double at);
  // When the next flow ends, if none starts before; kNever without flows.
  double next_end() const { return ends_.empty() ? kNever : ends_.top().key.at; }
  // Lets the first flow end that ends not later than `to`, of equal ones that which started first. False:
  // there is none, and nothing changes.
  struct End {
    std::uint64_t id = 0;
    double at = 0;
  };
  bool take_end(double to, End& end);
  // Ends an active flow that has not all of its amount. `at` as for start.
  void cancel(std::uint64_t id, double at);
  std::size_t flows() const { return active_; }
  // In units per second, of an active flow; 0 if there is no such flow.
  double rate(std::uint64_t id) const;

 private:
  using FlowIndex = std::uint32_t;
  using GroupIndex = std::uint32_t;
  struct Flow : FairRates::Flow {
    std::uint64_t id = 0;
    std::uint64_t number = 0;  // in the order of the starts
    double left = 0;           // units, at the group's last change
    GroupIndex group = kNoGroup;
  };
  struct NextEnd {
    double at = kNever;
    std::uint64_t number = 0;
    FlowIndex flow = 0;
    bool operator<(const NextEnd& other) const {
      return at != other.at ? at < other.at : number < other.number;
    }
  };
  struct Group {
    base::SureVector<FlowIndex> flows;  // in the order of their start
    double changed = 0;                 // when its flows last did
  };
  struct Use {
    std::uint32_t demands = 0;    // of active flows
    GroupIndex group = kNoGroup;  // of these flows
    FlowIndex first = 0;          // of the group, while it is taken apart
    std::uint64_t pass = 0;       // when `first` was noted
  };
  static constexpr GroupIndex kNoGroup = 0xffffffffU;

  FlowIndex take_flow(std::uint64_t id, const Fluid& fluid);
  FlowIndex find(std::uint64_t id) const;
  GroupIndex take_group(double at);
  GroupIndex join(std::span<const Demand> demands, double at);
  void merge(GroupIndex into, GroupIndex other);
  void advance(GroupIndex group, double to);
  void remove(FlowIndex flow);
  bool release(std::span<const Demand> demands);
  void take_apart(GroupIndex group);
  void label(std::span<const FlowIndex> flows);
  FlowIndex root(FlowIndex flow);
  void settle(GroupIndex group);

  FairRates rates_;
  base::SureVector<Use> uses_;  // by resource
  base::SureVector<Flow> flows_;
  base::SureVector<FlowIndex> free_flows_;
  base::SureVector<Group> groups_;
  base::SureVector<GroupIndex> free_groups_;
  IndexedHeap<NextEnd> ends_;  // of the groups
  std::size_t active_ = 0;
  std::uint64_t next_number_ = 0;
  // Members to keep their room.
  base::SureVector<FlowIndex> parents_;  // by flow, while a group is taken apart
  base::SureVector<FlowIndex> together_;
  base::SureVector<GroupIndex> apart_;
  base::SureVector<FairRates::Flow*> sharing_;
  std::uint64_t pass_ = 0;
};

}  // namespace vicinal::sim
