// The head of a recording's file: what a reader needs besides the segments, as JSON.
//
//   {"format": "vicinal recording", "version": 2,
//    "clock": {"kind": "counter", "origin_ticks": 812, "origin_ns": 911, "ns_per_tick": 0.385},
//    "recorded": ["always", "tasks"],
//    "events": [{"number": 4, "name": "task started", "category": "tasks",
//                "fields": [{"name": "worker", "type": "worker"}, ...], "tail": "none"}, ...],
//    "rules": ["least cost", ...], "measures": ["place", ...],
//    "run": {...}}
//
// A field of type "choice" says its "choices" as the table of events does. Rules and measures are the names of
// decision.hpp in the order of their numbers in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "trace/clock.hpp"
#include "trace/event.hpp"

namespace vicinal::trace {

// Of a file: reader.hpp has the differences. The newest is what a reader knows.
inline constexpr std::uint32_t kForm = 2;
inline constexpr std::uint32_t kFormOfRanks = 3;

// What stands before it: see reader.hpp.
inline constexpr std::size_t kFrontBytes = 32;

std::string_view to_string(FieldType type);
std::string_view to_string(Tail tail);

// The JSON with spaces up to a whole word, without what stands before it. `run` is a JSON object; throws UsageError
// if it is none.
std::string make_head(ClockKind kind, const ClockPair& origin, double ns_per_tick,
                      Categories recorded, std::string_view run, std::uint32_t form = kForm);

// Of whole words.
std::uint64_t checksum_of_head(std::string_view head);

// All that a file has before its first segment: magic, version, order of bytes, size and checksum, the head.
std::string make_front(std::string_view head, std::uint32_t form = kForm);

}  // namespace vicinal::trace
