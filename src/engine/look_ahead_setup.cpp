// How far a look-ahead goes: by the kind of node, its limit and the links to it.
#include <algorithm>

#include "engine/look_ahead.hpp"

namespace vicinal::engine {

namespace {
// Tasks pulled and not started, per memory node, at most, where the option look_ahead does not say. To an
// accelerator copies take longer, compared with its tasks, than to a core: the 32 are about those of
// Gonthier et al. 2024 (a buffer of 30), who tried others.
constexpr std::size_t kLookAhead = 8;
constexpr std::size_t kDeviceLookAhead = 32;
// So that the room for what the next tasks write is made while others run.
constexpr std::size_t kDeviceFirmRequests = 4;

// Of all links to the node, of which there is one at least.
bool has_known_bandwidths(const MachineDescription& machine, NodeId node) {
  bool any = false;
  for (const LinkDescription& link : machine.links) {
    if (link.to != node) continue;
    if (link.bandwidth.value <= 0) return false;
    any = true;
  }
  return any;
}

// How much longer a copy from RAM to the node takes while RAM sends to all nodes that share a segment with it.
double crowd_on_the_way_to(const MachineDescription& machine, NodeId node) {
  double crowd = 1;
  for (const LinkDescription& link : machine.links) {
    if (link.from != kRam || link.to != node) continue;
    for (const std::uint32_t segment : link.segments) {
      const double bandwidth = machine.segments[segment].bandwidth.value;
      if (bandwidth <= 0) continue;
      double all = 0;
      for (const LinkDescription& other : machine.links) {
        const bool shares = other.from == kRam && std::ranges::count(other.segments, segment) > 0;
        if (shares) all += other.bandwidth.value;
      }
      crowd = std::max(crowd, all / bandwidth);
    }
  }
  return crowd;
}
}  // namespace

LookAhead::LookAhead(const LookAheadParts& parts, const NodeDescription& node,
                     const NodeWorkers& workers, const LookAheadOptions& options)
    : residency_(parts.residency),
      gate_(parts.gate),
      eligibility_(parts.eligibility),
      costs_(parts.costs),
      counters_(parts.counters),
      sleepers_(parts.sleepers),
      errors_(parts.errors),
      private_(parts.copies),
      context_(parts.context),
      machine_(parts.machine),
      workers_(workers),
      node_(node.id),
      in_order_(options.in_order) {
  set_depth(node, options);
  set_window(node, options);
  set_bandwidth(options);
  set_claims(node, options);
}

void LookAhead::set_depth(const NodeDescription& node, const LookAheadOptions& options) {
  const bool device = node.kind == NodeKind::device;
  const std::size_t automatic = device ? kDeviceLookAhead : kLookAhead;
  const std::size_t ahead = options.depth == 0 ? automatic : options.depth;
  depth_ = workers_.ids.empty() ? 0 : ahead + workers_.ids.size();
  firm_each_ = device ? kDeviceFirmRequests : 1;
  if (device && options.one_at_a_time) depth_ = firm_each_ = 1;
  prefetches_ = !(device && options.on_demand);
  if (device) least_ = std::min(depth_, kLookAhead + workers_.ids.size());
}

void LookAhead::set_window(const NodeDescription& node, const LookAheadOptions& options) {
  if (options.depth != 0 || options.in_flight == 0) return;
  const auto is_elsewhere = [&](const WorkerDescription& worker) { return worker.node != kRam; };
  if (node.kind == NodeKind::device) {
    window_ = options.in_flight * workers_.ids.size();
  } else if (std::ranges::any_of(machine_.workers, is_elsewhere)) {
    window_ = workers_.ids.size();
  }
}

void LookAhead::set_bandwidth(const LookAheadOptions& options) {
  for (const LinkDescription& link : machine_.links) {
    if (link.from == kRam && link.to == node_ && link.bandwidth.value > 0) {
      bandwidth_ = link.bandwidth;
    }
  }
  if (bandwidth_.value <= 0) least_ = 0;
  timed_ = options.depth == 0 && options.moves_tasks && has_known_bandwidths(machine_, node_);
  crowd_ = crowd_on_the_way_to(machine_, node_);
}

void LookAhead::set_claims(const NodeDescription& node, const LookAheadOptions& options) {
  if (!node.limit) return;
  most_claimed_ = Bytes{node.limit->value / 4};
  most_to_hide_ = Bytes{node.limit->value / 8 * 3};
  // Not in RAM: there a core waits less for a copy than it would for what an eviction too many
  // costs. (Cholesky at a quarter of the matrix, 31 tiles of room, would load a tenth more.)
  // Nor with LRU, which would push out what comes next (a product whose block columns just fit).
  if (node.kind == NodeKind::device && options.own_victims) {
    most_kept_free_ = Bytes{node.limit->value / 8};
    keeps_for_operands_ = !options.plans_copies;
  }
}

}  // namespace vicinal::engine
