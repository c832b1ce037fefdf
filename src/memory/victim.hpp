// Which replica leaves a full memory node. A policy may bring its own choice; LRU is the default.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "graph/handle.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::memory {

enum class EvictionReason : std::uint8_t {
  firm,      // a task that can start next, an acquisition or a write-back needs the room
  prefetch,  // only a prefetch does: the choice may refuse
};

// Who chooses victims: memory, by its own orders (see Residency::lru_victim), or a policy, by answering queries.
enum class VictimChooser : std::uint8_t { memory, policy };
// Whether uses come about in the order in which they were announced.
enum class UseOrder : std::uint8_t { any, as_announced };

// A replica that may go: valid, on the node, not pinned, not wanted by who asks.
struct Candidate {
  graph::Handle* handle = nullptr;
  bool dirty = false;        // the only copy: it costs a write-back
  std::uint32_t claims = 0;  // tasks pulled from the policy and not ended that use it here
};

// The replicas that may go from a node, asked about rather than listed: there may be many thousands, and most
// choices need to know of few.
class Candidates {
 public:
  virtual ~Candidates() = default;
  // Of those without claims the least recently used one that `goes` says yes to, of what no submitted task uses
  // if there is such (it goes without a question if it can when room is needed); nullptr: there is none. Looks
  // no further than it has to. `goes` asks nothing here.
  virtual graph::Handle* least_recent(const std::function<bool(const graph::Handle&)>& goes) = 0;
  // It is one of those without claims.
  virtual bool has_unclaimed(const graph::Handle& handle) = 0;
  // All of them, least recently used first, until a victim has been taken: a walk over what is on the node.
  virtual std::span<const Candidate> all() = 0;

  // A task of many operands needs many victims. As long as room lacks for the same request the choice is asked again
  // with the same candidates, and the ranking that it once made still stands, so that each victim costs O(log n).
  using Score = std::function<std::uint64_t(const Candidate&)>;
  // The candidate with the greatest score, among equals the least recently used one; it is given once. nullptr: there
  // is none left. The first call ranks all by their score at that time.
  virtual graph::Handle* greatest(const Score& score) = 0;
  // `greatest` has been called.
  virtual bool ranked() const = 0;
};

class VictimChoice {
 public:
  virtual ~VictimChoice() = default;
  // One of the candidates, or nullptr to refuse. There was one when it was decided to ask. Called under the
  // policy's lock if the policy brought the choice, under no other lock. What it returns may have been
  // pinned meanwhile: then it is asked again. A refusal of a firm reservation is overruled: the least
  // recently used candidate goes.
  virtual graph::Handle* choose(NodeId node, Bytes needed, EvictionReason reason,
                                Candidates& candidates) = 0;
};

}  // namespace vicinal::memory
