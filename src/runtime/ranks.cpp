#include "runtime/ranks.hpp"

namespace vicinal {

RankId Ranks::rank() const {
  return progress_ ? progress_->rank() : RankId{0};
}

std::uint32_t Ranks::count() const {
  return progress_ ? progress_->ranks() : 1;
}

Ranks Ranks::launched() {
  return {};
}

}  // namespace vicinal
