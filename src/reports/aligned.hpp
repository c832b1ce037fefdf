// Cells as lines of a table.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vicinal::reports {

using Cells = std::vector<std::string>;

// Columns stand two spaces apart: the first ones, which are names, to the left, numbers to the right. A row may end early.
std::string aligned(const std::vector<Cells>& rows, std::size_t names);

}  // namespace vicinal::reports
