// How computations and a transfer share a memory whose latency under load was measured (ContentionSurface).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vicinal/contention.hpp"

namespace vicinal::machine {

// The text of read_contention_surface; `origin` is named in errors. Throws UsageError.
ContentionSurface parse_contention_surface(std::string_view text, const std::string& origin);

// Throws UsageError for a surface or bandwidths out of range. The nodes are those of the model.
ContentionShares shares_by_surface(const ContentionModel& model, double cores,
                                   std::uint32_t computation_node, std::uint32_t transfer_node);

}  // namespace vicinal::machine
