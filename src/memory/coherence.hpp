// Which replicas of a handle hold its present content (MSI), and its version.
//
// All of it changes under the handle's own lock (graph::Handle::coherence), a leaf that is held for some
// instructions. So two nodes that evict their replicas at once do not both take the other's for safe, and a copy
// that arrives while a task writes elsewhere is not taken for the present content.
#pragma once

#include <cstdint>
#include <optional>

#include "memory/replica.hpp"

namespace vicinal::memory {

// Its content is the handle's, and it has room.
void make_valid(Replica& replica);
// A copy of that version has arrived. False: the handle was written meanwhile, and the copy is void.
bool make_valid(Replica& replica, std::uint64_t version);
// Whoever has write access has written it here. Returns the nodes, a bit each, whose replicas are void by that.
std::uint64_t make_exclusive(Replica& here);
// The content is lost wherever it was. Returns where.
std::uint64_t make_void(graph::Handle& handle);
// The replica's alone. False: it was void.
bool make_void(Replica& replica);

// A victim drops its content.
struct Dropped {
  enum class Result : std::uint8_t {
    gone,  // void, and nobody uses it: its room can be freed
    used,  // a copy reads it
    last,  // the content is nowhere else
  } result = Result::gone;
  bool was_valid = false;
};
// What becomes of content that is nowhere else.
enum class LastCopy : std::uint8_t { stays, may_be_lost };
// The replica is claimed (kEvicting), its node's lock is held.
Dropped drop(Replica& replica, LastCopy last = LastCopy::stays);

// Pins the replica as the source of a copy, and returns the version of its content. None: the replica is void, or is
// being moved.
std::optional<std::uint64_t> pin_source(Replica& replica);
// The same of a replica that is being evicted. None also if the eviction was cancelled: a task may be writing the replica.
std::optional<std::uint64_t> pin_victim(Replica& replica);

}  // namespace vicinal::memory
