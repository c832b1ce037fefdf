// Text to values and back: what options, machine files and command lines are written in.
//
// The parsers accept the whole text or throw UsageError, whose message names the text and the
// accepted forms; spaces around the text are ignored. None depends on the locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "vicinal/units.hpp"

namespace vicinal::base {

// "4096", "800MiB", "1.5 GB", "2k". KiB, MiB, GiB, TiB and k, m, g, t alone are powers of 1024; kB,
// MB, GB, TB powers of 1000; B is a byte. Case does not matter, but b is a bit: see refuse_bits. A fraction needs a
// unit and is rounded to the nearest byte.
Bytes parse_bytes(std::string_view text);

// Throws UsageError, which says what to write, if the text is a number of bits or of bits per second: "100 Gb/s",
// "8 Mbit", "1gb". Those who mean bytes and write b are told, too.
void refuse_bits(std::string_view text);

// Decimal; within [lowest, highest].
std::uint64_t parse_count(std::string_view text, std::uint64_t lowest, std::uint64_t highest);

// Finite; "0.5", "-3", "1e-6".
double parse_real(std::string_view text);

// true, yes, on, 1; false, no, off, 0; case does not matter.
bool parse_bool(std::string_view text);

// For people: at most four significant digits and a binary unit: "512 B", "1.5 KiB", "61.04 MiB".
std::string format_bytes(Bytes bytes);

// For people: at most four significant digits: "850 ns", "1.5 us", "12.35 s", then "2 min 03 s",
// "1 h 02 min".
std::string format_duration(Time time);

// What names of tasks that are numbered have in common: "gemm" of "gemm(3,4)", "tile" of "tile_17". Of names that are
// nothing but a number it is empty.
std::string_view stem(std::string_view name);

// Insertions, deletions, replacements and swaps of neighbours that turn a into b (optimal string
// alignment: no part is edited twice).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that `word` most likely stands for, the first among equals; empty if none is close.
// Close: a third of the word's letters may be wrong (one at least), or the word, of three letters or
// more, is the beginning of the candidate. Case does not matter, nor - against _.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace vicinal::base
