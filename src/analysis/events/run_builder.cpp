#include "analysis/events/run_builder.hpp"

#include <algorithm>
#include <utility>

#include "analysis/events/contradiction.hpp"
#include "analysis/events/facts.hpp"
#include "base/legible.hpp"
#include "trace/decision_words.hpp"

namespace vicinal::analysis {

using trace::Event;
using trace::RecordedEvent;

RunBuilder::RunBuilder(RecordedRun& run, const trace::EventSource& source, bool with_decisions)
    : run_(run),
      source_(source),
      with_decisions_(with_decisions),
      machine_((run.facts = read_facts(source.run(), source.path())).machine, source.path()),
      names_(run.names),
      data_(run.data, machine_, source.path()),
      tasks_(run, {names_, data_, machine_}, source.path()),
      copies_(run.copies, data_, machine_),
      messages_(run, data_, source.path()) {}

void RunBuilder::build() {
  run_.recorded = source_.recorded();
  run_.complete = source_.is_complete();
  run_.events_lost = source_.events_lost();
  run_.facts.simulated = run_.facts.simulated || source_.is_simulated();
  for (const trace::RankOfSource& rank : source_.ranks()) run_.ranks.push_back(rank);
  source_.each([this](const RecordedEvent& event) { take(event); });
  finish();
}

void RunBuilder::take(const RecordedEvent& event) {
  run_.end = event.time;
  if (tasks_.take(event) || copies_.take(event) || take_room(event)) return;
  if (!messages_.take(event)) take_other(event);
}

bool RunBuilder::take_room(const RecordedEvent& event) {
  enum Field : std::size_t { node, handle, used, saved_first = used };
  RoomChange change;
  switch (event.event) {
    case Event::room_taken:
      change.kind = RoomChange::Kind::taken;
      change.used = event.field(used);
      break;
    case Event::room_freed:
      change.kind = RoomChange::Kind::freed;
      change.used = event.field(used);
      break;
    case Event::evicted:
      change.kind = RoomChange::Kind::evicted;
      change.saved_first = event.field(saved_first) != 0;
      break;
    case Event::kept:
      change.kind = RoomChange::Kind::kept;
      break;
    case Event::became_void:
      change.kind = RoomChange::Kind::became_void;
      break;
    default:
      return false;
  }
  change.time = event.time;
  change.node = machine_.node(event.field(node));
  change.datum = data_.place(event.field(handle));
  run_.room.push_back(change);
  return true;
}

void RunBuilder::take_other(const RecordedEvent& event) {
  switch (event.event) {
    case Event::name_given:
      return names_.give(event.first, event.text());
    case Event::fact:
      return tell(run_.facts, event.text());
    case Event::handle_registered:
      return data_.take_registered(event);
    case Event::worker_slept:
      return take_slept(machine_.worker_or_none(event.first), event.time);
    case Event::worker_woke:
      return take_woke(machine_.worker_or_none(event.first), event.time);
    case Event::decision:
      return take_decision(event);
    case Event::mark:
    case Event::region_began:
      return take_mark(event);
    case Event::region_ended:
      return take_region_end(event);
    case Event::rank_known:
      return take_rank(event);
    default:  // what is told of the thread that recorded it
      return;
  }
}

void RunBuilder::take_slept(std::uint32_t worker, std::int64_t time) {
  if (worker == kNobody) return;
  std::uint32_t& last = last_sleep_[worker];
  if (last != base::IdMap::kNone && run_.sleeps[last].to == kUnknown) return;  // it sleeps already
  last = static_cast<std::uint32_t>(run_.sleeps.size());
  run_.sleeps.push_back({.worker = worker, .from = time});
}

// Who wakes and was not seen to fall asleep slept from the beginning on.
void RunBuilder::take_woke(std::uint32_t worker, std::int64_t time) {
  if (worker == kNobody) return;
  std::uint32_t& last = last_sleep_[worker];
  if (last == base::IdMap::kNone) {
    last = static_cast<std::uint32_t>(run_.sleeps.size());
    run_.sleeps.push_back({.worker = worker, .from = 0});
  }
  SleepOfWorker& sleep = run_.sleeps[last];
  if (sleep.to == kUnknown) sleep.to = time;
}

void RunBuilder::take_mark(const RecordedEvent& event) {
  MarkOfRun mark;
  mark.text = base::legible_name(event.text());
  mark.lane = event.lane;
  mark.from = event.time;
  mark.is_region = event.event == Event::region_began;
  if (mark.is_region) {
    regions_[event.field(1)] = static_cast<std::uint32_t>(run_.marks.size());
  }
  run_.marks.push_back(std::move(mark));
}

void RunBuilder::take_region_end(const RecordedEvent& event) {
  const std::uint32_t place = regions_.find(event.field(1));
  if (place == base::IdMap::kNone) return;
  run_.marks[place].to = event.time;
  regions_[event.field(1)] = base::IdMap::kNone;
}

// Of a file alone. Several that are read as one are known by their source.
void RunBuilder::take_rank(const RecordedEvent& event) {
  if (run_.ranks.empty() && !run_.alone) run_.alone = RankAlone{event.first, event.field(1)};
}

void RunBuilder::take_decision(const RecordedEvent& event) {
  // Who waited for memory is told in the summary, too.
  constexpr auto kOfSummary = static_cast<std::uint64_t>(trace::Reason::memory_saturated);
  if (!with_decisions_ && event.first != kOfSummary) return;
  auto decision = trace::read_decision(event.first, event.time, event.rest);
  if (!decision) {
    refuse_events(source_.path(),
                  "a decision is about something impossible, or its winner is not "
                  "among its candidates");
  }
  if (decision->node) machine_.node(decision->node->value);
  if (decision->worker) machine_.worker_or_none(decision->worker->value);
  run_.decisions.push_back({event.time, std::move(*decision)});
}

void RunBuilder::finish() {
  tasks_.finish();
  copies_.finish();
  data_.finish();
  std::ranges::stable_sort(run_.sleeps, {}, &SleepOfWorker::from);
  run_.tasks_by_id_ = tasks_.take_index();
  run_.data_by_id_ = data_.take_index();
}

}  // namespace vicinal::analysis
