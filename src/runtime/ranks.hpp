// Ranks of other sorts than those that a launcher has started.
#pragma once

#include <memory>
#include <utility>

#include "comm/progress.hpp"
#include "vicinal/ranks.hpp"

namespace vicinal::internals {

struct RanksOpener {
  static Ranks make(std::shared_ptr<comm::Progress> progress) { return Ranks(std::move(progress)); }
};

}  // namespace vicinal::internals
