// Ranks of which an MPI call says that nothing goes there: each is told of once.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "comm/transport.hpp"

namespace vicinal::comm {

class Losses {
 public:
  explicit Losses(std::uint32_t ranks) : lost_(ranks) {}

  void add(RankId rank, std::string why) {
    if (lost_[rank.value]) return;
    lost_[rank.value] = true;
    ++count_;
    untold_.emplace_back(rank, std::move(why));
  }
  bool lost(RankId rank) const { return lost_[rank.value]; }
  bool any() const { return count_ > 0; }
  bool tell(TransportEvents& events) {
    if (untold_.empty()) return false;
    for (const auto& [rank, why] : std::exchange(untold_, {})) events.rank_lost(rank, why);
    return true;
  }

 private:
  std::vector<bool> lost_;
  std::size_t count_ = 0;
  std::vector<std::pair<RankId, std::string>> untold_;
};

}  // namespace vicinal::comm
