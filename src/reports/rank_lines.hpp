// The ranks of a run that is read from the recordings of all: what each has sent and received, and its clock.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
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
  MessageVolume& operator+=(const MessageVolume& other) {
    messages += other.messages;
    bytes += other.bytes;
    return *this;
  }
};

struct MessagesOfRank {
  MessageVolume sent;
  MessageVolume received;
};

// By rank, each message as often as a rank says of it: one that was cut off may have one end alone.
std::vector<MessagesOfRank> messages_by_rank(const analysis::RecordedRun& run);

std::string volume_text(const MessageVolume& volume);  // "3 messages, 12 KiB"
// "rank 1": "its clock is 2 ms behind that of rank 0, ...; sent 3 messages, 12 KiB; received ...". Of many ranks those in the
// middle share a line: "ranks 15 to 98", with their sums.
std::vector<std::pair<std::string, std::string>> rank_lines(const analysis::RecordedRun& run);

}  // namespace vicinal::reports
