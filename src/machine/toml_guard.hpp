// Keeps from toml++ the kinds of text that its versions up to 3.4 do not survive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace vicinal::machine {

// The line of the first table header without a name, such as "[[=" or "[" alone. toml++ takes for granted
// that a name follows: it aborts, or does anything if compiled with NDEBUG (marzer/tomlplusplus, pull
// request 301).
std::optional<std::uint32_t> line_of_nameless_header(std::string_view text);

// More than any key of a machine file has. toml++ makes a table inside a table for each name, and walks along them
// by recursion: some ten thousand, also over nested inline tables, take more stack than there is.
inline constexpr std::size_t kMostDottedNames = 16;
// The line of the first key or header of more names, as in "a.b.c".
std::optional<std::uint32_t> line_of_too_many_names(std::string_view text);

}  // namespace vicinal::machine
