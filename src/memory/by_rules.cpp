// Residency: what is particular to the rules of another runtime, see rules.hpp.
#include <utility>

#include "memory/residency.hpp"

namespace vicinal::memory {

// False: nothing can go.
bool Residency::evict_by_rules(MemoryNode& node, Bytes operand, EvictionReason reason,
                               Request* asks, Actions& actions) {
  node.victims.refresh();
  const auto goes = [&](const Replica& r) {
    const bool promised = r.placed_ahead || r.uses.load(std::memory_order_relaxed) != 0;
    return evictable(r, asks) && (reason == EvictionReason::firm || !promised);
  };
  const auto bytes = [](const Replica& r) { return Arena::padded(r.handle->bytes()); };
  const auto newer = [&](const Replica& r) { return node.victims.newer_than(r); };
  if (rules_.clean || rules_.saved) {
    for (Replica* r = node.victims.oldest(); r != nullptr; r = newer(*r)) {
      const bool void_here = (r->word.load(std::memory_order_relaxed) & kValid) == 0;
      if (!rules_.saved && bytes(*r) != operand) continue;
      if (!(void_here || safe_elsewhere(*r)) || !goes(*r)) continue;
      decisions_.by_rules(*r, operand);
      evict(*r, actions);
      return true;
    }
  }
  const Bytes wanted = rules_.clean ? operand * 2 : Bytes{1};
  Bytes gone;  // or fewer, if what is evicted takes the next one with it
  for (Replica* r = node.victims.oldest(); r != nullptr && r->listed && gone < wanted;) {
    Replica& replica = *std::exchange(r, newer(*r));
    if (!goes(replica)) continue;
    gone += bytes(replica);
    decisions_.by_rules(replica, operand);
    evict(replica, actions);
  }
  return gone.value > 0;
}

bool Residency::place_ahead(graph::Handle& handle, NodeId id, AccessMode mode, Actions& actions) {
  return at(id, actions, [&] {
    MemoryNode& node = nodes_[id.value];
    Replica& to = replica(handle, id);
    const std::uint32_t word = to.word.load(std::memory_order_relaxed);
    if ((word & (kEvicting | kPinMask)) != 0 || to.incoming != nullptr) return true;
    if ((word & kAllocated) == 0) {
      if (reads(mode)) return true;  // it has left
      if (!node.requests.empty()) return false;
      const Bytes needed = Arena::padded(handle.bytes());
      while (!allocate(to)) {
        if (!node.room.is_limited() || make_room(id, {needed, needed}, EvictionReason::prefetch,
                                                 nullptr, actions) != Outcome::again) {
          return false;
        }
      }
      actions.notices.push_back({&handle, id, true});
      to.placed_ahead = true;
    }
    make_exclusive(to, actions);
    return true;
  });
}

}  // namespace vicinal::memory
