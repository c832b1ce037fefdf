// Residency: what is particular to the rules of another runtime, see rules.hpp.
#include <utility>

#include "memory/residency.hpp"

namespace vicinal::memory {

// False: nothing can go.
bool Residency::evict_by_rules(Node& node, Bytes operand, EvictionReason reason, Request* asks,
                               Actions& actions) {
  refresh_order(node);
  const auto goes = [&](const Replica& r) {
    const bool promised = r.placed_early || r.uses.load(std::memory_order_relaxed) != 0;
    return evictable(r, asks) && (reason == EvictionReason::firm || !promised);
  };
  const auto bytes = [](const Replica& r) { return Arena::padded(r.handle->bytes()); };
  if (rules_.clean) {
    for (Replica* r = node.residents.oldest(); r != nullptr; r = node.residents.newer_than(*r)) {
      const bool void_here = (r->word.load(std::memory_order_relaxed) & kValid) == 0;
      if (bytes(*r) != operand || !(void_here || safe_elsewhere(*r)) || !goes(*r)) continue;
      evict(*r, actions);
      return true;
    }
  }
  const Bytes wanted = rules_.clean ? operand * 2 : Bytes{1};
  Bytes gone;  // or fewer, if what is evicted takes the next one with it
  for (Replica* r = node.residents.oldest(); r != nullptr && r->listed && gone < wanted;) {
    Replica& replica = *std::exchange(r, node.residents.newer_than(*r));
    if (!goes(replica)) continue;
    gone += bytes(replica);
    evict(replica, actions);
  }
  return gone.value > 0;
}

bool Residency::place_early(graph::Handle& handle, NodeId node, AccessMode mode, Actions& actions) {
  const std::lock_guard lock(mutex_);
  Replica& to = replica(handle, node);
  const std::uint32_t word = to.word.load(std::memory_order_relaxed);
  if ((word & (kEvicting | kPinMask)) != 0 || to.incoming != nullptr) return true;
  if ((word & kAllocated) == 0) {
    if (reads(mode)) return true;  // it has left
    if (nodes_[node.value].first != nullptr) return false;
    const Bytes needed = Arena::padded(handle.bytes());
    while (!allocate(to)) {
      if (!nodes_[node.value].arena || make_room(node, {needed, needed}, EvictionReason::prefetch,
                                                 nullptr, actions) != Room::again) {
        return false;
      }
    }
    actions.notices.push_back({&handle, node, true});
    to.placed_early = true;
  }
  make_sole(to, actions);
  return true;
}

}  // namespace vicinal::memory
