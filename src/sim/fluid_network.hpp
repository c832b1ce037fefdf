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
//
// Kernels and copies that do not share a resource may still depend on each other: a joint rule sets the capacities of some
// resources by what is drawn on all of them (the memory of a host, host_memory.hpp). It joins no flows: where a change
// changes such a capacity, the flows there are settled, too, and no others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

// What flows draw on one resource, per nanosecond.
struct Drawn {
  double kernels = 0;       // at full speed
  double copies = 0;        // at their rates now
  std::uint32_t flows = 0;  // of both; 0: its capacity is of no account
};
// Sets the capacities of some resources, per nanosecond, above 0 and finite. Those of resources on which copies draw may
// depend on `kernels` and `flows` alone. Must say the same whenever it is asked the same.
using JointRule = std::function<void(std::span<const Drawn>, std::span<double> capacities)>;

class FluidNetwork {
 public:
  // As those of FairRates.
  Resource add_resource(BytesPerSecond bandwidth);
  Resource add_resource(CapacityRule rule);
  // So many resources, numbered from the one that is returned, whose capacities the rule sets.
  Resource add_resources(std::uint32_t count, JointRule rule);
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
    bool is_joint = false;  // it draws on a resource of a joint rule
    double counted = 0;     // of a copy: its rate in Drawn
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
    std::uint64_t settled = 0;          // in which round of joint rules
  };
  // Resources of a joint rule.
  struct Joint {
    JointRule rule;
    Resource first = 0;
    base::SureVector<Drawn> drawn;
    base::SureVector<double> capacities;
    bool is_stale = false;  // what is drawn has changed
  };
  struct Use {
    std::uint32_t demands = 0;    // of active flows
    GroupIndex group = kNoGroup;  // of these flows
    FlowIndex first = 0;          // of the group, while it is taken apart
    std::uint64_t pass = 0;       // when `first` was noted
  };
  static constexpr GroupIndex kNoGroup = 0xffffffffU;
  static constexpr std::uint32_t kNoJoint = 0xffffffffU;
  static constexpr GroupIndex kWide = 0xfffffffeU;  // the group of wide flows

  FlowIndex take_flow(std::uint64_t id, const Fluid& fluid);
  FlowIndex find(std::uint64_t id) const;
  GroupIndex take_group(double at);
  GroupIndex join(std::span<const Demand> demands, double at);
  void merge(GroupIndex into, GroupIndex other);
  void advance(GroupIndex group, double to);
  void remove(FlowIndex flow, double at);
  void leave(GroupIndex group, FlowIndex flow, bool joined, double at);
  bool release(std::span<const Demand> demands);
  void take_apart(GroupIndex group);
  void label(std::span<const FlowIndex> flows);
  FlowIndex root(FlowIndex flow);
  enum class Widen : bool { if_it_pays, never };
  void settle(GroupIndex group, Widen widen = Widen::if_it_pays);
  NextEnd first_end() const;

  template <typename Change>
  void change_drawn(const Flow& flow, const Change& change);
  void note_start(Flow& flow);
  void note_end(Flow& flow);
  void note_rate(Flow& flow);
  void ask_rules();
  void settle_joints(double at);

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
  base::SureVector<Joint> joints_;
  base::SureVector<std::uint32_t> joint_of_;  // by resource
  base::SureVector<std::uint32_t> stale_;     // joints
  base::SureVector<Resource> changed_;        // in use, whose capacity a rule has changed
  bool wide_changed_ = false;                 // wide flows are on some of them
  std::uint64_t round_ = 1;                   // of questions to joint rules
  std::size_t wide_ = 0;
  std::uint32_t broad_ = 0;  // changes in a row of which each changed most rates
  std::size_t active_ = 0;
  std::uint64_t next_number_ = 0;
  // Members to keep their room.
  base::SureVector<FlowIndex> parents_;  // by flow, while a group is taken apart
  base::SureVector<FlowIndex> together_;
  base::SureVector<GroupIndex> apart_;
  base::SureVector<FairRates::Flow*> sharing_;
  base::SureVector<double> capacities_;
  std::uint64_t pass_ = 0;
};

}  // namespace vicinal::sim
