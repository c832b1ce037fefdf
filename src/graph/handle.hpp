// What the graph knows of one piece of data: its shape, and the queue of accesses to it.
//
// Sequential consistency by a queue per handle: an access is granted at once if it is compatible
// with those in course and nobody waits; otherwise it queues, first in, first out. The end of an
// access grants those at the head; a writer hands its access on to the writers that queued right
// behind it. Nothing refers to a task that has ended, so no task is kept
// alive for its readers, and the memory per pending access is one link.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "vicinal/access.hpp"
#include "vicinal/data.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::memory {
struct DataState;
}

namespace vicinal::graph {

struct Task;
struct Handle;

// One operand of one task. In the handle's queue while it waits.
struct Access {
  Handle* handle = nullptr;
  Access* next = nullptr;  // in the handle's queue; of a writer with access: who has it next
  Task* task = nullptr;
  AccessMode mode = AccessMode::R;
  std::uint8_t view_index = 0xff;  // first operand of the submission that this access serves
};

enum class HomeKind : std::uint8_t { none, buffer, file };

struct Home {
  HomeKind kind = HomeKind::none;
  std::byte* address = nullptr;  // buffer
  int file = -1;                 // descriptor, owned by the disk driver
  std::uint64_t offset = 0;      // in the file
  bool writable = true;
};

struct Handle {
  // --- the queue. Written under the lock bit of `word`.
  // bit 0: locked; bit 1: a writer has access; bit 2: someone waits; bits 8..: readers with access.
  std::atomic<std::uint64_t> word{0};
  Access* head = nullptr;
  Access* tail = nullptr;
  bool written = false;               // some submitted task or the home gives it content
  std::atomic<bool> poisoned{false};  // its last writer failed or was cancelled
  bool unregistering = false;
  std::atomic<bool> counts_unhomed{
      false};  // in the sum of what has no home; see runtime/submission.cpp

  // --- fixed at registration
  const void* owner = nullptr;  // the runtime; null once unregistered
  Layout layout;
  Home home;
  HandleId id;
  memory::DataState* residency = nullptr;  // owned by memory::Residency
  void* policy_data = nullptr;             // the policy's own, null until it sets it
  std::string name;

  Bytes bytes() const { return layout.bytes(); }
};

inline constexpr std::uint64_t kLocked = 1;
inline constexpr std::uint64_t kWriter = 2;
inline constexpr std::uint64_t kWaiters = 4;
inline constexpr std::uint64_t kReader = 256;

}  // namespace vicinal::graph
