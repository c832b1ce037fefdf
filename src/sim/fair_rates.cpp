#include "sim/fair_rates.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace vicinal::sim {

Resource FairRates::add_resource(BytesPerSecond bandwidth) {
  if (!(bandwidth.value > 0) || !std::isfinite(bandwidth.value)) {
    throw std::invalid_argument("a simulated resource needs a bandwidth above 0");
  }
  resources_.push_back({.capacity = bandwidth.value * 1e-9});
  return static_cast<Resource>(resources_.size() - 1);
}

// Progressive filling: all rates grow alike until a resource is used up or a flow is as fast as it may be,
// which fixes rates; what is left is shared by the others in the same way.
void FairRates::share(std::span<Flow* const> flows) {
  count(flows);
  double before = 0;  // rates only grow from one bottleneck to the next, but for rounding
  while (!unfixed_.empty()) {
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
  for (const Resource r : used_) resources_[r].demands = 0;
}

void FairRates::count(std::span<Flow* const> flows) {
  used_.clear();
  any_most_ = false;
  unfixed_.assign(flows.begin(), flows.end());
  for (const Flow* const flow : flows) {
    any_most_ |= flow->most < kNever;
    for (const Demand& demand : flow->demands) {
      State& resource = resources_[demand.resource];
      if (resource.demands++ == 0) {
        used_.push_back(demand.resource);
        resource.left = resource.capacity;
        resource.weights = 0;
      }
      resource.weights += demand.weight;
    }
  }
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
