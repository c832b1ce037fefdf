// --distribution: which of several ranks has which tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "play/tile_advice.hpp"
#include "vicinal/distribution.hpp"

namespace vicinal::cli {

class DistributionOption {
 public:
  // Adds the option; this object must outlive the parse.
  explicit DistributionOption(CLI::App& command);
  DistributionOption(const DistributionOption&) = delete;
  DistributionOption& operator=(const DistributionOption&) = delete;

  // Of the tiles of a result. Throws UsageError that begins with the option's name.
  Distribution parse(std::uint32_t ranks, Triangle triangle) const;
  // Of the accelerators of a rank, behind the comma; none: it was not given. Throws likewise.
  std::optional<play::DeviceGrid> devices() const;
  // As it was given; empty: it was not.
  std::string given() const { return option_->count() > 0 ? text_ : std::string(); }

 private:
  std::string_view of_ranks() const { return std::string_view(text_).substr(0, text_.find(',')); }

  CLI::Option* option_ = nullptr;
  std::string text_ = "auto";
};

}  // namespace vicinal::cli
