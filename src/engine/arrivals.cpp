#include "engine/arrivals.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "graph/handle.hpp"
#include "memory/residency.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

ArrivalRule arrival_rule_of(std::string_view text) {
  constexpr std::pair<std::string_view, ArrivalRule> kRules[] = {{"ram", ArrivalRule::ram},
                                                                 {"advised", ArrivalRule::advised},
                                                                 {"owner", ArrivalRule::owner},
                                                                 {"random", ArrivalRule::random}};
  for (const auto& [name, rule] : kRules) {
    if (name == text) return rule;
  }
  throw UsageError("option receive_placement: \"" + std::string(text) +
                   "\" is none of ram, advised, owner and random");
}

void Arrivals::set_up(ArrivalRule rule, const MachineDescription& machine, std::uint64_t seed) {
  rule_ = rule;
  random_ = base::Random(seed);
  accelerators_.clear();
  for (const NodeDescription& node : machine.nodes) {
    const bool has_workers = std::ranges::any_of(
        machine.workers, [&](const WorkerDescription& worker) { return worker.node == node.id; });
    if (node.kind == NodeKind::device && has_workers) accelerators_.push_back(node.id);
  }
}

Destination Arrivals::next(Handle written) {
  Destination to{.rule = rule_, .written = written};
  if (rule_ == ArrivalRule::random) to.drawn = accelerators_[random_.below(accelerators_.size())];
  return to;
}

// The data that the task writes are there, perhaps to go after it: the task, which is submitted behind the receive, has not
// run. If it was refused, others may be in their place.
std::optional<NodeId> Arrivals::node_of(const Destination& to,
                                        const memory::Residency& residency) const {
  if (to.rule == ArrivalRule::ram) return std::nullopt;
  if (to.rule == ArrivalRule::random) return to.drawn;
  const graph::Handle* const written = to.written.impl();
  if (written == nullptr || written->life() - to.written.life() > 1) return std::nullopt;
  if (to.rule == ArrivalRule::advised) {
    if (const std::optional<NodeId> advised = written->preferred()) {
      const bool is_one = std::ranges::find(accelerators_, *advised) != accelerators_.end();
      return is_one ? advised : std::nullopt;
    }
  }
  return residency.owner(*written);
}

}  // namespace vicinal::engine
