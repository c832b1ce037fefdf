#include "sim/fluid_network.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace vicinal::sim {

namespace {
// Groups that are smaller, or have fewer bottlenecks, cost less as they are (bench/flows); a machine alone has none
// that is larger.
constexpr std::size_t kFewFlows = 64;
constexpr std::size_t kFewBottlenecks = 8;
// Relative: of what copies that are not bound by a resource leave of it.
constexpr double kSlack = 1e-6;
// Changes that reach most flows, in a row, after which wide flows are groups again.
constexpr std::uint32_t kBroadChanges = 16;

// Sums of weights keep their digits.
bool is_weight(double weight) {
  return weight >= 1e-6 && weight <= 1e6;
}

void require_sound(const Fluid& fluid) {
  const bool weights = std::ranges::all_of(fluid.demands, is_weight, &Demand::weight);
  if (!weights || !(fluid.most > 0)) {
    throw std::invalid_argument(
        "a simulated flow needs weights from 1e-6 to 1e6, and a rate above 0");
  }
}
}  // namespace

Resource FluidNetwork::add_resource(BytesPerSecond bandwidth) {
  const Resource resource = rates_.add_resource(bandwidth);
  uses_.emplace_back();
  joint_of_.push_back(kNoJoint);
  wide_rates_.add_resource(rates_.capacity(resource));
  return resource;
}

Resource FluidNetwork::add_resource(CapacityRule rule) {
  const Resource resource = rates_.add_resource(std::move(rule));
  uses_.emplace_back();
  joint_of_.push_back(kNoJoint);
  wide_rates_.add_resource(0);  // for its number: no wide flow passes it
  return resource;
}

void FluidNetwork::start(std::uint64_t id, const Fluid& fluid, double at) {
  require_sound(fluid);
  const bool wide = wide_ > 0 && will_be_wide(fluid);
  if (wide) {
    for (const Demand& demand : fluid.demands) {
      const Use& use = uses_[demand.resource];
      if (use.demands > 0 && use.group != kWide) widen(use.group, at);
    }
  }
  const GroupIndex group = wide ? kWide : join(fluid.demands, at);
  const FlowIndex flow = take_flow(id, fluid);
  flows_[flow].group = group;
  for (const Demand& demand : fluid.demands) {
    Use& use = uses_[demand.resource];
    use.group = group;
    ++use.demands;
  }
  if (!joints_.empty()) note_start(flows_[flow]);
  if (wide) {
    flows_[flow].changed = at;
    wide_rates_.insert(flow, fluid.demands, fluid.most);
    ++wide_;
    settle_wide(at);
  } else {
    groups_[group].flows.push_back(flow);
    settle(group);
  }
  if (!joints_.empty()) settle_joints(at);
}

// The slot of a flow that has ended is used again, for the room of its demands.
FluidNetwork::FlowIndex FluidNetwork::take_flow(std::uint64_t id, const Fluid& fluid) {
  if (free_flows_.empty()) {
    free_flows_.push_back(static_cast<FlowIndex>(flows_.size()));
    flows_.emplace_back();
    parents_.emplace_back();
  }
  const FlowIndex index = free_flows_.back();
  free_flows_.pop_back();
  ++active_;
  Flow& flow = flows_[index];
  const bool at_once = fluid.demands.empty() && fluid.most == kNever;
  flow.id = id;
  flow.number = next_number_++;
  flow.left = at_once ? 0 : fluid.amount;
  flow.demands.assign(fluid.demands.begin(), fluid.demands.end());
  flow.most = fluid.most;
  flow.drawer = fluid.drawer;
  return index;
}

FluidNetwork::GroupIndex FluidNetwork::take_group(double at) {
  if (free_groups_.empty()) {
    free_groups_.push_back(static_cast<GroupIndex>(groups_.size()));
    groups_.emplace_back();
  }
  const GroupIndex group = free_groups_.back();
  free_groups_.pop_back();
  groups_[group].changed = at;
  return group;
}

// The one group of all flows that use these, advanced to `at`.
FluidNetwork::GroupIndex FluidNetwork::join(std::span<const Demand> demands, double at) {
  if (wide_ > 0) {
    const auto wide = [this](const Demand& demand) { return is_wide(uses_[demand.resource]); };
    if (std::ranges::any_of(demands, wide)) narrow(at);
  }
  GroupIndex group = kNoGroup;
  for (const Demand& demand : demands) {
    const Use& use = uses_[demand.resource];
    if (use.demands == 0 || use.group == group) continue;
    advance(use.group, at);
    if (group == kNoGroup) {
      group = use.group;
    } else {
      merge(group, use.group);
    }
  }
  return group == kNoGroup ? take_group(at) : group;
}

void FluidNetwork::merge(GroupIndex into, GroupIndex other) {
  auto& flows = groups_[into].flows;
  auto& others = groups_[other].flows;
  for (const FlowIndex f : others) {
    flows_[f].group = into;
    for (const Demand& demand : flows_[f].demands) uses_[demand.resource].group = into;
  }
  flows.insert(flows.end(), others.begin(), others.end());
  std::ranges::sort(flows, {}, [this](FlowIndex f) { return flows_[f].number; });
  others.clear();
  free_groups_.push_back(other);
  ends_.erase(other);
}

void FluidNetwork::advance(GroupIndex index, double to) {
  Group& group = groups_[index];
  const double passed = to - group.changed;
  if (passed <= 0) return;
  for (const FlowIndex f : group.flows) {
    Flow& flow = flows_[f];
    flow.left = std::max(0.0, flow.left - flow.rate * passed);
  }
  group.changed = to;
}

bool FluidNetwork::take_end(double to, End& end) {
  const NextEnd next = first_end();
  if (next.at > to || next.at == kNever) return false;
  end = {flows_[next.flow].id, next.at};
  remove(next.flow, next.at);
  return true;
}

FluidNetwork::NextEnd FluidNetwork::first_end() const {
  if (wide_ends_.empty()) return ends_.empty() ? NextEnd{} : ends_.top().key;
  const NextEnd& wide = wide_ends_.top().key;
  return ends_.empty() || wide < ends_.top().key ? wide : ends_.top().key;
}

void FluidNetwork::cancel(std::uint64_t id, double at) {
  remove(find(id), at);
}

FluidNetwork::FlowIndex FluidNetwork::find(std::uint64_t id) const {
  const auto flow = std::ranges::find_if(
      flows_, [id](const Flow& f) { return f.id == id && f.group != kNoGroup; });
  return static_cast<FlowIndex>(flow - flows_.begin());
}

double FluidNetwork::rate(std::uint64_t id) const {
  const FlowIndex flow = find(id);
  return flow == flows_.size() ? 0 : flows_[flow].rate * 1e9;
}

void FluidNetwork::remove(FlowIndex index, double at) {
  Flow& flow = flows_[index];
  const GroupIndex group = std::exchange(flow.group, kNoGroup);
  const bool joined = release(flow.demands);
  free_flows_.push_back(index);
  --active_;
  if (group == kWide) {
    --wide_;
    wide_rates_.erase(index);
    wide_ends_.erase(index);
  }
  if (!joints_.empty()) note_end(flow);
  if (group == kWide) {
    settle_wide(at);
  } else {
    leave(group, index, joined, at);
  }
  if (!joints_.empty()) settle_joints(at);
}

void FluidNetwork::leave(GroupIndex group, FlowIndex index, bool joined, double at) {
  advance(group, at);
  auto& flows = groups_[group].flows;
  flows.erase(std::ranges::find(flows, index));
  if (flows.empty()) {
    free_groups_.push_back(group);
    ends_.erase(group);
  } else if (joined) {
    take_apart(group);
  } else {
    settle(group);
  }
}

// True if others use at least two of the resources: perhaps nothing else has joined these.
bool FluidNetwork::release(std::span<const Demand> demands) {
  for (const Demand& demand : demands) --uses_[demand.resource].demands;
  const auto used = [this](const Demand& demand) { return uses_[demand.resource].demands > 0; };
  return std::ranges::count_if(demands, used) > 1;
}

// A group of its own for each set of flows that are joined.
void FluidNetwork::take_apart(GroupIndex group) {
  together_.assign(groups_[group].flows.begin(), groups_[group].flows.end());
  groups_[group].flows.clear();
  label(together_);
  apart_.assign({group});
  for (const FlowIndex f : together_) {
    const FlowIndex first = root(f);  // comes before the others
    if (first == f && f != together_.front()) {
      flows_[f].group = take_group(groups_[group].changed);
      apart_.push_back(flows_[f].group);
    }
    flows_[f].group = flows_[first].group;
    groups_[flows_[f].group].flows.push_back(f);
    for (const Demand& demand : flows_[f].demands) {
      uses_[demand.resource].group = flows_[f].group;
    }
  }
  for (const GroupIndex part : apart_) settle(part);
}

// Each flow's root is the first of those that it is joined with.
void FluidNetwork::label(std::span<const FlowIndex> flows) {
  ++pass_;
  for (const FlowIndex f : flows) {
    parents_[f] = f;
    for (const Demand& demand : flows_[f].demands) {
      Use& use = uses_[demand.resource];
      if (use.pass != pass_) {
        use.pass = pass_;
        use.first = f;
        continue;
      }
      FlowIndex first = root(f);
      FlowIndex second = root(use.first);
      if (flows_[second].number < flows_[first].number) std::swap(first, second);
      parents_[second] = first;
    }
  }
}

FluidNetwork::FlowIndex FluidNetwork::root(FlowIndex flow) {
  while (parents_[flow] != flow) {
    parents_[flow] = parents_[parents_[flow]];
    flow = parents_[flow];
  }
  return flow;
}

// New rates, and the next end that follows from them.
void FluidNetwork::settle(GroupIndex index, Widen widen) {
  Group& group = groups_[index];
  sharing_.clear();
  for (const FlowIndex f : group.flows) sharing_.push_back(&flows_[f]);
  rates_.share(sharing_);
  NextEnd next;
  for (const FlowIndex f : group.flows) {
    const Flow& flow = flows_[f];
    const double at = flow.left <= 0 ? group.changed : group.changed + flow.left / flow.rate;
    if (f == group.flows.front() || at < next.at) next = {at, flow.number, f};
  }
  ends_.set(index, next);
  if (!joints_.empty()) {
    group.settled = round_;
    for (const FlowIndex f : group.flows) note_rate(flows_[f]);
  }
  group.only_plain_copies = rates_.only_plain_copies();
  if (widen == Widen::if_it_pays && group.only_plain_copies && group.flows.size() > kFewFlows &&
      rates_.bottlenecks() > kFewBottlenecks) {
    this->widen(index, group.changed);
    settle_wide(groups_[index].changed);
  }
}

// --- Wide flows -----------------------------------------------------------------------------------

// It meets wide flows, and nothing that it meets cannot be wide.
bool FluidNetwork::will_be_wide(const Fluid& fluid) const {
  bool meets_wide = false;
  bool only_plain_copies = fluid.drawer == Drawer::copy;
  for (const Demand& demand : fluid.demands) {
    const Use& use = uses_[demand.resource];
    only_plain_copies &= !rates_.has_rule(demand.resource);
    if (use.demands == 0) continue;
    if (use.group == kWide) {
      meets_wide = true;
    } else {
      only_plain_copies &= groups_[use.group].only_plain_copies;
    }
  }
  return meets_wide && only_plain_copies;
}

// The caller settles them.
void FluidNetwork::widen(GroupIndex index, double at) {
  advance(index, at);
  auto& flows = groups_[index].flows;
  for (const FlowIndex f : flows) {
    Flow& flow = flows_[f];
    flow.group = kWide;
    flow.changed = at;
    for (const Demand& demand : flow.demands) uses_[demand.resource].group = kWide;
    wide_rates_.insert(f, flow.demands, flow.most);
  }
  wide_ += flows.size();
  flows.clear();
  free_groups_.push_back(index);
  ends_.erase(index);
}

// New rates, and the ends that follow from them.
void FluidNetwork::settle_wide(double at) {
  wide_changed_ = false;
  for (const FlowIndex f : wide_rates_.settle()) {
    Flow& flow = flows_[f];
    flow.left = std::max(0.0, flow.left - flow.rate * (at - flow.changed));
    flow.changed = at;
    flow.rate = wide_rates_.rate(f);
    if (!joints_.empty()) note_rate(flow);
    wide_ends_.set(f, {flow.left <= 0 ? at : at + flow.left / flow.rate, flow.number, f});
  }
  if (wide_ > 0 && (wide_ < kFewFlows / 2 || is_broad())) narrow(at);
}

bool FluidNetwork::is_broad() {
  const bool most = 2 * wide_rates_.reached() > wide_;
  broad_ = most && wide_rates_.bottlenecks() <= kFewBottlenecks ? broad_ + 1 : 0;
  return broad_ >= kBroadChanges;
}

// All wide flows are a group.
void FluidNetwork::narrow(double at) {
  const GroupIndex index = take_group(at);
  auto& flows = groups_[index].flows;
  for (FlowIndex f = 0; f < flows_.size(); ++f) {
    Flow& flow = flows_[f];
    if (flow.group != kWide) continue;
    flow.left = std::max(0.0, flow.left - flow.rate * (at - flow.changed));
    flow.group = index;
    for (const Demand& demand : flow.demands) uses_[demand.resource].group = index;
    flows.push_back(f);
    wide_ends_.erase(f);
  }
  std::ranges::sort(flows, {}, [this](FlowIndex f) { return flows_[f].number; });
  wide_ = 0;
  broad_ = 0;
  wide_rates_.clear();
  settle(index, Widen::never);
}

// --- Joint rules ----------------------------------------------------------------------------------

Resource FluidNetwork::add_resources(std::uint32_t count, JointRule rule) {
  const auto first = static_cast<Resource>(uses_.size());
  const auto number = static_cast<std::uint32_t>(joints_.size());
  Joint& joint = joints_.emplace_back();
  joint.rule = std::move(rule);
  joint.first = first;
  joint.drawn.resize(count);
  joint.capacities.resize(count);
  joint.rule(joint.drawn, joint.capacities);
  for (const double capacity : joint.capacities) {
    const Resource resource = add_resource(BytesPerSecond{capacity * 1e9});
    rates_.set_capacity(resource, capacity);
    wide_rates_.set_capacity(resource, capacity, false);
    joint_of_[resource] = number;
  }
  return first;
}

template <typename Change>
void FluidNetwork::change_drawn(const Flow& flow, const Change& change) {
  for (const Demand& demand : flow.demands) {
    const std::uint32_t number = joint_of_[demand.resource];
    if (number == kNoJoint) continue;
    Joint& joint = joints_[number];
    change(joint.drawn[demand.resource - joint.first], demand.weight);
    if (joint.is_stale) continue;
    joint.is_stale = true;
    stale_.push_back(number);
  }
}

void FluidNetwork::note_start(Flow& flow) {
  flow.counted = 0;
  flow.is_joint = std::ranges::any_of(flow.demands, [this](const Demand& demand) {
    return joint_of_[demand.resource] != kNoJoint;
  });
  if (!flow.is_joint) return;
  const double most = flow.drawer == Drawer::kernel ? flow.most : 0;
  change_drawn(flow, [most](Drawn& drawn, double weight) {
    ++drawn.flows;
    drawn.kernels += weight * most;
  });
  ask_rules();
}

// Sums of nothing are 0: differences of differences would lose digits in the end.
void FluidNetwork::note_end(Flow& flow) {
  if (!flow.is_joint) return;
  const double most = flow.drawer == Drawer::kernel ? flow.most : 0;
  const double rate = flow.counted;
  change_drawn(flow, [most, rate](Drawn& drawn, double weight) {
    if (--drawn.flows == 0) {
      drawn = {};
    } else {
      drawn.kernels = std::max(0.0, drawn.kernels - weight * most);
      drawn.copies = std::max(0.0, drawn.copies - weight * rate);
    }
  });
  ask_rules();
}

void FluidNetwork::note_rate(Flow& flow) {
  if (!flow.is_joint || flow.drawer == Drawer::kernel || flow.rate == flow.counted) return;
  const double more = flow.rate - flow.counted;
  flow.counted = flow.rate;
  change_drawn(flow, [more](Drawn& drawn, double weight) {
    drawn.copies = std::max(0.0, drawn.copies + weight * more);
  });
}

// Sets the capacities that follow from what is drawn now.
void FluidNetwork::ask_rules() {
  ++round_;
  for (const std::uint32_t number : stale_) {
    Joint& joint = joints_[number];
    joint.is_stale = false;
    capacities_.assign(joint.capacities.begin(), joint.capacities.end());
    joint.rule(joint.drawn, capacities_);
    for (std::size_t i = 0; i < capacities_.size(); ++i) {
      if (joint.capacities[i] == capacities_[i]) continue;
      const auto resource = static_cast<Resource>(joint.first + i);
      // Copies that leave some of it are not bound by it.
      const double less = std::min(joint.capacities[i], capacities_[i]);
      const bool binds = joint.drawn[i].kernels > 0 || joint.drawn[i].copies > less * (1 - kSlack);
      joint.capacities[i] = capacities_[i];
      rates_.set_capacity(resource, capacities_[i]);
      wide_rates_.set_capacity(resource, capacities_[i], binds);
      if (uses_[resource].demands == 0 || !binds) continue;
      changed_.push_back(resource);
      wide_changed_ |= is_wide(uses_[resource]);
    }
  }
  stale_.clear();
}

// Copies follow what kernels demand, then kernels what copies take: two rounds.
void FluidNetwork::settle_joints(double at) {
  while (!changed_.empty() || !stale_.empty()) {
    for (std::size_t i = 0; i < changed_.size(); ++i) {
      const Use& use = uses_[changed_[i]];
      if (use.demands == 0 || use.group == kWide || groups_[use.group].settled == round_) continue;
      advance(use.group, at);
      settle(use.group);
    }
    changed_.clear();
    if (wide_changed_) settle_wide(at);
    ask_rules();
  }
}

}  // namespace vicinal::sim
