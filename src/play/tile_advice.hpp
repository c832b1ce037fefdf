// Which accelerator of its rank each tile of a dense matrix is advised for: the second level of a two-level block-cyclic
// distribution (vicinal/distribution.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "vicinal/distribution.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::play {

// Accelerators of a rank, in rows and columns.
struct DeviceGrid {
  std::uint32_t rows = 1;     // Gp
  std::uint32_t columns = 1;  // Gq
};

class TileAdvice {
 public:
  // `grid`: none: that of BlockCyclic. Throws UsageError if it has another number of places than the machine has
  // accelerators.
  TileAdvice(const MachineDescription& machine, Distribution distribution,
             const std::optional<DeviceGrid>& grid);
  // None: there are no accelerators.
  std::optional<NodeId> node(std::uint64_t row, std::uint64_t column) const;

 private:
  const Distribution distribution_;
  std::vector<NodeId> accelerators_;  // in the order of their workers
  std::uint32_t columns_ = 0;         // 0: by the rule
};

// The policy, with its settings, that follows advice before all else. Others place tiles without it, unless it is asked
// for, so that a comparison is possible.
bool follows_advice(std::string_view policy);

}  // namespace vicinal::play
