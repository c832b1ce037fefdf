// Text for a terminal of some width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vicinal::reports {

// Words of a text in lines that are no longer than `width`, if no word is; lines of the text stay lines. Those behind the
// first one begin with so many spaces, which do not count.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace vicinal::reports
