// Flows that share resources, as values: what tests give to sim::FluidNetwork and to an oracle.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "sim/fluid_network.hpp"

namespace vicinal::testing {

struct FlowCase {
  struct Flow {
    std::uint64_t bytes = 0;
    std::vector<sim::Resource> path;
    double at = 0;                     // ns
    std::vector<double> weights = {};  // along the path; none: 1 each
    double most = sim::kNever;         // bytes per ns
    sim::Drawer drawer = sim::Drawer::copy;
  };
  std::vector<double> bandwidths;  // bytes per second
  std::vector<Flow> flows;         // in the order of their start
};

// Each of the numbers 0..count-1 with the given chance; one of them at least.
inline std::vector<std::uint32_t> random_subset(base::Random& random, std::uint32_t count,
                                                double chance) {
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (random.uniform() < chance) chosen.push_back(i);
  }
  if (chosen.empty()) chosen.push_back(static_cast<std::uint32_t>(random.below(count)));
  return chosen;
}

// As copies between the nodes of a machine are: 1 to 8 resources of 0.5 to 16 GB/s, flows of up to 64
// MB. They start at whole nanoseconds within a time in which about half of them could end. Some have
// equal starts, bytes and bandwidths, for ends at the same time.
inline FlowCase random_flow_case(base::Random& random, std::size_t most_flows) {
  FlowCase result;
  const auto resources = static_cast<std::uint32_t>(1 + random.below(8));
  const bool equal = random.below(4) == 0;
  for (std::uint32_t r = 0; r < resources; ++r) {
    result.bandwidths.push_back(equal ? 6e9 : 5e8 + random.uniform() * 15.5e9);
  }
  const std::size_t flows = 1 + random.below(most_flows);
  const double chance = random.uniform();
  const std::uint64_t within = flows * 2'000'000;
  for (std::size_t f = 0; f < flows; ++f) {
    FlowCase::Flow flow{.bytes = 1000 + random.below(64'000'000),
                        .path = random_subset(random, resources, chance),
                        .at = static_cast<double>(random.below(within))};
    if (equal && f > 0 && random.below(2) == 0) {
      flow.bytes = result.flows.back().bytes;
      flow.at = result.flows.back().at;
    }
    result.flows.push_back(std::move(flow));
  }
  std::ranges::stable_sort(result.flows, {}, &FlowCase::Flow::at);
  return result;
}

// The same with weights and rates of their own for half of the flows.
inline FlowCase random_weighted_case(base::Random& random, std::size_t most_flows) {
  FlowCase result = random_flow_case(random, most_flows);
  for (FlowCase::Flow& flow : result.flows) {
    if (random.below(2) == 0) continue;
    for (std::size_t i = 0; i < flow.path.size(); ++i) {
      flow.weights.push_back(0.1 + random.uniform() * 4);
    }
    if (random.below(2) == 0) flow.most = 0.1 + random.uniform() * 8;
  }
  return result;
}

// Kernels among copies, of rate 1 at most.
inline FlowCase random_case_with_kernels(base::Random& random, std::size_t most_flows) {
  FlowCase result = random_weighted_case(random, most_flows);
  for (FlowCase::Flow& flow : result.flows) {
    if (random.below(2) == 0) continue;
    flow.drawer = sim::Drawer::kernel;
    flow.most = 1;
  }
  return result;
}

inline std::vector<sim::Demand> demands_of(const FlowCase::Flow& flow) {
  std::vector<sim::Demand> demands;
  for (std::size_t i = 0; i < flow.path.size(); ++i) {
    demands.push_back({flow.path[i], flow.weights.empty() ? 1 : flow.weights[i]});
  }
  return demands;
}

// Plays the case in a network whose resources are numbered as those of the case. Before each event it
// calls before(time of the event), which may ask and must not start.
template <typename Before>
std::vector<sim::FluidNetwork::End> play(const FlowCase& flows, sim::FluidNetwork& network,
                                         Before before) {
  for (const double bandwidth : flows.bandwidths) network.add_resource(BytesPerSecond{bandwidth});
  std::vector<sim::FluidNetwork::End> ends;
  std::size_t started = 0;
  while (started < flows.flows.size() || network.flows() > 0) {
    const double start = started < flows.flows.size() ? flows.flows[started].at : sim::kNever;
    before(std::min(start, network.next_end()));
    sim::FluidNetwork::End end;
    if (network.next_end() <= start && network.take_end(network.next_end(), end)) {
      ends.push_back(end);
    } else {
      const FlowCase::Flow& flow = flows.flows[started];
      network.start(started,
                    {static_cast<double>(flow.bytes), demands_of(flow), flow.most, flow.drawer},
                    flow.at);
      ++started;
    }
  }
  return ends;
}

// The end of each flow, in ns.
inline std::vector<double> ends_of(const FlowCase& flows) {
  sim::FluidNetwork network;
  std::vector<double> by_flow(flows.flows.size());
  for (const auto& [id, at] : play(flows, network, [](double) {})) by_flow[id] = at;
  return by_flow;
}

}  // namespace vicinal::testing
