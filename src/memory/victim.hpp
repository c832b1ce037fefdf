// Which replica leaves a full memory node. A policy may bring its own choice; LRU is the default.
#pragma once

#include <cstdint>
#include <span>

#include "graph/handle.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::memory {

enum class EvictionReason : std::uint8_t {
  firm,      // a task that can start next, an acquisition or a write-back needs the room
  prefetch,  // only an early copy does: the choice may refuse
};

// A replica that may go: valid, on the node, not pinned, not wanted by who asks.
struct Candidate {
  graph::Handle* handle = nullptr;
  bool dirty = false;        // the only copy: it costs a write-back
  std::uint32_t claims = 0;  // tasks pulled from the policy and not ended that use it here
};

class VictimChoice {
 public:
  virtual ~VictimChoice() = default;
  // One of the candidates, or nullptr to refuse. They come least recently used first and are never
  // empty. Called under the policy's lock if the policy brought the choice, under no other lock.
  // What it returns may have been pinned meanwhile: then it is asked again. A refusal of a firm
  // reservation is overruled: the first candidate goes.
  virtual graph::Handle* choose(NodeId node, Bytes needed, EvictionReason reason,
                                std::span<const Candidate> candidates) = 0;
};

}  // namespace vicinal::memory
