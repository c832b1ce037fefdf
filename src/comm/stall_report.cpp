#include "comm/stall_report.hpp"

#include <algorithm>

namespace vicinal::comm {

void StallReport::add(RankId rank, std::string_view piece, bool is_last) {
  Answer& answer = answers_[rank.value];
  if (answer.is_whole) return;
  answer.text += piece;
  answer.is_whole = is_last;
}

bool StallReport::is_whole() const {
  return std::ranges::all_of(answers_, &Answer::is_whole);
}

std::string StallReport::text() const {
  std::string text = "no task has ended for a while on rank " + std::to_string(by_.value) + "\n";
  for (std::size_t rank = 0; rank < answers_.size(); ++rank) {
    const Answer& answer = answers_[rank];
    text += "rank " + std::to_string(rank) + ":\n" + answer.text;
    if (!text.ends_with('\n')) text += "\n";
    if (!answer.is_whole) text += "(no more was heard of it)\n";
  }
  return text;
}

}  // namespace vicinal::comm
