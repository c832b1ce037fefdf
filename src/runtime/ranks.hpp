// Behind vicinal::Ranks.
#pragma once

#include <memory>
#include <utility>

#include "comm/progress_thread.hpp"
#include "vicinal/ranks.hpp"

namespace vicinal::internals {

struct RanksImpl {
  // Those of a transport that a thread drives.
  template <typename... Arguments>
  explicit RanksImpl(Arguments&&... arguments)
      : progress(std::make_shared<comm::ProgressThread>(std::forward<Arguments>(arguments)...)) {}
  explicit RanksImpl(std::shared_ptr<comm::Progress> its_progress)
      : progress(std::move(its_progress)) {}
  std::shared_ptr<comm::Progress> progress;
};

// Ranks of other sorts than those that a launcher has started.
struct RanksOpener {
  static Ranks make(std::shared_ptr<RanksImpl> impl) { return Ranks(std::move(impl)); }
};

}  // namespace vicinal::internals
