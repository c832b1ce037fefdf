// Where the segments of a recording's file lie, each with the checksum that it should have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/clock.hpp"

namespace vicinal::trace {

struct Segment {
  std::uint32_t lane = 0;
  std::uint64_t number = 0;  // see SegmentHead
  std::uint64_t offset = 0;
  std::uint64_t at = 0;     // in bytes, of the content in the file
  std::uint64_t words = 0;  // of its events
  bool is_packed = false;
  std::span<const std::uint64_t> content;

  // Its events; `room` is where they are unpacked. Nothing if they cannot be.
  std::optional<std::span<const std::uint64_t>> events(std::vector<std::uint64_t>& room) const;
};

struct Segments {
  std::vector<Segment> data;                 // by lane, number and offset
  std::optional<ClockPair> last_clock;       // the one with the most ticks
  std::optional<std::uint64_t> events_lost;  // at the end; none: the file has no end
  std::uint64_t cut_bytes = 0;               // behind the last whole segment
};

// `file` begins at a whole word; the first segment is at byte `begin`. Throws UsageError.
Segments find_segments(std::span<const std::byte> file, std::size_t begin, const std::string& name);

}  // namespace vicinal::trace
