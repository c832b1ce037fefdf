#include "bounds/transfer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace vicinal::bounds {

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// Links that share `rate`, in bytes per second.
struct Group {
  double rate = kUnlimited;
  std::vector<std::size_t> links;
};

double rate_of(const LinkDescription& link) {
  return link.bandwidth.value > 0 ? link.bandwidth.value : kUnlimited;
}

std::vector<Group> groups_of(const MachineDescription& machine,
                             std::span<const std::size_t> links) {
  std::vector<Group> groups(machine.segments.size());
  for (std::size_t s = 0; s < groups.size(); ++s) {
    const double rate = machine.segments[s].bandwidth.value;
    if (rate > 0) groups[s].rate = rate;
  }
  for (const std::size_t l : links) {
    const LinkDescription& link = machine.links[l];
    for (const std::uint32_t segment : link.segments) groups[segment].links.push_back(l);
    for (const std::uint32_t other : link.serialised) {
      if (other == l || std::find(links.begin(), links.end(), other) == links.end()) continue;
      groups.push_back({std::max(rate_of(link), rate_of(machine.links[other])), {l, other}});
    }
  }
  return groups;
}

// What the group's links that are not counted yet would carry without it.
double rate_without(const Group& group, std::span<const double> uncounted) {
  double sum = 0;
  for (const std::size_t l : group.links) sum += uncounted[l];
  return sum;
}

}  // namespace

BytesPerSecond joint_bandwidth(const MachineDescription& machine,
                               std::span<const std::size_t> links) {
  std::vector<double> uncounted(machine.links.size(), 0);
  for (const std::size_t l : links) uncounted[l] = rate_of(machine.links[l]);
  const std::vector<Group> groups = groups_of(machine, links);
  double together = 0;
  while (true) {
    const Group* best = nullptr;
    double saved = 0;
    for (const Group& group : groups) {
      if (group.rate == kUnlimited) continue;
      const double saving = rate_without(group, uncounted) - group.rate;
      if (saving > saved) {
        saved = saving;
        best = &group;
      }
    }
    if (best == nullptr) break;
    together += best->rate;
    for (const std::size_t l : best->links) uncounted[l] = 0;
  }
  for (const double rate : uncounted) together += rate;
  return {std::isfinite(together) ? together : 0};
}

}  // namespace vicinal::bounds
