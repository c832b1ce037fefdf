// What the readers of files have in common: how they name a place, and what is no JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>

namespace vicinal::graphfiles {

// Names as they stand in messages: quoted, and cut if somebody put a book there.
std::string in_quotes(std::string_view name);

// "; did you mean "X"?" or nothing. Looks at `candidates` only if that does not take long.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

// Throws UsageError "origin: place: message".
[[noreturn]] void refuse_at(const std::string& origin, const std::string& place,
                            const std::string& message);

// "line 3, column 12" of a place in a text, given as the number of characters before it.
std::string line_and_column(std::string_view text, std::size_t position);

// Throws UsageError with line and column of `position`, the number of characters read when the parser
// gave up, and with what it says.
[[noreturn]] void refuse_syntax(const std::string& origin, std::string_view text,
                                std::size_t position, const std::exception& what);

}  // namespace vicinal::graphfiles
