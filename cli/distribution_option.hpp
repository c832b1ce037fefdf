// --distribution: which of several ranks has which tiles.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

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
  // As it was given; empty: it was not.
  std::string given() const { return option_->count() > 0 ? text_ : std::string(); }

 private:
  CLI::Option* option_ = nullptr;
  std::string text_ = "auto";
};

}  // namespace vicinal::cli
