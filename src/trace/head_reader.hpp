// What the head of a recording's file says, in the numbers of this version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/clock.hpp"
#include "trace/decision.hpp"
#include "trace/event.hpp"

namespace vicinal::trace {

// An event as the writer of the file knew it.
struct FileEvent {
  struct Choice {
    std::size_t place = 0;  // of the field
    std::uint64_t in_file = 0;
    std::uint64_t known = 0;  // of these, by this version
  };
  bool in_table = false;       // else no event has the number
  std::optional<Event> event;  // none: this version does not know it
  std::size_t fields = 1;
  std::optional<Tail> tail;  // none: likewise
  std::vector<Choice> choices;
};

struct FileHead {
  ClockKind clock = ClockKind::counter;
  ClockPair origin;
  double ns_per_tick = 1;
  Categories recorded = 0;
  std::vector<FileEvent> events;                 // by their number in the file
  std::vector<std::optional<Reason>> rules;      // likewise
  std::vector<std::optional<Measure>> measures;  // likewise
  bool same_measures = true;                     // the numbers are those of this version
  std::string run;                               // JSON
  std::size_t end = 0;                           // where the segments begin, in bytes
};

// Of a clock that is not out of its mind.
constexpr bool is_pace(double ns_per_tick) {
  return ns_per_tick >= 1e-3 && ns_per_tick <= 1e6;
}

// Throws UsageError.
FileHead read_head(std::span<const std::byte> file, const std::string& name);

}  // namespace vicinal::trace
