#include "play/tile_advice.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::play {

TileAdvice::TileAdvice(const MachineDescription& machine, Distribution distribution,
                       const std::optional<DeviceGrid>& grid)
    : distribution_(std::move(distribution)) {
  for (const WorkerDescription& worker : machine.workers) {
    const bool is_known = std::ranges::find(accelerators_, worker.node) != accelerators_.end();
    if (worker.node != kRam && !is_known) accelerators_.push_back(worker.node);
  }
  if (!grid) return;
  columns_ = grid->columns;
  if (std::uint64_t{grid->rows} * grid->columns == accelerators_.size()) return;
  const BlockCyclic fits{
      .devices = static_cast<std::uint32_t>(std::max<std::size_t>(accelerators_.size(), 1))};
  throw UsageError(
      accelerators_.empty()
          ? fmt::format(
                "distribution: a grid of {}x{} accelerators, and a rank has none; leave it away",
                grid->rows, grid->columns)
          : fmt::format("distribution: a grid of {}x{} accelerators, and a rank has {}; use {}x{}, "
                        "or leave it "
                        "away",
                        grid->rows, grid->columns, accelerators_.size(), fits.device_rows(),
                        fits.device_columns()));
}

std::optional<NodeId> TileAdvice::node(std::uint64_t row, std::uint64_t column) const {
  if (accelerators_.empty()) return std::nullopt;
  const auto devices = static_cast<std::uint32_t>(accelerators_.size());
  return accelerators_[distribution_.device(row, column, devices, columns_)];
}

// Settings may follow the name.
bool follows_advice(std::string_view policy) {
  return policy.substr(0, policy.find(':')) == "directed";
}

}  // namespace vicinal::play
