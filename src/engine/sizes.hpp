// Which sizes of data can be registered: whatever is computed from them later stays in range.
#pragma once

#include <string>
#include <string_view>

#include "vicinal/data.hpp"

namespace vicinal::engine {

// Throws UsageError that names the data: elements of no bytes, more than kLargestData, a leading dimension
// that leads beyond it. An empty name: data without one.
Layout checked(const TileShape& shape, std::string_view name);
void require_size(const Layout& layout, std::string_view name);

// For messages: `data "A"`, or `data without a name`.
std::string named(std::string_view name);

}  // namespace vicinal::engine
