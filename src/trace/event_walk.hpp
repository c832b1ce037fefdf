// The events of a segment, as words: checked once, then read without another look.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/head_reader.hpp"
#include "trace/segments.hpp"

namespace vicinal::trace {

// The second word of an event.
struct EventHead {
  explicit EventHead(std::uint64_t word)
      : number(static_cast<std::uint16_t>(word)),
        words(static_cast<std::uint16_t>(word >> 16)),
        first(static_cast<std::uint32_t>(word >> 32)) {}
  std::uint16_t number;  // in the file
  std::uint16_t words;   // of the event
  std::uint32_t first;   // field
};

// The first and the last time that an event may have.
struct TicksRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// Throws UsageError: an event cannot be as it is. Returns how many events the segment says were lost. `room`: as
// Segment::events has it.
std::uint64_t check_events(const Segment& segment, const FileHead& head, const TicksRange& range,
                           const std::string& name, std::vector<std::uint64_t>& room);

}  // namespace vicinal::trace
