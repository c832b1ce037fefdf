// Decisions as values: the question, the candidates, their scores, the winner, and the rule. A decision is built only if
// somebody listens:
//
//   if (listener != nullptr) {
//     trace::Decision decision(trace::Reason::first_pushed, trace::Among::tasks, now);
//     decision.worker = worker;
//     for (...) decision.consider({id.value, {{trace::Measure::place, place}}}, task == chosen);
//     listener->hear(std::move(decision));
//   }
//
// A rule is applied to the scores alone, in the order in which the candidates are listed: it gives the winner again.
// docs/decisions.md shows the tables of decision.cpp.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/sure_memory.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::trace {

enum class DecisionKind : std::uint8_t {
  placement,
  order,
  start,
  theft,
  move,
  plan,
  victim,
  prefetch,
  write_behind,
};

// The rule by which the winner was chosen, or by which there is none. It belongs to one kind.
enum class Reason : std::uint8_t {
  // placement
  least_cost,
  earliest_end,
  fewest_tasks,
  drawn,
  released_here,
  next_in_turn,
  set_free,
  free_nowhere,
  faster_elsewhere,
  // placement by where data belong
  named_by_task,
  named_cannot_run,
  belongs_there,
  least_weighed_end,
  in_package,
  // order
  first_pushed,
  highest_priority,
  just_released,
  last_of_highest,
  lacks_least,
  lacks_least_of_highest,
  plan_order,
  first_planned,
  lacks_least_of_next,
  // start
  first_ready,
  // theft
  nearest_with_tasks,
  longest_queue_left,
  latest_to_end,
  longest_plan,
  longest_left,
  // work stealing and flat queues
  most_valid_bytes,
  holds_written,
  last_pushed,
  oldest_of_victim,
  highest_of_victim,
  drawn_victim,
  // move
  fewest_copies,
  policy_keeps,
  // plan
  sets_most_free,
  misses_nothing,
  nearly_free,
  misses_fewest,
  // victim
  no_planned_use,
  fewest_planned_uses,
  latest_first_use,
  chosen_before,
  no_next_use,
  latest_next_use,
  used_sooner,
  unused_and_saved,
  unused,
  least_recently_used,
  awaited_last,
  none_unclaimed,
  other_rules,
  // prefetch
  best_source,
  room_is_awaited,
  link_is_busy,
  no_room,
  // write-behind
  first_unsaved,
  // start
  memory_saturated,
};

enum class Unit : std::uint8_t { number, nanoseconds, bytes };

// What a score measures.
enum class Measure : std::uint8_t {
  place,
  priority,
  tasks,
  time_left,
  distance,
  run,
  transfer,
  free_at,
  end,
  wait,
  draw,
  ready,
  missing_bytes,
  unrequested_bytes,
  unplaced_bytes,
  missing_operands,
  valid_bytes,
  in_order,
  free_tasks,
  free_run,
  near_tasks,
  left_run,
  planned_uses,
  pulled_uses,
  claims,
  next_use,
  queued,
  last_use,
  saved,
  awaiting,
  copies,
  operand,
  weighed_end,
  can_run,
  memory_bound,
  transfers,
  demanded,
  saturating,
};

struct Score {
  Measure measure{};
  std::int64_t value = 0;  // in the unit of the measure

  Score() = default;
  template <std::integral Value>
  constexpr Score(Measure of, Value v) : measure(of), value(static_cast<std::int64_t>(v)) {}
  friend bool operator==(const Score&, const Score&) = default;
};

// What the candidates are.
enum class Among : std::uint8_t { tasks, handles, nodes, workers };

struct Candidate {
  std::uint64_t id = 0;  // the value of a TaskId, a HandleId, a NodeId or a WorkerId
  base::SureVector<Score> scores;
  friend bool operator==(const Candidate&, const Candidate&) = default;

  std::optional<std::int64_t> score(Measure measure) const {
    for (const Score& score : scores) {
      if (score.measure == measure) return score.value;
    }
    return std::nullopt;
  }
};

struct Decision {
  // Of more candidates the first are listed, and the winner.
  static constexpr std::size_t kMostListed = 16;

  Decision(Reason why, Among what, Time when) : reason(why), among(what), time(when) {}

  Reason reason;
  Among among;
  Time time;
  // What was asked, or was found out on the way: the task that is placed, the worker that asks, the room that is
  // needed. Empty where the question has none.
  std::optional<TaskId> task;
  std::optional<HandleId> handle;
  std::optional<NodeId> node;
  std::optional<WorkerId> worker;
  std::optional<Bytes> bytes;
  base::SureVector<Score> scores;  // of the question, the same for all candidates
  base::SureVector<Candidate> candidates;
  std::optional<std::size_t> winner;  // an index of `candidates`; none: it was refused, or put off

  bool full() const { return candidates.size() >= kMostListed; }
  void consider(Candidate candidate, bool wins = false) {
    if (full() && !wins) return;
    if (wins) winner = candidates.size();
    candidates.push_back(std::move(candidate));
  }
  // Of those that are listed.
  void choose(std::uint64_t id) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].id == id) winner = i;
    }
  }
  // The same but for the time.
  bool says_as(const Decision& other) const {
    return reason == other.reason && among == other.among && task == other.task &&
           handle == other.handle && node == other.node && worker == other.worker &&
           bytes == other.bytes && winner == other.winner && scores == other.scores &&
           candidates == other.candidates;
  }
};

class DecisionListener {
 public:
  virtual ~DecisionListener() = default;
  // Now. Decisions are not built for one that does not.
  bool listens() const { return listens_.load(std::memory_order_relaxed); }
  const std::atomic<bool>& whether_it_listens() const { return listens_; }
  // How often it has begun to listen: what is told when it changes is told anew then.
  std::uint32_t beginnings() const { return beginnings_.load(std::memory_order_relaxed); }
  // By any thread, several at once, under locks of the runtime: it may not call the runtime, nor wait for a
  // thread that does.
  virtual void hear(Decision decision) noexcept = 0;

 protected:
  std::atomic<bool> listens_{true};
  std::atomic<std::uint32_t> beginnings_{0};
};
// Where there is no listener.
inline constinit const std::atomic<bool> kNobodyListens{false};

// --- names and sentences. Each table is in the order of its enumeration.

struct KindEntry {
  DecisionKind kind;
  std::string_view name;
  std::string_view sentence;  // what is chosen
};
struct ReasonEntry {
  Reason reason;
  DecisionKind kind;
  std::string_view name;
  std::string_view sentence;  // the rule
};
struct MeasureEntry {
  Measure measure;
  Unit unit;
  std::string_view name;
  std::string_view sentence;
};

std::span<const KindEntry> kinds();
std::span<const ReasonEntry> reasons();
std::span<const MeasureEntry> measures();

inline const KindEntry& entry(DecisionKind kind) {
  return kinds()[static_cast<std::size_t>(kind)];
}
inline const ReasonEntry& entry(Reason reason) {
  return reasons()[static_cast<std::size_t>(reason)];
}
inline const MeasureEntry& entry(Measure measure) {
  return measures()[static_cast<std::size_t>(measure)];
}

}  // namespace vicinal::trace
