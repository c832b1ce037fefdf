#include "analysis/events/copies.hpp"

namespace vicinal::analysis {

namespace {

using trace::Event;
using trace::RecordedEvent;

std::uint64_t key_of(const CopyOfRun& copy) {
  return std::uint64_t{copy.to} << 32 | copy.datum;
}

}  // namespace

bool CopiesOfRun::take(const RecordedEvent& event) {
  switch (event.event) {
    case Event::copy_wanted:
      take_wanted(event);
      return true;
    case Event::copy_started:
      take_started(event);
      return true;
    case Event::copy_ended:
      take_ended(event);
      return true;
    default:
      return false;
  }
}

// A copy of the same datum to there that was wanted before, and has not begun, is not wanted any more.
void CopiesOfRun::take_wanted(const RecordedEvent& event) {
  enum Field : std::size_t { to, handle, cause };
  CopyOfRun& copy = wanted_.emplace_back();
  copy.to = machine_.node(event.field(to));
  copy.datum = data_.place(event.field(handle));
  copy.cause = static_cast<Cause>(event.field(cause));
  copy.wanted = event.time;
  wanted_for_[key_of(copy)] = static_cast<std::uint32_t>(wanted_.size() - 1);
}

void CopiesOfRun::take_started(const RecordedEvent& event) {
  enum Field : std::size_t { to, handle, from, number, bytes, cause, urgent };
  CopyOfRun copy;
  copy.to = machine_.node(event.field(to));
  copy.from = machine_.node(event.field(from));
  copy.datum = data_.place(event.field(handle));
  copy.bytes = event.field(bytes);
  copy.cause = static_cast<Cause>(event.field(cause));
  copy.urgent = event.field(urgent) != 0;
  copy.started = event.time;
  if (const std::uint32_t wanted = wanted_for_.find(key_of(copy)); wanted != base::IdMap::kNone) {
    copy.wanted = wanted_[wanted].wanted;
    wanted_[wanted].started = event.time;
    wanted_for_[key_of(copy)] = base::IdMap::kNone;
  }
  open_[event.field(number)] = static_cast<std::uint32_t>(copies_.size());
  copies_.push_back(copy);
}

// Its start may lie before the recording, or be lost: then nothing is known of it.
void CopiesOfRun::take_ended(const RecordedEvent& event) {
  enum Field : std::size_t { to, number, failed };
  const std::uint64_t which = event.field(number);
  const std::uint32_t place = open_.find(which);
  if (place == base::IdMap::kNone) return;
  copies_[place].ended = event.time;
  copies_[place].failed = event.field(failed) != 0;
  open_[which] = base::IdMap::kNone;
}

void CopiesOfRun::finish() {
  for (const CopyOfRun& copy : wanted_) {
    if (copy.started == kUnknown) copies_.push_back(copy);
  }
}

}  // namespace vicinal::analysis
