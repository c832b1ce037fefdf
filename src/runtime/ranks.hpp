// Behind vicinal::Ranks.
#pragma once

#include <memory>
#include <utility>

#include "comm/progress.hpp"
#include "vicinal/ranks.hpp"

namespace vicinal::internals {

// A member, not a base: its thread runs before this is complete.
struct RanksImpl {
  template <typename... Arguments>
  explicit RanksImpl(Arguments&&... arguments) : progress(std::forward<Arguments>(arguments)...) {}
  comm::Progress progress;
};

// Ranks of other sorts than those that a launcher has started.
struct RanksOpener {
  static Ranks make(std::shared_ptr<RanksImpl> impl) { return Ranks(std::move(impl)); }
};

}  // namespace vicinal::internals
