// The library's own threads, beside a kernel or a transfer.
#pragma once

#include <cstdint>
#include <functional>

#include "calibration/interference/difference.hpp"

namespace vicinal::interference {

// What is there between `begin` and `end`, without being timed itself.
struct Presence {
  std::function<void()> begin = {};
  std::function<void()> end = {};
};

// A runtime of so many workers without tasks.
Presence idle_workers(std::uint32_t workers);
// The thread of a rank that talks to the others, while nothing is said.
Presence idle_progress_thread();
// Seconds per task of so many workers: alone without a recording, beside with one.
Rounds tasks_with_recording(std::uint32_t workers, std::uint32_t rounds);
// Seconds of a small message between two ranks of this process: alone by the transport, beside as tasks of a runtime that read
// what the other rank has written.
Rounds messages_with_layers(std::uint32_t rounds);

}  // namespace vicinal::interference
