// The table of figures.
#pragma once

#include <span>
#include <string_view>

#include "reproduction/figure.hpp"

namespace vicinal::reproduction {

// A paper whose figures are here.
struct Paper {
  std::string_view number;  // "000": figures are called 000-6
  std::string_view title;
  std::string_view authors;        // and the year
  std::string_view left_out = {};  // which of its figures, of those that Vicinal concerns, and why
};
std::span<const Paper> papers();

// In the order of their names.
std::span<const Figure> figures();
// Throws UsageError, which names the nearest one, if there is none of that name.
const Figure& figure(std::string_view name);

}  // namespace vicinal::reproduction
