// Keeps from toml++ the one kind of text that its versions up to 3.4 do not survive.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vicinal::machine {

// The line of the first table header without a name, such as "[[=" or "[" alone. toml++ takes for granted
// that a name follows: it aborts, or does anything if compiled with NDEBUG (marzer/tomlplusplus, pull
// request 301).
std::optional<std::uint32_t> line_of_nameless_header(std::string_view text);

}  // namespace vicinal::machine
