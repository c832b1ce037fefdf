// The rules of docs/decisions.md, applied to what a decision lists: who should have won?
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <climits>

#include "trace/decision.hpp"

namespace vicinal::testing {

using trace::Candidate;
using trace::Decision;
using trace::Measure;

using Winner = std::optional<std::size_t>;

// A rule asks for a score only where the candidate must have it.
inline std::int64_t value(const Candidate& candidate, Measure measure) {
  const auto score = candidate.score(measure);
  if (!score) throw std::logic_error("no score " + std::string(trace::entry(measure).name));
  return *score;
}

inline std::int64_t asked(const Decision& decision, Measure measure) {
  for (const trace::Score& score : decision.scores) {
    if (score.measure == measure) return score.value;
  }
  throw std::logic_error("no question " + std::string(trace::entry(measure).name));
}

// The first of those that may win than which none is better.
inline Winner first_best(const Decision& decision,
                         const std::function<bool(const Candidate&, const Candidate&)>& better,
                         const std::function<bool(const Candidate&)>& may_win = {}) {
  Winner best;
  for (std::size_t i = 0; i < decision.candidates.size(); ++i) {
    const Candidate& candidate = decision.candidates[i];
    if (may_win && !may_win(candidate)) continue;
    if (!best || better(candidate, decision.candidates[*best])) best = i;
  }
  return best;
}

template <typename Key>
Winner least(const Decision& decision, Key key,
             const std::function<bool(const Candidate&)>& may_win = {}) {
  return first_best(
      decision, [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); }, may_win);
}

inline Winner least(const Decision& decision, Measure measure) {
  return least(decision, [=](const Candidate& c) { return value(c, measure); });
}
inline Winner greatest(const Decision& decision, Measure measure) {
  return least(decision, [=](const Candidate& c) { return -value(c, measure); });
}
inline Winner first(const Decision& decision, const std::function<bool(const Candidate&)>& wins) {
  return first_best(
      decision, [](const Candidate&, const Candidate&) { return false; }, wins);
}
inline Winner only(const Decision& decision) {
  if (decision.candidates.size() != 1) throw std::logic_error("more than one, or none");
  return 0;
}
// None, if it is right that there is none.
inline Winner none_as(bool holds) {
  if (!holds) throw std::logic_error("there should have been a winner");
  return {};
}

inline auto lacks(const Candidate& c) {
  return std::tuple(value(c, Measure::missing_bytes), value(c, Measure::unrequested_bytes),
                    value(c, Measure::unplaced_bytes), value(c, Measure::place));
}

inline Winner drawn(const Decision& decision) {
  const auto& all = decision.candidates;
  const bool known =
      std::ranges::all_of(all, [](const Candidate& c) { return value(c, Measure::run) > 0; });
  const auto speed = [&](const Candidate& c) {
    return known ? 1.0 / static_cast<double>(value(c, Measure::run)) : 1.0;
  };
  double sum = 0;
  for (const Candidate& c : all) sum += speed(c);
  double left = std::ldexp(static_cast<double>(asked(decision, Measure::draw)), -53) * sum;
  for (std::size_t i = 0; i < all.size(); ++i) {
    left -= speed(all[i]);
    if (left < 0) return i;
  }
  return all.size() - 1;  // rounding
}

inline bool sets_more_free(const Candidate& a, const Candidate& b) {
  const auto both = [&](Measure measure) {
    return std::pair(value(a, measure), value(b, measure));
  };
  const auto [free_a, free_b] = both(Measure::free_tasks);
  if (free_a > 0 && free_b > 0) {
    // By powers of 4.
    const auto cost_class = [](const Candidate& c) {
      const auto transfer = static_cast<long double>(value(c, Measure::transfer));
      const auto run =
          static_cast<long double>(std::max<std::int64_t>(value(c, Measure::free_run), 1));
      return transfer <= 0 ? INT_MIN : static_cast<int>(std::floor(std::log2(transfer / run) / 2));
    };
    if (cost_class(a) != cost_class(b)) return cost_class(a) < cost_class(b);
  }
  if (free_a != free_b) return free_a > free_b;
  // Where nothing is free nor near there is no priority: the least of all.
  const auto priority = [](const Candidate& c) {
    return c.score(Measure::priority).value_or(INT64_MIN);
  };
  if (priority(a) != priority(b)) return priority(a) > priority(b);
  const auto [near_a, near_b] = both(Measure::near_tasks);
  if (near_a != near_b) return near_a > near_b;
  return value(a, Measure::left_run) > value(b, Measure::left_run);
}

inline bool is_unclaimed(const Candidate& c) {
  return value(c, Measure::claims) == 0 && value(c, Measure::pulled_uses) == 0;
}

// Where darts and belady refuse: all are in use before the prefetch.
inline bool is_used_sooner(const Candidate& c) {
  if (c.score(Measure::claims)) return !is_unclaimed(c);
  return value(c, Measure::next_use) > 0 && value(c, Measure::queued) == 0;
}

// RAM, which is the last, would not be the only one to end the task so early.
inline bool is_faster_elsewhere(const Decision& decision) {
  const Candidate& ram = decision.candidates.back();
  return std::any_of(decision.candidates.begin(), decision.candidates.end() - 1,
                     [&](const Candidate& c) {
                       return value(c, Measure::run) <= value(ram, Measure::run) ||
                              value(c, Measure::end) <= value(ram, Measure::end);
                     });
}

inline Winner plan_order(const Decision& decision) {
  const Winner by_priority =
      first(decision, [](const Candidate& c) { return value(c, Measure::in_order) == 1; });
  const Winner other =
      first(decision, [](const Candidate& c) { return value(c, Measure::in_order) == 0; });
  if (!by_priority || !other) return by_priority ? by_priority : other;
  const Candidate& a = decision.candidates[*other];
  const Candidate& b = decision.candidates[*by_priority];
  const bool goes_first = value(a, Measure::missing_operands) == 0 &&
                          value(a, Measure::priority) >= value(b, Measure::priority);
  return goes_first ? other : by_priority;
}

inline Winner no_rule(const Decision& decision) {
  throw std::logic_error("no rule " + std::string(trace::entry(decision.reason).name));
}

inline Winner placement_by_data(const Decision& decision) {
  using enum trace::Reason;
  const auto is_named = [&](const Candidate& c) { return c.id == decision.node.value().value; };
  switch (decision.reason) {
    case named_by_task:
      return first(decision, is_named);
    case named_cannot_run:
      if (first(decision, is_named)) throw std::logic_error("it can run it");
      return least(decision, Measure::end);
    case belongs_there:
      return least(
          decision, [](const Candidate& c) { return value(c, Measure::operand); },
          [](const Candidate& c) { return c.score(Measure::operand).has_value(); });
    case least_weighed_end:
      return least(decision, Measure::weighed_end);
    default:
      return no_rule(decision);
  }
}

inline Winner placement_by_rule(const Decision& decision) {
  using enum trace::Reason;
  const auto& all = decision.candidates;
  switch (decision.reason) {
    case least_cost:
      return least(decision, [](const Candidate& c) {
        return value(c, Measure::end) + value(c, Measure::transfer);
      });
    case earliest_end:
      return least(decision, Measure::end);
    case fewest_tasks:
      return least(decision, Measure::tasks);
    case drawn:
      return testing::drawn(decision);
    case next_in_turn:
      return first(decision, [](const Candidate& c) { return value(c, Measure::can_run) == 1; });
    case released_here:
    case set_free:
    case in_package:
      return only(decision);
    case free_nowhere:
      return none_as(std::ranges::all_of(
          all, [](const Candidate& c) { return value(c, Measure::missing_operands) > 0; }));
    case faster_elsewhere:
      return none_as(is_faster_elsewhere(decision));
    case most_valid_bytes:
      return greatest(decision, Measure::valid_bytes);
    case holds_written:
      return least(
          decision, [](const Candidate& c) { return value(c, Measure::operand); },
          [](const Candidate& c) { return c.score(Measure::operand).has_value(); });
    default:
      return placement_by_data(decision);
  }
}

inline Winner order_by_rule(const Decision& decision) {
  using enum trace::Reason;
  switch (decision.reason) {
    case just_released:
      return only(decision);
    case first_pushed:
    case first_planned:
    case last_pushed:
    case oldest_of_victim:
      return least(decision, Measure::place);
    case highest_priority:
    case last_of_highest:
    case highest_of_victim:
      return least(decision, [](const Candidate& c) {
        return std::pair(-value(c, Measure::priority), value(c, Measure::place));
      });
    case lacks_least:
      return least(decision, lacks, [&](const Candidate& c) {
        return value(c, Measure::priority) >= asked(decision, Measure::priority);
      });
    case lacks_least_of_next:
      return least(decision, lacks);
    case lacks_least_of_highest:
      return least(decision, [](const Candidate& c) {
        return std::pair(-value(c, Measure::priority), lacks(c));
      });
    case trace::Reason::plan_order:
      return testing::plan_order(decision);
    default:
      return no_rule(decision);
  }
}

// Of a theft, a move, or the start of a task of the look-ahead.
inline Winner theft_by_rule(const Decision& decision) {
  using enum trace::Reason;
  const auto& all = decision.candidates;
  switch (decision.reason) {
    case first_ready:
      return first(decision, [](const Candidate& c) { return value(c, Measure::ready) == 1; });
    case nearest_with_tasks:
      return least(
          decision, [](const Candidate& c) { return value(c, Measure::distance); },
          [](const Candidate& c) { return value(c, Measure::tasks) > 0; });
    case longest_queue_left:
    case longest_plan:
      return greatest(decision, Measure::tasks);
    case longest_left:
      return greatest(decision, Measure::time_left);
    case latest_to_end:
      return greatest(decision, Measure::free_at);
    case fewest_copies:
      return first_best(
          decision,
          [](const Candidate& a, const Candidate& b) {
            return value(a, Measure::transfer) <= value(b, Measure::transfer);
          },
          [](const Candidate& c) {
            return value(c, Measure::run) == 0 ||
                   2 * value(c, Measure::transfer) < value(c, Measure::wait);
          });
    case policy_keeps:
      return none_as(!all.empty());
    case memory_saturated:
      return none_as(asked(decision, Measure::memory_bound) > 0 &&
                     asked(decision, Measure::demanded) >= asked(decision, Measure::saturating));
    case drawn_victim:
      return static_cast<std::size_t>(
          std::ldexp(static_cast<double>(asked(decision, Measure::draw)), -53) *
          static_cast<double>(all.size()));
    default:
      return no_rule(decision);
  }
}

inline Winner plan_by_rule(const Decision& decision) {
  using enum trace::Reason;
  switch (decision.reason) {
    case sets_most_free:
      return first_best(decision, sets_more_free);
    case misses_nothing:
      return first(decision,
                   [](const Candidate& c) { return value(c, Measure::missing_operands) == 0; });
    case nearly_free:
      return greatest(decision, Measure::priority);
    case misses_fewest:
      return least(decision, Measure::missing_operands);
    default:
      return no_rule(decision);
  }
}

// Which of several that are equal cannot be told from outside.
template <typename Key>
Winner one_of_least(const Decision& decision, Key key) {
  const Winner first = least(decision, key);
  const Winner won = decision.winner;
  return won && key(decision.candidates[*won]) == key(decision.candidates[*first]) ? won : first;
}

// Of those of its class, by how long ago they were used.
inline Winner longest_unused(const Decision& decision) {
  return one_of_least(decision, [](const Candidate& c) { return value(c, Measure::last_use); });
}

inline Winner victim_by_rule(const Decision& decision) {
  using enum trace::Reason;
  const auto& all = decision.candidates;
  switch (decision.reason) {
    case chosen_before:
      return only(decision);
    case no_planned_use:
      return first(decision, [](const Candidate& c) {
        return is_unclaimed(c) && value(c, Measure::planned_uses) == 0;
      });
    case fewest_planned_uses:
      return least(
          decision, [](const Candidate& c) { return value(c, Measure::planned_uses); },
          is_unclaimed);
    case latest_first_use:
      return greatest(decision, Measure::next_use);
    case no_next_use:
      return first(decision, [](const Candidate& c) { return value(c, Measure::next_use) == 0; });
    case latest_next_use:
      return least(decision, [](const Candidate& c) {
        return std::pair(-value(c, Measure::queued), -value(c, Measure::next_use));
      });
    case used_sooner:
      return none_as(std::ranges::all_of(all, is_used_sooner));
    case least_recently_used:
    case none_unclaimed:
      return longest_unused(decision);
    case unused_and_saved:
      return value(all[decision.winner.value()], Measure::saved) == 1 ? longest_unused(decision)
                                                                      : Winner{};
    case unused:
      return value(all[decision.winner.value()], Measure::saved) == 0 ? longest_unused(decision)
                                                                      : Winner{};
    case awaited_last:
      return one_of_least(decision, [](const Candidate& c) {
        return std::pair(value(c, Measure::awaiting), -value(c, Measure::next_use));
      });
    case other_rules:
      return only(decision);
    default:
      return no_rule(decision);
  }
}

inline Winner prefetch_by_rule(const Decision& decision) {
  using enum trace::Reason;
  switch (decision.reason) {
    case best_source:
      return least(decision, Measure::place);
    case link_is_busy:
      return none_as(value(decision.candidates.front(), Measure::copies) > 0);
    case room_is_awaited:
    case no_room:
      return none_as(decision.bytes->value > 0);
    default:
      return no_rule(decision);
  }
}

inline Winner winner_by_rule(const Decision& decision) {
  switch (trace::entry(decision.reason).kind) {
    case trace::DecisionKind::placement:
      return placement_by_rule(decision);
    case trace::DecisionKind::order:
      return order_by_rule(decision);
    case trace::DecisionKind::start:
    case trace::DecisionKind::theft:
    case trace::DecisionKind::move:
      return theft_by_rule(decision);
    case trace::DecisionKind::plan:
      return plan_by_rule(decision);
    case trace::DecisionKind::victim:
      return victim_by_rule(decision);
    case trace::DecisionKind::prefetch:
      return prefetch_by_rule(decision);
    case trace::DecisionKind::write_behind:
      return decision.reason == trace::Reason::first_unsaved ? longest_unused(decision)
                                                             : no_rule(decision);
    default:
      return no_rule(decision);
  }
}

}  // namespace vicinal::testing
