// One line on a terminal that is written over again and again, cut to its width: how far something has come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace vicinal::base {

// The standard error is a terminal, and one that can clear a line (TERM is not dumb, and set).
bool can_show_line();
// Writes the line over the one that may be there; only where it can be shown. Control characters in it are replaced.
void show_line(std::string line);
// Of the terminal, if a line may be on it.
void clear_line();

// Of the terminal; asked each time, as a window may change.
std::size_t terminal_columns();
// What of a line fits: it must not wrap, as only its last row would be cleared.
std::string fitting(std::string line, std::size_t columns);

// "[#####.....]  50 %": of `width` marks.
std::string progress_bar(std::uint64_t done, std::uint64_t all, std::size_t width);

}  // namespace vicinal::base
