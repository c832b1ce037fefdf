// Text from files and programs as it may be shown: on a terminal, in a page, in another program's file. A name may hold
// what sets a terminal's title, clears its screen, hides or forges lines, or makes XML that is none.
#pragma once

#include <string>
#include <string_view>

namespace vicinal::base {

// U+FFFD for each control character but line feed and tabulator (also those of U+0080 to U+009F, and DEL), for what turns the
// direction of writing (U+202A to U+202E, U+2066 to U+2069), for U+2028, U+2029, U+FFFE, U+FFFF, and for what is no UTF-8.
std::string legible(std::string_view text);

// The same of a name: line feed and tabulator are replaced, too.
std::string legible_name(std::string_view name);

}  // namespace vicinal::base
