#include "sim/fair_rates.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace vicinal::sim {

Resource FairRates::add_resource(BytesPerSecond bandwidth) {
  if (!(bandwidth.value > 0) || !std::isfinite(bandwidth.value)) {
    throw std::invalid_argument("a simulated resource needs a bandwidth above 0");
  }
  resources_.push_back({.capacity = bandwidth.value * 1e-9});
  return static_cast<Resource>(resources_.size() - 1);
}

Resource FairRates::add_resource(CapacityRule rule) {
  rules_.push_back(std::move(rule));
  resources_.push_back({.rule = static_cast<std::uint32_t>(rules_.size() - 1)});
  return static_cast<Resource>(resources_.size() - 1);
}

void FairRates::share(std::span<Flow* const> flows) {
  count(flows);
  if (by_class_) [[unlikely]] {
    share_by_class(flows);
  } else {
    fill();
  }
  for (const Resource r : used_) resources_[r].demands = 0;
}

// Progressive filling: all rates grow alike until a resource is used up or a flow is as fast as it may be,
// which fixes rates; what is left is shared by the others in the same way.
void FairRates::fill() {
  double before = 0;  // rates only grow from one bottleneck to the next, but for rounding
  while (!unfixed_.empty()) {
    ++bottlenecks_;
    Resource bottleneck = 0;
    const double least = narrowest(bottleneck);
    const double slowest = slowest_most();
    const bool by_flow = slowest <= least;
    before = std::max(std::min(least, slowest), before);
    if (unfixed_.size() == 1) {  // nobody asks what it leaves
      unfixed_.front()->rate = std::min(before, unfixed_.front()->most);
      break;
    }
    std::erase_if(unfixed_, [&](Flow* flow) {
      const bool fixed = by_flow ? flow->most <= slowest
                                 : std::ranges::find(flow->demands, bottleneck,
                                                     &Demand::resource) != flow->demands.end();
      if (fixed) fix(*flow, std::min(before, flow->most));
      return fixed;
    });
  }
}

void FairRates::count(std::span<Flow* const> flows) {
  used_.clear();
  bottlenecks_ = 0;
  any_most_ = false;
  by_class_ = false;
  unfixed_.assign(flows.begin(), flows.end());
  for (const Flow* const flow : flows) {
    any_most_ |= flow->most < kNever;
    by_class_ |= flow->drawer == Drawer::kernel;
    for (const Demand& demand : flow->demands) {
      State& resource = resources_[demand.resource];
      if (resource.demands++ == 0) {
        used_.push_back(demand.resource);
        resource.left = resource.capacity;
        resource.weights = 0;
        by_class_ |= resource.rule != kNoRule;
      }
      resource.weights += demand.weight;
    }
  }
}

// Copies first take of what is kept for them, then kernels of what that leaves, and then copies, anew, of what kernels
// leave.
void FairRates::share_by_class(std::span<Flow* const> flows) {
  kernels_.clear();
  copies_.clear();
  for (Flow* const flow : flows) {
    (flow->drawer == Drawer::kernel ? kernels_ : copies_).push_back(flow);
    flow->rate = 0;
  }
  find_capacities();
  if (!kernels_.empty()) {
    give(&Capacity::for_copies);
    fill(copies_, &Capacity::for_copies);
    give(&Capacity::all);
    take(copies_);
    fill(kernels_, &Capacity::for_kernels);
  }
  give(&Capacity::all);
  take(kernels_);
  fill(copies_, &Capacity::all);
}

// Of the resources in use, whose demands have been counted.
void FairRates::find_capacities() {
  for (const Resource r : used_) resources_[r].kernels = 0;
  for (const Flow* const flow : kernels_) {
    for (const Demand& demand : flow->demands) ++resources_[demand.resource].kernels;
  }
  for (const Resource r : used_) {
    State& resource = resources_[r];
    resource.now = capacity_of(resource);
    if (resource.kernels == 0) resource.now.for_copies = resource.now.all;
  }
}

Capacity FairRates::capacity_of(const State& resource) const {
  const std::uint32_t copies = resource.demands - resource.kernels;
  if (resource.rule == kNoRule) {
    return {.all = resource.capacity,
            .for_copies = resource.capacity * copies / resource.demands,
            .for_kernels = resource.capacity};
  }
  return rules_[resource.rule]({.kernels = resource.kernels, .copies = copies});
}

// To whom shares next, of each resource in use.
void FairRates::give(double Capacity::*part) {
  for (const Resource r : used_) resources_[r].left = resources_[r].now.*part;
}

// What those with rates leave.
void FairRates::take(const base::SureVector<Flow*>& flows) {
  for (const Flow* const flow : flows) {
    for (const Demand& demand : flow->demands) {
      State& resource = resources_[demand.resource];
      resource.left = std::max(0.0, resource.left - demand.weight * flow->rate);
    }
  }
}

// Shares what is left, so much of each resource at most.
void FairRates::fill(const base::SureVector<Flow*>& flows, double Capacity::*most) {
  for (const Resource r : used_) {
    State& resource = resources_[r];
    resource.left = std::min(resource.left, resource.now.*most);
    resource.weights = 0;
    resource.demands = 0;
  }
  any_most_ = false;
  unfixed_.assign(flows.begin(), flows.end());
  for (const Flow* const flow : flows) {
    any_most_ |= flow->most < kNever;
    for (const Demand& demand : flow->demands) {
      resources_[demand.resource].weights += demand.weight;
      ++resources_[demand.resource].demands;
    }
  }
  fill();
}

// Of the flows without a rate.
double FairRates::slowest_most() const {
  double slowest = kNever;
  if (!any_most_) return slowest;
  for (const Flow* const flow : unfixed_) slowest = std::min(slowest, flow->most);
  return slowest;
}

// The resource that gives its flows least, and how much; kNever if all flows on resources have their rates.
double FairRates::narrowest(Resource& found) const {
  double least = kNever;
  for (const Resource r : used_) {
    const State& resource = resources_[r];
    if (resource.demands == 0) continue;
    const double each = resource.left / resource.weights;
    if (each < least) {
      least = each;
      found = r;
    }
  }
  return least;
}

void FairRates::fix(Flow& flow, double rate) {
  flow.rate = rate;
  for (const Demand& demand : flow.demands) {
    State& resource = resources_[demand.resource];
    resource.left = std::max(0.0, resource.left - demand.weight * rate);
    resource.weights -= demand.weight;
    --resource.demands;
  }
}

}  // namespace vicinal::sim
