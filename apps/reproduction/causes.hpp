// Why statements of a figure do not hold, as far as it was found.
#pragma once

#include <string_view>
#include <vector>

namespace vicinal::reproduction {

// Sentences in Markdown; none: nothing is known, or all holds.
std::vector<std::string_view> causes_of(std::string_view figure);

}  // namespace vicinal::reproduction
