// Where data will be when what has been planned has run: what comes later is planned from there.
//
// Methods are called inside those of the policy.
#pragma once

#include <bit>
#include <cstdint>

#include "base/sure_memory.hpp"
#include "graph/task.hpp"
#include "sched/future_uses.hpp"
#include "sched/nodes.hpp"
#include "sched/policies/packaged_plan.hpp"
#include "sched/policy.hpp"

namespace vicinal::sched {

class ExpectedPlaces {
 public:
  // The task was planned, behind all others. `place` rises.
  void note(const graph::Task& task, NodeIndex node, std::uint64_t place) {
    for (const graph::Access& access : task.accesses()) {
      packaged::Past::Datum& at = places_[access.handle];
      const std::uint64_t bit = std::uint64_t{1} << node;
      at.last_use = place;
      at.nodes |= bit;
      if (!leaves_content(access.mode)) continue;
      at.nodes = bit;
      at.changed_in = node;
    }
  }

  // What has been evicted since its last planned use is not there.
  packaged::Past::Datum of(const graph::Handle& handle, const Presence& presence,
                           const Nodes& nodes, const FutureUses& future) const {
    packaged::Past::Datum now;
    for (NodeIndex node = 0; node < nodes.count(); ++node) {
      const NodeId id = nodes[node].id;
      if ((presence.valid >> id.value & 1) == 0) continue;
      now.nodes |= std::uint64_t{1} << node;
      if (std::has_single_bit(presence.valid)) now.changed_in = node;
    }
    const auto planned = places_.find(&handle);
    if (planned == places_.end()) return now;
    packaged::Past::Datum then = planned->second;
    bool comes = false;
    for (NodeIndex node = 0; node < nodes.count(); ++node) {
      const std::uint64_t bit = std::uint64_t{1} << node;
      const bool is_used = future.is_used(handle, nodes[node].id);
      comes = comes || is_used;
      if (!is_used && (now.nodes & bit) == 0) then.nodes &= ~bit;
    }
    if (comes) return then;
    now.last_use = then.last_use;
    return now;
  }

  void forget(const graph::Handle& handle) { places_.erase(&handle); }

 private:
  base::SureUnorderedMap<const graph::Handle*, packaged::Past::Datum> places_;
};

}  // namespace vicinal::sched
