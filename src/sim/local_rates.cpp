#include "sim/local_rates.hpp"

#include <algorithm>

namespace vicinal::sim {

namespace {
// Relative: rates and capacities that differ by less are equal.
constexpr double kEqual = 1e-11;
// Fills after which all flows of the resources in question are filled, too: a change that goes on from flow to flow
// then takes few more of them.
constexpr int kCarefulFills = 8;
}  // namespace

void LocalRates::add_resource(double capacity) {
  resources_.emplace_back();
  resources_.back().capacity = capacity;
}

// All flows on the resource are filled anew: their rates before may add up to more than the new capacity.
void LocalRates::set_capacity(Resource resource, double capacity, bool any_follows) {
  resources_[resource].capacity = capacity;
  if (!any_follows) return;
  for (const Passing& passing : resources_[resource].flows) put(passing.flow);
}

void LocalRates::insert(FlowIndex index, std::span<const Demand> demands, double most) {
  if (index >= flows_.size()) flows_.resize(index + std::size_t{1});
  Flow& flow = flows_[index];
  flow.most = most;
  flow.rate = 0;
  flow.before = 0;
  flow.bottleneck = kNoBottleneck;
  flow.uses.clear();
  for (const Demand& demand : demands) {
    auto& list = resources_[demand.resource].flows;
    const auto use = static_cast<std::uint32_t>(flow.uses.size());
    flow.uses.push_back({demand.resource, demand.weight, static_cast<std::uint32_t>(list.size())});
    list.push_back({index, use});
  }
  put(index);
  for (const Demand& demand : demands) {
    put_those_bound_by(resources_[demand.resource], demand.resource);
  }
}

void LocalRates::erase(FlowIndex index) {
  Flow& flow = flows_[index];
  if (flow.bottleneck < kNoBottleneck) --resources_[flow.bottleneck].bottleneck_of;
  for (const Use& use : flow.uses) {
    State& resource = resources_[use.resource];
    const Passing last = resource.flows.back();
    resource.flows[use.place] = last;
    flows_[last.flow].uses[last.use].place = use.place;
    resource.flows.pop_back();
    resource.used -= use.weight * flow.before;
    ++resource.summed;
    if (resource.flows.empty()) sum_up(resource);
  }
  for (const Use& use : flow.uses) put_those_bound_by(resources_[use.resource], use.resource);
  flow.uses.clear();
}

void LocalRates::clear() {
  for (Flow& flow : flows_) {
    for (const Use& use : flow.uses) {
      State& resource = resources_[use.resource];
      resource.flows.clear();
      resource.bottleneck_of = 0;
      sum_up(resource);
    }
    flow.uses.clear();
  }
}

std::span<const LocalRates::FlowIndex> LocalRates::settle() {
  changed_.clear();
  reached_ = filled_.size();
  bottlenecks_ = 0;
  if (filled_.empty()) return changed_;
  int fills = 0;
  do {
    fill();
  } while (put_those_without_bottleneck(++fills >= kCarefulFills));
  reached_ = filled_.size();
  commit();
  return changed_;
}

void LocalRates::put(FlowIndex index) {
  if (flows_[index].filled) return;
  flows_[index].filled = true;
  filled_.push_back(index);
}

void LocalRates::put_those_bound_by(const State& resource, Resource number) {
  if (resource.bottleneck_of == 0) return;
  for (const Passing& passing : resource.flows) {
    if (flows_[passing.flow].bottleneck == number) put(passing.flow);
  }
}

// --- Progressive filling --------------------------------------------------------------------------

bool LocalRates::later(const Candidate& a, const Candidate& b) {
  if (a.rate != b.rate) return a.rate > b.rate;
  if (a.is_flow != b.is_flow) return b.is_flow;
  return a.item > b.item;
}

void LocalRates::push(const Candidate& candidate) {
  candidates_.push_back(candidate);
  std::push_heap(candidates_.begin(), candidates_.end(), later);
}

// A resource stands in the heap with a share that it had at some time. Shares only grow while rates are fixed, so the
// first whose share is still the same is the narrowest.
void LocalRates::fill() {
  ++fill_;
  bottlenecks_ = 0;
  passed_.clear();
  candidates_.clear();
  for (const FlowIndex f : filled_) begin(f);
  for (const Resource r : passed_) {
    State& resource = resources_[r];
    resource.left = std::max(0.0, resource.left);
    candidates_.push_back({resource.left / resource.weights, r, false});
  }
  std::make_heap(candidates_.begin(), candidates_.end(), later);
  std::size_t unfixed = filled_.size();
  double before = 0;  // rates only grow, but for rounding
  while (unfixed > 0) {
    std::pop_heap(candidates_.begin(), candidates_.end(), later);
    const Candidate next = candidates_.back();
    candidates_.pop_back();
    if (next.is_flow) {
      if (flows_[next.item].fixed) continue;
      ++bottlenecks_;
      before = std::max(before, next.rate);
      fix(next.item, next.rate, kOwnRate);
      --unfixed;
      continue;
    }
    State& resource = resources_[next.item];
    if (resource.unfixed == 0) continue;
    const double share = resource.left / resource.weights;
    if (share > next.rate) {
      push({share, next.item, false});
      continue;
    }
    before = std::max(before, share);
    resource.used_up = true;
    ++bottlenecks_;
    for (const Passing& passing : resource.flows) {
      const Flow& flow = flows_[passing.flow];
      if (!flow.filled || flow.fixed) continue;
      fix(passing.flow, std::min(before, flow.most), next.item);
      --unfixed;
    }
  }
}

void LocalRates::begin(FlowIndex index) {
  Flow& flow = flows_[index];
  flow.fixed = false;
  for (const Use& use : flow.uses) {
    State& resource = resources_[use.resource];
    if (resource.fill != fill_) {
      passed_.push_back(use.resource);
      resource.fill = fill_;
      resource.left = resource.capacity - resource.used;
      resource.weights = 0;
      resource.unfixed = 0;
      resource.filled = 0;
      resource.lost = 0;
      resource.fastest = 0;
      resource.used_up = false;
    }
    resource.left += use.weight * flow.before;
    resource.weights += use.weight;
    ++resource.unfixed;
    ++resource.filled;
  }
  if (flow.bottleneck < kNoBottleneck) ++resources_[flow.bottleneck].lost;
  if (flow.most < kNever) candidates_.push_back({flow.most, index, true});
}

void LocalRates::fix(FlowIndex index, double rate, Resource bottleneck) {
  Flow& flow = flows_[index];
  flow.rate = rate;
  flow.found = bottleneck;
  flow.fixed = true;
  for (const Use& use : flow.uses) {
    State& resource = resources_[use.resource];
    resource.left = std::max(0.0, resource.left - use.weight * rate);
    resource.weights -= use.weight;
    --resource.unfixed;
    resource.fastest = std::max(resource.fastest, rate);
  }
}

// --- Who else must be filled ----------------------------------------------------------------------

// True if there are some. `all`: every flow of a resource that binds, whether it must be or not.
bool LocalRates::put_those_without_bottleneck(bool all) {
  const std::size_t before = filled_.size();
  for (const Resource r : passed_) {
    const State& resource = resources_[r];
    if (resource.filled == resource.flows.size()) continue;
    const bool binds_others = resource.bottleneck_of > resource.lost;
    if (!resource.used_up && !binds_others) continue;
    const bool something_left = !resource.used_up && resource.left > kEqual * resource.capacity;
    const double least = resource.fastest * (1 - kEqual);
    const double most = resource.used_up ? resource.fastest * (1 + kEqual) : kNever;
    for (const Passing& passing : resource.flows) {
      const Flow& flow = flows_[passing.flow];
      if (flow.filled) continue;
      const bool lost = flow.bottleneck == r && (something_left || flow.rate < least);
      if (all || lost || flow.rate > most) put(passing.flow);
    }
  }
  return filled_.size() > before;
}

void LocalRates::commit() {
  for (const FlowIndex f : filled_) {
    Flow& flow = flows_[f];
    flow.filled = false;
    if (flow.rate != flow.before || flow.bottleneck == kNoBottleneck) changed_.push_back(f);
    if (flow.bottleneck < kNoBottleneck) --resources_[flow.bottleneck].bottleneck_of;
    flow.bottleneck = flow.found;
    if (flow.bottleneck < kNoBottleneck) ++resources_[flow.bottleneck].bottleneck_of;
    for (const Use& use : flow.uses) {
      State& resource = resources_[use.resource];
      resource.used += use.weight * (flow.rate - flow.before);
      ++resource.summed;
    }
    flow.before = flow.rate;
  }
  for (const Resource r : passed_) {
    if (resources_[r].summed > resources_[r].flows.size()) sum_up(resources_[r]);
  }
  filled_.clear();
}

// Differences of differences would lose digits in the end.
void LocalRates::sum_up(State& resource) {
  resource.used = 0;
  resource.summed = 0;
  for (const Passing& passing : resource.flows) {
    const Flow& flow = flows_[passing.flow];
    resource.used += flow.uses[passing.use].weight * flow.before;
  }
}

}  // namespace vicinal::sim
