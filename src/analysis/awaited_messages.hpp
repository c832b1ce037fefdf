// Which message from another rank a task had to wait for, and which task there had made the content.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/recorded_run.hpp"

namespace vicinal::analysis {

class AwaitedMessages {
 public:
  explicit AwaitedMessages(const RecordedRun& run);

  // The one that arrived last in (from, until], of what the task reads; kNobody: none did. An index of
  // RecordedRun::messages.
  std::uint32_t last_for(std::uint32_t task, std::int64_t from, std::int64_t until) const;
  // The task that wrote the content, on the sending rank or, if that passed on what it had received, on the one that it came
  // from; kNobody: not known.
  std::uint32_t maker_of(std::uint32_t message) const;

 private:
  using Numbers = std::vector<std::uint32_t>;
  std::uint32_t local_maker_of(const MessageOfRun& message) const;
  // The last message by which the sending rank has received the datum; kNobody: none.
  std::uint32_t before(const MessageOfRun& message) const;
  const RecordedRun& run_;
  std::unordered_map<std::uint32_t, Numbers> arrived_;  // by datum: messages, by their arrival
  std::unordered_map<std::uint32_t, Numbers> writers_;  // by datum that was sent: tasks, by end
};

}  // namespace vicinal::analysis
