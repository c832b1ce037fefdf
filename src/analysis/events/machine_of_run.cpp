#include "analysis/events/machine_of_run.hpp"

#include <fmt/format.h>

#include "analysis/events/contradiction.hpp"
#include "analysis/recorded_run.hpp"

namespace vicinal::analysis {

namespace {

constexpr std::uint64_t kMost = 1U << 16;  // where the machine is not described

}  // namespace

std::uint32_t MachineOfRun::node(std::uint64_t number) {
  auto& nodes = machine_.nodes;
  if (number >= nodes.size()) {
    if (described_ || number >= kMost) {
      refuse_events(path_, fmt::format("the machine has no memory node {}", number));
    }
    while (nodes.size() <= number) {
      const auto next = static_cast<std::uint32_t>(nodes.size());
      nodes.push_back({.id = NodeId{next},
                       .name = next == kRam.value ? "ram" : fmt::format("node {}", next),
                       .kind = next == kRam.value ? NodeKind::ram : NodeKind::device,
                       .limit = std::nullopt});
    }
  }
  return static_cast<std::uint32_t>(number);
}

std::uint32_t MachineOfRun::node_or_none(std::uint64_t number) {
  return number == kNobody ? kNobody : node(number);
}

std::uint32_t MachineOfRun::worker_or_none(std::uint64_t number) {
  auto& workers = machine_.workers;
  if (number == kNobody) return kNobody;
  if (number >= workers.size()) {
    if (described_ || number >= kMost) {
      refuse_events(path_, fmt::format("the machine has no worker {}", number));
    }
    node(kRam.value);
    while (workers.size() <= number) {
      workers.push_back({.id = WorkerId{static_cast<std::uint32_t>(workers.size())}, .node = kRam});
    }
  }
  return static_cast<std::uint32_t>(number);
}

}  // namespace vicinal::analysis
