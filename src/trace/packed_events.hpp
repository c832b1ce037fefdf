// Events in fewer bytes, as the file of a recording has them: most words of an event are those of the one of its kind
// before it, or close to them.
//
//   word 0   how many words the events have, as event.hpp lays them out
//   then each event, in bytes, with zeros behind the last one up to a whole word:
//     byte     bits 0..6 a slot, bit 7: the head of the event is not that of the event that had the slot last
//     signed   its time less the time of the event before it
//     if bit 7 is set:
//       number   bit 0: bits 0..31 of word 1 differ; above it, signed: the first field less that of the former event
//       signed   if they do: bits 0..31 of word 1 less those of the former
//     for each eight of the further words:
//       byte     bit i: word i is not that of the former
//       signed   for each bit: the word less that of the former, which is 0 where that had none
//
// The former event is the one that had the slot last; who packs chooses the slot. A number has 7 bits in a byte, the low
// ones first; bit 7: there are more. One that is signed has its sign in bit 0: 0, -1, 1, -2 are 0, 1, 2, 3.
// Differences are modulo 2^64, those of halves of word 1 modulo 2^32. Times begin with 0, and slots without an
// event, in each segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vicinal::trace {

// So many words a packed segment has at most: a file that claims more is damaged.
inline constexpr std::size_t kMostPackedWords = std::size_t{1} << 20;

// Packs whole events into `packed`. Returns how many words it takes; 0: no fewer, or there was no room. Twice as
// many words as the events have, and those of the longest of them, are enough.
std::size_t pack_events(std::span<const std::uint64_t> words, std::span<std::uint64_t> packed);

// How many words come out; above kMostPackedWords if it is none that pack_events has made.
std::uint64_t unpacked_words(std::span<const std::uint64_t> packed);

// The events again. False: these are no packed events; what was unpacked until then is in `words`.
bool unpack_events(std::span<const std::uint64_t> packed, std::vector<std::uint64_t>& words);

}  // namespace vicinal::trace
