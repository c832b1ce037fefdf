// The ranks of a run: their clocks, and the messages between them.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/explain_context.hpp"

namespace vicinal::reports::explaining {

using analysis::MessageOfRun;
using analysis::RecordedRun;

namespace {

struct Volume {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  void add(const MessageOfRun& message) {
    ++messages;
    bytes += message.bytes;
  }
};

struct MessagesOfRank {
  Volume sent;
  Volume received;
};

// By rank, each message as often as a rank says of it: one that was cut off may have one end alone.
std::vector<MessagesOfRank> messages_by_rank(const RecordedRun& run) {
  std::vector<MessagesOfRank> all(run.ranks.size());
  for (const MessageOfRun& message : run.messages) {
    if (message.departs != kUnknown && message.from < all.size())
      all[message.from].sent.add(message);
    if (message.arrived != kUnknown && message.to < all.size())
      all[message.to].received.add(message);
  }
  return all;
}

std::string volume_text(const Volume& volume) {
  return fmt::format("{}, {}", counted(volume.messages, "message", "messages"), size(volume.bytes));
}

std::string clock_text(const trace::RankOfSource& rank) {
  if (rank.comparisons == 0) {
    return "its clock was never compared: its recording is taken to begin when that of rank 0 did";
  }
  constexpr double kPerMillion = 1e-3;  // ns per second
  return fmt::format(
      "its clock is {} {} that of rank 0, drifts by {:+.3f} ppm, and is wrong by {} at most",
      duration(std::abs(rank.offset_ns)), rank.offset_ns < 0 ? "before" : "behind",
      rank.drift * kPerMillion, duration(static_cast<std::int64_t>(rank.error_ns)));
}

}  // namespace

std::string ranks_text(const RecordedRun& run) {
  if (run.alone) {
    return fmt::format(
        "\nThe recording is that of rank {} of {} alone; those of all ranks are read as one run.\n",
        run.alone->rank, run.alone->ranks);
  }
  if (run.ranks.empty()) return "";
  std::string text = "\nRanks:\n";
  const std::vector<MessagesOfRank> messages = messages_by_rank(run);
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
    text += fmt::format("  rank {}: {}; sent {}; received {}\n", rank,
                        rank == 0 ? "its clock is that of the run" : clock_text(run.ranks[rank]),
                        volume_text(messages[rank].sent), volume_text(messages[rank].received));
  }
  Volume all;
  for (const MessageOfRun& message : run.messages) all.add(message);
  return text + fmt::format("Between them went {}.\n", volume_text(all));
}

Json ranks_json(const RecordedRun& run) {
  Json json = Json::array();
  const std::vector<MessagesOfRank> messages = messages_by_rank(run);
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
    const trace::RankOfSource& of = run.ranks[rank];
    json.push_back({{"rank", rank},
                    {"first_node", of.first_node},
                    {"nodes", of.nodes},
                    {"first_worker", of.first_worker},
                    {"workers", of.workers},
                    {"clock_comparisons", of.comparisons},
                    {"clock_offset_ns", of.offset_ns},
                    {"clock_drift_ns_per_second", of.drift},
                    {"clock_error_ns", of.error_ns},
                    {"messages_sent", messages[rank].sent.messages},
                    {"bytes_sent", messages[rank].sent.bytes},
                    {"messages_received", messages[rank].received.messages},
                    {"bytes_received", messages[rank].received.bytes}});
  }
  return json;
}

Json messages_json(const RecordedRun& run) {
  Json json = Json::array();
  for (const MessageOfRun& message : run.messages) {
    json.push_back({{"from", message.from},
                    {"to", message.to},
                    {"sent", datum_json(run, message.sent)},
                    {"received", datum_json(run, message.received)},
                    {"bytes", message.bytes},
                    {"departs_ns", time_json(message.departs)},
                    {"left_ns", time_json(message.left)},
                    {"expected_ns", time_json(message.expected)},
                    {"arrived_ns", time_json(message.arrived)}});
  }
  return json;
}

}  // namespace vicinal::reports::explaining
