// The table of figures.
#pragma once

#include <span>
#include <string_view>

#include "reproduction/figure.hpp"

namespace vicinal::reproduction {

// In the order of their names.
std::span<const Figure> figures();
// Throws UsageError, which names the nearest one, if there is none of that name.
const Figure& figure(std::string_view name);

}  // namespace vicinal::reproduction
