#include "reports/rank_lines.hpp"

#include <cmath>

#include <fmt/format.h>

#include "reports/explain_context.hpp"

namespace vicinal::reports {

using analysis::kUnknown;
using analysis::MessageOfRun;
using analysis::RecordedRun;

namespace {

std::string clock_text(const trace::RankOfSource& rank) {
  if (rank.comparisons == 0) {
    return "its clock was never compared: its recording is taken to begin when that of rank 0 did";
  }
  constexpr double kPerMillion = 1e-3;  // ns per second
  const std::string drift = rank.comparisons < 2
                                ? "has a drift that is not known"
                                : fmt::format("drifts by {:+.3f} ppm", rank.drift * kPerMillion);
  return fmt::format("its clock is {} {} that of rank 0, {}, and is wrong by {} at most",
                     explaining::duration(std::abs(rank.offset_ns)),
                     rank.offset_ns < 0 ? "before" : "behind", drift,
                     explaining::duration(static_cast<std::int64_t>(rank.error_ns)));
}

}  // namespace

std::vector<MessagesOfRank> messages_by_rank(const RecordedRun& run) {
  std::vector<MessagesOfRank> all(run.ranks.size());
  for (const MessageOfRun& message : run.messages) {
    if (message.departs != kUnknown && message.from < all.size()) {
      all[message.from].sent.add(message);
    }
    if (message.arrived != kUnknown && message.to < all.size()) {
      all[message.to].received.add(message);
    }
  }
  return all;
}

std::string volume_text(const MessageVolume& volume) {
  return fmt::format("{}, {}", explaining::counted(volume.messages, "message", "messages"),
                     explaining::size(volume.bytes));
}

std::vector<std::pair<std::string, std::string>> rank_lines(const RecordedRun& run) {
  constexpr std::size_t kMost = 16;
  std::vector<std::pair<std::string, std::string>> lines;
  const std::vector<MessagesOfRank> messages = messages_by_rank(run);
  const std::size_t count = run.ranks.size();
  const auto text = [](const MessagesOfRank& of) {
    return fmt::format("sent {}; received {}", volume_text(of.sent), volume_text(of.received));
  };
  MessagesOfRank between;
  for (std::size_t rank = 0; rank < count; ++rank) {
    const MessagesOfRank& own = messages[rank];
    if (count > kMost && rank >= kMost - 1 && rank + 1 < count) {
      between.sent += own.sent;
      between.received += own.received;
      if (rank + 2 < count) continue;
      lines.emplace_back(fmt::format("ranks {} to {}", kMost - 1, count - 2), text(between));
      continue;
    }
    const std::string clock = run.ranks[rank].has_common_clock ? ""
                              : rank == 0                      ? "its clock is that of the run; "
                                                               : clock_text(run.ranks[rank]) + "; ";
    lines.emplace_back(fmt::format("rank {}", rank), clock + text(own));
  }
  return lines;
}

}  // namespace vicinal::reports
