#include "analysis/events/messages.hpp"

#include <fmt/format.h>

#include "analysis/events/contradiction.hpp"

namespace vicinal::analysis {

using trace::Event;

// A file alone says it once, before all messages; where that was lost it is not known.
std::uint32_t MessagesOfRun::own_rank(const trace::RecordedEvent& event) const {
  if (!run_.ranks.empty()) return event.rank;
  return run_.alone ? static_cast<std::uint32_t>(run_.alone->rank) : kNobody;
}

bool MessagesOfRun::take(const trace::RecordedEvent& event) {
  enum Field : std::size_t { rank, handle, direction, datum, number, bytes };
  const bool begins = event.event == Event::message_began;
  if (!begins && event.event != Event::message_ended) return false;
  const std::uint32_t other = event.first;
  if (!run_.ranks.empty() && other >= run_.ranks.size()) {
    refuse_events(path_, fmt::format("there is no rank {}", other));
  }
  const bool is_sent = event.field(direction) == 0;
  const std::uint32_t own = own_rank(event);
  const Name name{is_sent ? own : other, is_sent ? other : own, event.field(datum),
                  event.field(number)};
  const auto [found, is_new] =
      places_.try_emplace(name, static_cast<std::uint32_t>(run_.messages.size()));
  if (is_new) run_.messages.push_back({.from = name.from, .to = name.to});
  MessageOfRun& message = run_.messages[found->second];
  if (begins) message.bytes = event.field(bytes);
  (is_sent ? message.sent : message.received) = data_.place(event.field(handle));
  const auto time = is_sent ? (begins ? &MessageOfRun::departs : &MessageOfRun::left)
                            : (begins ? &MessageOfRun::expected : &MessageOfRun::arrived);
  if (message.*time == kUnknown) message.*time = event.time;
  return true;
}

}  // namespace vicinal::analysis
