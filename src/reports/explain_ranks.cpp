// The ranks of a run: their clocks, and the messages between them.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/explain_context.hpp"
#include "reports/rank_lines.hpp"

namespace vicinal::reports::explaining {

using analysis::MessageOfRun;
using analysis::RecordedRun;

std::string ranks_text(const RecordedRun& run) {
  if (run.alone) {
    return fmt::format(
        "\nThe recording is that of rank {} of {} alone; those of all ranks are read as one run.\n",
        run.alone->rank, run.alone->ranks);
  }
  if (run.ranks.empty()) return "";
  std::string text = "\nRanks:\n";
  for (const auto& [name, line] : rank_lines(run)) text += fmt::format("  {}: {}\n", name, line);
  MessageVolume all;
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
