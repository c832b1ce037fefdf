// What waits for what on all ranks, as one text: the answers of ranks come in pieces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vicinal/ids.hpp"

namespace vicinal::comm {

class StallReport {
 public:
  // `by`: the rank where no task has ended for a while.
  StallReport(std::uint32_t ranks, RankId by) : answers_(ranks), by_(by) {}

  void add(RankId rank, std::string_view piece, bool is_last);
  bool is_whole() const;
  std::string text() const;

 private:
  struct Answer {
    std::string text;
    bool is_whole = false;
  };
  std::vector<Answer> answers_;  // by rank
  RankId by_;
};

}  // namespace vicinal::comm
