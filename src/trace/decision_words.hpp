// The tail of an event `decision`, in words of 8 bytes:
//
//   word 0   bits 0..31 how many candidates there are, 32..63 how many scores the question has
//   then the scores of the question, two words each: the measure, its value
//   then each candidate: its id, how many scores it has, and these
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/function_ref.hpp"
#include "trace/decision.hpp"

namespace vicinal::trace {

// How many words the fields and the tail take, without the first two words of the event.
std::size_t words_of(const Decision& decision);
// So many of them to `at`.
void put_decision(const Decision& decision, std::uint64_t* at);

// Of what `put_decision` wrote, the first field given apart. Nothing if the words are not such.
std::optional<Decision> read_decision(std::uint32_t rule, std::int64_t time_ns,
                                      std::span<const std::uint64_t> words);

// Where in the tail the words are that say what a score measures. False: the tail is not whole.
bool visit_measures(std::span<const std::uint64_t> tail,
                    base::FunctionRef<void(std::size_t)> visit);
// Likewise the ids of candidates.
bool visit_candidates(std::span<const std::uint64_t> tail,
                      base::FunctionRef<void(std::size_t)> visit);

}  // namespace vicinal::trace
