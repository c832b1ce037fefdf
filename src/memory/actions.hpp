// What a change of the memory leaves to be done, as values: the engine does it, and under no lock of the memory's.
#pragma once

#include <cstdint>

#include "base/sure_memory.hpp"
#include "memory/copy.hpp"
#include "memory/victim.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::memory {

struct Notice {
  graph::Handle* handle = nullptr;
  NodeId node;
  bool loaded = false;  // else evicted
};

// The victim choice of a policy is asked for outside the locks: see Residency::answer.
struct VictimQuery {
  NodeId node;
  Bytes needed;
  EvictionReason reason = EvictionReason::firm;
  std::uint64_t request = 0;  // firm: the number of who asks
};

struct Request;

struct Actions {
  base::SureVector<Copy> copies;          // to start
  base::SureVector<Notice> notices;       // for the policy
  base::SureVector<VictimQuery> queries;  // each to be answered
  base::SureVector<NodeId> arrivals;  // something to look at: a copy arrived, a request ended, room
  base::SureVector<Request*> ended;   // of those whose owner is to be told: Request::tells
  // Residency's own: nodes, a bit each, that were busy when something was left for them; none when it returns.
  std::uint64_t undelivered = 0;
  bool empty() const {
    return copies.empty() && notices.empty() && queries.empty() && arrivals.empty() &&
           ended.empty();
  }
  void clear() {
    copies.clear();
    notices.clear();
    queries.clear();
    arrivals.clear();
    ended.clear();
  }
};

}  // namespace vicinal::memory
