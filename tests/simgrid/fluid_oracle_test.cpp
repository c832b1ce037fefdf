// Flows and copies end when SimGrid says that they do.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "drivers/simulated/simulated_links.hpp"
#include "simgrid/simgrid_replay.hpp"
#include "support/flow_case.hpp"
#include "support/random_runs.hpp"

namespace vicinal::testing {
namespace {

constexpr std::uint64_t kCases = 100;
constexpr std::size_t kMostFlows = 30;

// What the ends may differ by, in ns.
double tolerance(double end) {
  return std::max(1e-6 * end, 1.0);
}

class SimGridOracle : public ::testing::Test {
 protected:
  template <typename Check>
  void for_each_case(Check check) {
    for_each_seed(kCases, [&](base::Random& random, std::uint64_t /*seed*/) { check(random); });
    if (HasFailure()) return;
    fmt::print("largest deviation of {} ends: {:.4g} ns, relative {:.1e}\n", compared_, largest_ns_,
               largest_relative_);
  }
  void compare(double ours, double theirs) {
    EXPECT_NEAR(ours, theirs, tolerance(theirs));
    const double deviation = std::abs(ours - theirs);
    largest_ns_ = std::max(largest_ns_, deviation);
    largest_relative_ = std::max(largest_relative_, deviation / theirs);
    ++compared_;
  }
  simgrid::Replay replay_;

 private:
  double largest_ns_ = 0;
  double largest_relative_ = 0;
  std::uint64_t compared_ = 0;
};

// --- flows: starts at random times, resources in any combination

simgrid::Sender sender_of(const FlowCase::Flow& flow) {
  return {{{static_cast<std::uint64_t>(flow.at), flow.bytes}}, flow.path};
}

TEST_F(SimGridOracle, FlowsEndAtTheSameTime) {
  for_each_case([this](base::Random& random) {
    const FlowCase flows = random_flow_case(random, kMostFlows);
    std::vector<simgrid::Sender> senders;
    for (const FlowCase::Flow& flow : flows.flows) senders.push_back(sender_of(flow));
    const auto theirs = replay_.ends({flows.bandwidths, 0}, senders);
    const std::vector<double> ours = ends_of(flows);
    for (std::size_t f = 0; f < ours.size(); ++f) {
      SCOPED_TRACE("flow " + std::to_string(f));
      compare(ours[f], theirs[f][0]);
    }
  });
}

// --- copies: latency first, then a flow; on a serialised link one after the other

struct CopyCase {
  MachineDescription machine;
  struct Start {
    std::uint32_t link = 0;
    std::uint64_t bytes = 0;
    Time at;
  };
  std::vector<Start> copies;  // in the order of their start
  bool same_latency = false;  // then SimGrid's network may wait for it
};

// A node in the middle and up to five around it, a link each way.
MachineDescription random_machine(base::Random& random, bool same_latency) {
  MachineDescription machine;
  const auto devices = static_cast<std::uint32_t>(1 + random.below(5));
  const auto segments = static_cast<std::uint32_t>(1 + random.below(3));
  for (std::uint32_t n = 0; n <= devices; ++n) {
    machine.nodes.push_back({NodeId{n}, "node", n == 0 ? NodeKind::ram : NodeKind::device, {}});
  }
  for (std::uint32_t s = 0; s < segments; ++s) {
    machine.segments.push_back({"segment", BytesPerSecond{5e9 + random.uniform() * 1e10}});
  }
  const Time latency{static_cast<std::int64_t>(1000 + random.below(20'000))};
  for (std::uint32_t l = 0; l < 2 * devices; ++l) {
    const NodeId device{1 + l / 2};
    LinkDescription link{l % 2 == 0 ? kRam : device, l % 2 == 0 ? device : kRam,
                         BytesPerSecond{1e9 + random.uniform() * 9e9}, latency};
    if (!same_latency) link.latency.ns = static_cast<std::int64_t>(random.below(20'000));
    link.segments = random_subset(random, segments, 0.5);
    if (random.below(2) == 0) link.serialised = {l};
    machine.links.push_back(std::move(link));
  }
  return machine;
}

// The copies of a serialised link start together: SimGrid's sender has one after the other, and can
// wait for the end of the one before but not for a time.
CopyCase random_copy_case(base::Random& random) {
  CopyCase result;
  result.same_latency = random.below(2) == 0;
  result.machine = random_machine(random, result.same_latency);
  const std::size_t most = 2 + random.below(4);
  for (std::uint32_t l = 0; l < result.machine.links.size(); ++l) {
    Time at{static_cast<std::int64_t>(random.below(20'000'000))};
    for (std::size_t copies = random.below(most); copies > 0; --copies) {
      if (result.machine.links[l].serialised.empty()) {
        at.ns = static_cast<std::int64_t>(random.below(20'000'000));
      }
      result.copies.push_back({l, 1000 + random.below(32'000'000), at});
    }
  }
  std::ranges::stable_sort(result.copies, {}, &CopyCase::Start::at);
  return result;
}

std::vector<Time> ends_of(const CopyCase& copies) {
  std::vector<Time> ends(copies.copies.size());
  sim::World world;
  using drivers::SimulatedLinks;
  const drivers::SimulatedResources resources(copies.machine, world);
  SimulatedLinks links(copies.machine, world, resources,
                       [&](const SimulatedLinks::Copy& copy) { ends[copy.id.slot] = world.now(); });
  for (std::size_t c = 0; c < ends.size(); ++c) {
    const CopyCase::Start& start = copies.copies[c];
    const LinkDescription& link = copies.machine.links[start.link];
    memory::Copy copy;
    copy.id.slot = static_cast<std::uint32_t>(c);
    copy.from.node = link.from;
    copy.from.layout = {start.bytes, 1, start.bytes, 1};
    copy.to.node = link.to;
    world.pass(start.at - world.now());
    links.start(links.describe(copy));
  }
  while (world.step()) {
  }
  return ends;
}

// The links of the machine are those of SimGrid, its segments follow.
simgrid::Platform platform_of(const CopyCase& copies) {
  simgrid::Platform platform;
  for (const auto& link : copies.machine.links) platform.bandwidths.push_back(link.bandwidth.value);
  for (const auto& segment : copies.machine.segments) {
    platform.bandwidths.push_back(segment.bandwidth.value);
  }
  if (copies.same_latency) {
    platform.latency_ns = static_cast<std::uint64_t>(copies.machine.links[0].latency.ns);
  }
  return platform;
}

std::vector<std::uint32_t> links_of(const CopyCase& copies, std::uint32_t link) {
  std::vector<std::uint32_t> links{link};
  for (const std::uint32_t segment : copies.machine.links[link].segments) {
    links.push_back(static_cast<std::uint32_t>(copies.machine.links.size()) + segment);
  }
  return links;
}

// The end of each copy by SimGrid, in ns.
std::vector<double> replayed(simgrid::Replay& replay, const CopyCase& copies) {
  std::vector<simgrid::Sender> senders;
  std::vector<std::vector<std::size_t>> copies_of;  // by sender
  std::vector<std::size_t> sender_of_link(copies.machine.links.size(), copies.copies.size());
  for (std::size_t c = 0; c < copies.copies.size(); ++c) {
    const CopyCase::Start& start = copies.copies[c];
    const LinkDescription& link = copies.machine.links[start.link];
    std::uint64_t wait = copies.same_latency ? 0 : static_cast<std::uint64_t>(link.latency.ns);
    std::size_t& sender = sender_of_link[start.link];
    if (sender == copies.copies.size() || link.serialised.empty()) {
      sender = senders.size();
      senders.push_back({{}, links_of(copies, start.link)});
      copies_of.emplace_back();
      wait += static_cast<std::uint64_t>(start.at.ns);
    }
    senders[sender].sends.push_back({wait, start.bytes});
    copies_of[sender].push_back(c);
  }
  std::vector<double> ends(copies.copies.size());
  if (senders.empty()) return ends;
  const auto by_sender = replay.ends(platform_of(copies), senders);
  for (std::size_t s = 0; s < senders.size(); ++s) {
    for (std::size_t i = 0; i < copies_of[s].size(); ++i) ends[copies_of[s][i]] = by_sender[s][i];
  }
  return ends;
}

TEST_F(SimGridOracle, CopiesEndAtTheSameTime) {
  for_each_case([this](base::Random& random) {
    const CopyCase copies = random_copy_case(random);
    const std::vector<double> theirs = replayed(replay_, copies);
    const std::vector<Time> ours = ends_of(copies);
    for (std::size_t c = 0; c < ours.size(); ++c) {
      SCOPED_TRACE("copy " + std::to_string(c));
      compare(static_cast<double>(ours[c].ns), theirs[c]);
    }
  });
}

}  // namespace
}  // namespace vicinal::testing
