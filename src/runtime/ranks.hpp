// Behind vicinal::Ranks.
#pragma once

#include <memory>
#include <utility>

#include "comm/progress.hpp"
#include "vicinal/ranks.hpp"

namespace vicinal::internals {

class RanksImpl final : public comm::Progress {
 public:
  using Progress::Progress;
};

// Ranks of other sorts than those that a launcher has started.
struct RanksOpener {
  static Ranks make(std::shared_ptr<RanksImpl> impl) { return Ranks(std::move(impl)); }
};

}  // namespace vicinal::internals
