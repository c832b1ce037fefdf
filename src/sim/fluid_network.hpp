// Flows that share resources: transfers on links, kernels in memory, messages in a network. At every moment
// their rates are max-min fair (fair_rates.hpp).
//
// Pure and re-entrant. Times are nanoseconds in double precision; only starts and ends are rounded in
// it, so that ends are the same, bit for bit, whatever the times at which one asks.
//
// Flows that are joined by resources in use are a group: the rates of no other flow can change with theirs. A
// start joins groups, an end may take one apart. A change costs a pass over the flows of its group, with
// what FairRates::share says, and O(log(groups)); all other flows are left alone.
//
// In a group of many flows with many bottlenecks, such as messages between the hosts of a cluster, a pass costs much, and
// most of what it finds is what was there before. Such a group is given up: its flows are wide, and LocalRates finds the rates that a
// change changes, for O(log(wide flows)) each. Flows that meet wide ones are wide, too. Wide flows are groups again when they
// are few, or when changes reach most of them by few bottlenecks; and when a kernel or a resource with
// a rule would join them, which cannot be wide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sure_memory.hpp"
#include "sim/fair_rates.hpp"
#include "sim/indexed_heap.hpp"
#include "sim/local_rates.hpp"
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
  double next_end() const { return first_end().at; }
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
    double left = 0;           // units, at the last change: of the group, or of a wide flow's rate
    double changed = 0;        // of a wide flow: when that was
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
    bool only_plain_copies = true;      // no kernel, and no resource with a rule
  };
  struct Use {
    std::uint32_t demands = 0;    // of active flows
    GroupIndex group = kNoGroup;  // of these flows
    FlowIndex first = 0;          // of the group, while it is taken apart
    std::uint64_t pass = 0;       // when `first` was noted
  };
  static constexpr GroupIndex kNoGroup = 0xffffffffU;
  static constexpr GroupIndex kWide = 0xfffffffeU;  // the group of wide flows

  FlowIndex take_flow(std::uint64_t id, const Fluid& fluid);
  FlowIndex find(std::uint64_t id) const;
  GroupIndex take_group(double at);
  GroupIndex join(std::span<const Demand> demands, double at);
  void merge(GroupIndex into, GroupIndex other);
  void advance(GroupIndex group, double to);
  void remove(FlowIndex flow, double at);
  bool release(std::span<const Demand> demands);
  void take_apart(GroupIndex group);
  void label(std::span<const FlowIndex> flows);
  FlowIndex root(FlowIndex flow);
  enum class Widen : bool { if_it_pays, never };
  void settle(GroupIndex group, Widen widen = Widen::if_it_pays);
  NextEnd first_end() const;

  bool is_wide(const Use& use) const { return use.demands > 0 && use.group == kWide; }
  bool will_be_wide(const Fluid& fluid) const;
  void widen(GroupIndex group, double at);
  void settle_wide(double at);
  bool is_broad();
  void narrow(double at);

  FairRates rates_;
  base::SureVector<Use> uses_;  // by resource
  base::SureVector<Flow> flows_;
  base::SureVector<FlowIndex> free_flows_;
  base::SureVector<Group> groups_;
  base::SureVector<GroupIndex> free_groups_;
  IndexedHeap<NextEnd> ends_;  // of the groups
  LocalRates wide_rates_;
  IndexedHeap<NextEnd> wide_ends_;  // of wide flows
  std::size_t wide_ = 0;
  std::uint32_t broad_ = 0;  // changes in a row of which each changed most rates
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
