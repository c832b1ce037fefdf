// How broadcasts are found: which sends of one version of a datum leave together. Asked by the rank that sends, about its own
// sends, in the order of the sequence. No thread, no clock, no messages.
//
// Two ways, and what each calls a group:
//
//   sequence  All ranks unroll the sequence, so whoever sends a version knows each reader that was submitted so far. All that wait
//             leave together when the rank comes to send one of them. What is submitted later is the next group.
//   bags      After Swartvagher (paper 004, sections 4.2.1 and 4.3.1): sends of a datum that are submitted while its content is not
//             ready are one bag. It closes when the content is ready, when a write of the datum is submitted, or when as many
//             have joined as were announced. What is submitted later goes from one rank to the other.
//
// In neither does a send that could leave wait for one that was not submitted.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "comm/deliveries.hpp"
#include "comm/ownership.hpp"

namespace vicinal::comm {

enum class Finding : std::uint8_t { sequence, bags };

// Of the option broadcast_finding. Throws UsageError: it is none of the choices.
Finding finding_of_option(std::string_view text);

struct FindingCounts {
  std::uint64_t late = 0;     // sends submitted when others of their version had left
  std::uint64_t several = 0;  // versions to several ranks
  std::uint64_t in_time = 0;  // of these: all sends were submitted before the content was ready
  std::uint64_t missed = 0;   // several were submitted before, and did not leave together
};

// Sends of one version. Changed by BroadcastFinding alone.
class SendGroup {
  friend class BroadcastFinding;
  std::vector<ReadyTransfer> members_;
  std::uint32_t readers_ = 0;  // ranks for which the version was submitted so far
  std::uint32_t most_ = 0;     // members; 0: any number
  bool is_behind_ = false;     // others of its version have left
  bool is_ready_ = false;      // the content
  bool has_left_ = false;
};

class BroadcastFinding {
 public:
  using Group = std::shared_ptr<SendGroup>;
  explicit BroadcastFinding(Finding way = Finding::sequence) : way_(way) {}

  // So many ranks read the content of the datum that is sent next. More than these are found, too, but in no bag.
  void announce(DatumId datum, std::uint32_t readers) { announced_[datum.value] = readers; }
  // A send is submitted, with this rank as the sender.
  Group join(const ReadyTransfer& send);
  // A member has access to the content.
  void ready(SendGroup& group);
  // It is sent: with which others. None: it has left with another one.
  std::vector<ReadyTransfer> leave(SendGroup& group);
  FindingCounts counts() const {
    FindingCounts counts = counts_;
    counts.in_time = counts_.several - late_versions_;
    return counts;
  }

 private:
  Group open(DatumId datum);
  void close(DatumId datum, const SendGroup& group);
  void count(const Transfer& send, bool is_late);

  Finding way_;
  std::unordered_map<std::uint32_t, Group> open_;  // by datum: of versions that others may join
  std::unordered_map<std::uint32_t, std::uint32_t> announced_;  // by datum: readers
  FindingCounts counts_;
  std::uint64_t late_versions_ = 0;         // of `several`: not in time
  std::unordered_set<std::uint32_t> late_;  // data whose present version is one of them
};

}  // namespace vicinal::comm
