// The ranks of a run that is read from the recordings of all: what each has sent and received, and its clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/recorded_run.hpp"

namespace vicinal::reports {

struct MessageVolume {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  void add(const analysis::MessageOfRun& message) {
    ++messages;
    bytes += message.bytes;
  }
};

struct MessagesOfRank {
  MessageVolume sent;
  MessageVolume received;
};

// By rank, each message as often as a rank says of it: one that was cut off may have one end alone.
std::vector<MessagesOfRank> messages_by_rank(const analysis::RecordedRun& run);

std::string volume_text(const MessageVolume& volume);  // "3 messages, 12 KiB"
// By rank: "its clock is 2 ms behind that of rank 0, ...; sent 3 messages, 12 KiB; received ...".
std::vector<std::string> rank_lines(const analysis::RecordedRun& run);

}  // namespace vicinal::reports
