// Arguments of calls that are checked before anything is done with them. Sizes of data: whatever is computed from them
// later stays in range.
#pragma once

#include <string>
#include <string_view>

#include "vicinal/data.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::engine {

// Throws UsageError that names the data: elements of no bytes, more than kLargestData, a leading dimension
// that leads beyond it. An empty name: data without one.
Layout checked(const TileShape& shape, std::string_view name);
void require_size(const Layout& layout, std::string_view name);

// Gives the node back; throws UsageError if the machine has none of this number. `call` is the application's.
NodeId checked(NodeId node, const MachineDescription& machine, const char* call);

// For messages: `data "A"`, or `data without a name`.
std::string named(std::string_view name);

}  // namespace vicinal::engine
