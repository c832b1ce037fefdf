// A copy between two memory nodes, as a value: memory decides it, the engine hands it to a driver.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

#include "graph/handle.hpp"
#include "vicinal/data.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::memory {

// Where a replica lies. On a memory node: `address` (nullptr in simulation). On disk: `file` and
// `offset`; file -1 is the disk driver's own scratch file.
struct Endpoint {
  NodeId node;
  std::byte* address = nullptr;
  int file = -1;
  std::uint64_t offset = 0;
  Layout layout;  // packed, but in the user's own strided buffer
};

// Why the content is copied. The order is that of trace::table::kCauses.
enum class CopyCause : std::uint8_t {
  task,          // one that its worker can start next wants it there
  prefetch,      // before one waits for it
  eviction,      // it leaves the node where it is, and is nowhere else
  write_behind,  // likewise, before it has to
  application,   // which has asked for it, or forgets the handle
  relay,         // on its way through RAM
  arrival,       // it has come from another rank, and a task there will want it
};

// Names a copy from its start to its end. A driver hands it back as it is. An id whose copy has ended names no later
// copy, and no copy of another runtime.
struct CopyId {
  std::uint32_t slot = 0;        // of the table
  std::uint32_t generation = 0;  // of the slot, from 1
  const void* table = nullptr;   // that gave the id; only compared
  friend auto operator<=>(const CopyId&, const CopyId&) = default;
};

// For messages.
inline std::string to_string(CopyId id) {
  return std::to_string(id.slot) + "." + std::to_string(id.generation);
}

struct Copy {
  CopyId id;  // given back at completion
  graph::Handle* handle = nullptr;
  Endpoint from;
  Endpoint to;
  bool urgent = true;  // a task waits for it; false: a prefetch
  CopyCause cause = CopyCause::task;
  std::uint64_t number = 0;  // of all that the runtime has begun

  Bytes bytes() const { return from.layout.bytes(); }
};

}  // namespace vicinal::memory
