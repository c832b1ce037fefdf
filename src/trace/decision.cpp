#include "trace/decision.hpp"

#include <cstddef>

namespace vicinal::trace {

namespace {

using enum DecisionKind;
using enum Reason;
using enum Measure;

constexpr KindEntry kKinds[] = {
    {placement, "placement", "the worker, or the memory node, that is to run a ready task"},
    {order, "order", "the next task of a worker, among the tasks that wait for the worker"},
    {start, "start", "the task of a node's look-ahead that starts next"},
    {theft, "theft", "the worker, or the node, that one which has nothing takes a task from"},
    {move, "move", "a task of one node's look-ahead that goes to another node"},
    {plan, "plan", "what a node loads and runs next, of the tasks that no node has planned"},
    {victim, "victim", "the replica that leaves a memory node"},
    {prefetch, "prefetch", "whether data are copied before a task that needs them may wait"},
    {write_behind, "write-behind", "the replica that is copied to RAM before its room is needed"},
};

constexpr ReasonEntry kReasons[] = {
    {least_cost, placement, "least cost", "the least sum of end and transfer; the first on ties"},
    {earliest_end, placement, "earliest end", "the least end; the first on ties"},
    {fewest_tasks, placement, "fewest tasks", "the fewest tasks; the first on ties"},
    {drawn, placement, "drawn",
     "by lot: the first with which the sum of the speeds, 1 / run, exceeds the draw's share of the "
     "sum of all; "
     "speeds are equal where a run is not known"},
    {released_here, placement, "released here", "the worker whose task released this one"},
    {next_in_turn, placement, "next in turn",
     "the first, from the worker whose turn it is, that can run it"},
    {set_free, placement, "set free",
     "the node that has planned to load the datum, which is all that the task lacks there"},
    {free_nowhere, placement, "free nowhere",
     "none: on no node, RAM aside, are all its operands present or planned to be"},
    {faster_elsewhere, placement, "faster elsewhere",
     "none: it is free in RAM alone, and another node runs it as fast or ends it as early"},
    {named_by_task, placement, "named by the task", "the node that the task names"},
    {named_cannot_run, placement, "named cannot run",
     "the node that the task names cannot run it: the least end; the first on ties"},
    {belongs_there, placement, "belongs there",
     "of the nodes to which an operand belongs, by advice or by its last write: the least operand"},
    {least_weighed_end, placement, "least weighed end", "the least weighed end; the first on ties"},
    {in_package, placement, "in package",
     "the node whose part of the order of all that is known holds it"},
    {first_pushed, order, "first pushed", "the least place"},
    {highest_priority, order, "highest priority", "the highest priority; the least place on ties"},
    {just_released, order, "just released",
     "the one that the worker itself has released, where nothing else waits"},
    {last_of_highest, order, "last of the highest",
     "the highest priority; the least place, counted from the back, on ties"},
    {lacks_least, order, "lacks least",
     "of those whose priority is not below that of the question: the least missing, then "
     "unrequested, "
     "then unplaced bytes; the least place on ties"},
    {lacks_least_of_highest, order, "lacks least of the highest",
     "the highest priority, then the least missing, unrequested, and unplaced bytes; the least "
     "place on ties"},
    {plan_order, order, "order of the plan",
     "the one that is not in the order of priorities if it misses nothing and the other's priority "
     "is not higher; "
     "else the other"},
    {first_planned, order, "first planned", "the least place in the order of the node"},
    {lacks_least_of_next, order, "lacks least of the next",
     "of the first 30 ready ones in the order of the node: the least missing, then unrequested, "
     "then unplaced bytes; the least place on ties"},
    {first_ready, start, "first ready", "the first that is ready"},
    {nearest_with_tasks, theft, "nearest with tasks",
     "the first that has tasks for this worker, by increasing distance"},
    {longest_queue_left, theft, "longest queue left",
     "of the workers that are away, or nodes whose workers are, and that have one for this worker, "
     "the most tasks; the first on ties"},
    {latest_to_end, theft, "latest to end",
     "of the workers that would end one of theirs later than this one, the greatest time when "
     "free; the "
     "first on ties"},
    {longest_plan, theft, "longest plan",
     "of the nodes that have planned one which this worker would not end later, the most tasks; "
     "the first "
     "on ties"},
    {longest_left, theft, "longest left",
     "of the nodes that have a ready one which would end here before that node has done all, or "
     "whose workers "
     "are away: the most time left; the first on ties"},
    {most_valid_bytes, placement, "most valid bytes", "the most valid bytes; the first on ties"},
    {holds_written, placement, "holds what is written",
     "of the accelerators that hold an operand which is written and not valid where the task was "
     "released: the least operand; the first on ties"},
    {last_pushed, order, "last pushed", "the least place, counted from the newest"},
    {oldest_of_victim, order, "oldest of the victim",
     "the least place: in its own list from the oldest, then in its mailbox from the newest"},
    {highest_of_victim, order, "highest of the victim",
     "the highest priority; the least place on ties"},
    {drawn_victim, theft, "drawn victim",
     "by lot, all alike, of those that have one for this worker"},
    {fewest_copies, move, "fewest copies",
     "of those whose copies take less than half of their wait, the least transfer; the last on "
     "ties"},
    {policy_keeps, move, "policy keeps",
     "none: the policy does not agree to the move of the one with fewest copies"},
    {sets_most_free, plan, "sets most free",
     "the least transfer per free run, where both set tasks free; then the most free tasks, the "
     "highest priority, "
     "the most near tasks, the most work left; the first on ties"},
    {misses_nothing, plan, "misses nothing",
     "the first in the order of priorities that misses no operand"},
    {nearly_free, plan, "nearly free",
     "of the tasks that miss one operand beside the datum, the highest priority; the first on "
     "ties"},
    {misses_fewest, plan, "misses fewest",
     "the fewest missing operands; the first, which has the highest priority, on ties"},
    {no_planned_use, victim, "no planned use",
     "the first, from the least recently used one on, that no planned and no pulled task uses"},
    {fewest_planned_uses, victim, "fewest planned uses",
     "of those without claims and pulled uses, the fewest planned uses; the first, the least "
     "recently used, on ties"},
    {latest_first_use, victim, "latest first use",
     "the greatest next use, by a pulled task; the first on ties"},
    {chosen_before, victim, "chosen before",
     "the last victim, which was in use when it was to leave"},
    {no_next_use, victim, "no next use",
     "the first, from the least recently used one on, without a next use"},
    {latest_next_use, victim, "latest next use",
     "who is used by queued tasks alone before the others; then the greatest next use; the first "
     "on ties"},
    {used_sooner, victim, "used sooner",
     "none: all are used before the prefetch that asks for the room"},
    {unused_and_saved, victim, "unused and saved",
     "of what no submitted task uses and is elsewhere, too: the least last use"},
    {unused, victim, "unused", "of what no submitted task uses: the least last use"},
    {least_recently_used, victim, "least recently used",
     "of what nobody is known to use: the least last use"},
    {awaited_last, victim, "awaited last",
     "of what waiting tasks use: the fewest awaiting, then the greatest next use"},
    {none_unclaimed, victim, "none unclaimed",
     "of all, as the policy gave none, or the look-ahead claims them: the least last use"},
    {other_rules, victim, "other rules", "the one that the option memory_rules says"},
    {best_source, prefetch, "best source", "the least place"},
    {room_is_awaited, prefetch, "room is awaited",
     "none: tasks that can start wait for room there"},
    {link_is_busy, prefetch, "link is busy", "none: other copies use the link of the first"},
    {no_room, prefetch, "no room", "none: there is no room, or nothing may leave for it now"},
    {first_unsaved, write_behind, "first unsaved",
     "of what no submitted task uses and is nowhere else: the least last use"},
    {memory_saturated, start, "memory saturated",
     "none: the tasks and transfers that draw on the memory can draw all that it gives to so many, "
     "so a worker looks for a task that computes"},
};

constexpr MeasureEntry kMeasures[] = {
    {place, Unit::number, "place",
     "position in the order in which the candidates came; the least is the first"},
    {priority, Unit::number, "priority",
     "of the task, or the highest of those that the datum sets free"},
    {tasks, Unit::number, "tasks", "that wait there, or were given to it and have not ended"},
    {time_left, Unit::nanoseconds, "time left",
     "run time of all that the node has in its order or was given, by number of its workers"},
    {distance, Unit::number, "distance", "between the numbers of two workers"},
    {run, Unit::nanoseconds, "run", "predicted run time of the task; 0: not known"},
    {transfer, Unit::nanoseconds, "transfer",
     "predicted time of the copies that are not under way"},
    {free_at, Unit::nanoseconds, "free at", "when the worker has done what it was given"},
    {end, Unit::nanoseconds, "end", "when the task would end; of nodes, from now"},
    {wait, Unit::nanoseconds, "wait", "of the task before it would start where it is"},
    {draw, Unit::number, "draw", "evenly drawn from 0 to 2^53 - 1"},
    {ready, Unit::number, "ready", "1: all operands are there and reserved; 0: not"},
    {missing_bytes, Unit::bytes, "missing bytes", "of what the task reads: not valid there"},
    {unrequested_bytes, Unit::bytes, "unrequested bytes",
     "of what the task reads: not even requested"},
    {unplaced_bytes, Unit::bytes, "unplaced bytes", "of all operands: no room, and none asked for"},
    {missing_operands, Unit::number, "missing operands",
     "that the task reads and that are not present; of a task that becomes ready, nor planned to "
     "be"},
    {valid_bytes, Unit::bytes, "valid bytes", "of the task's operands, valid there"},
    {in_order, Unit::number, "in order",
     "1: it missed nothing when it was planned, and goes by priority; 0: not"},
    {free_tasks, Unit::number, "free tasks", "that lack nothing but the datum"},
    {free_run, Unit::nanoseconds, "free run", "run time of the free tasks"},
    {near_tasks, Unit::number, "near tasks", "that lack one operand beside the datum"},
    {left_run, Unit::nanoseconds, "left run",
     "run time of all tasks planned nowhere that read the datum"},
    {planned_uses, Unit::number, "planned uses", "tasks planned on the node that use the datum"},
    {pulled_uses, Unit::number, "pulled uses",
     "tasks pulled by the node and not ended that use the datum"},
    {claims, Unit::number, "claims", "tasks of the look-ahead that use the replica"},
    {next_use, Unit::number, "next use",
     "number of the first use, greater if later; 0: none is known"},
    {queued, Unit::number, "queued",
     "1: the next use is by a task that no node was given; 0: by one of the node's"},
    {last_use, Unit::number, "last use",
     "when a task last used it, greater if later; 0: to go first"},
    {saved, Unit::number, "saved", "1: the content is on another node, too; 0: nowhere else"},
    {awaiting, Unit::number, "awaiting",
     "tasks that wait with the policy and use it; 0 where the policy keeps their order"},
    {copies, Unit::number, "copies", "that wait for the link from there, or are in flight on it"},
    {operand, Unit::number, "operand",
     "place of the first operand that belongs there; those that are written count first"},
    {weighed_end, Unit::nanoseconds, "weighed end",
     "the end; where an operand was written that the task reads, what the skew leaves of it"},
    {can_run, Unit::number, "can run", "1: the worker can run the task; 0: it cannot"},
    {memory_bound, Unit::number, "memory-bound tasks", "that run"},
    {transfers, Unit::number, "transfers", "large copies and messages under way"},
    {demanded, Unit::bytes, "demanded",
     "per second, by all tasks that run and these transfers, at full speed"},
    {saturating, Unit::bytes, "saturating",
     "per second, of demand, from which the memory gives more tasks nothing"},
};

// Entries are found by their number.
template <typename Entry, std::size_t n, typename Key>
constexpr bool in_order_of(const Entry (&table)[n], Key Entry::*key, Key last) {
  for (std::size_t i = 0; i < n; ++i) {
    if (static_cast<std::size_t>(table[i].*key) != i) return false;
  }
  return static_cast<std::size_t>(last) + 1 == n;
}
static_assert(in_order_of(kKinds, &KindEntry::kind, write_behind));
static_assert(in_order_of(kReasons, &ReasonEntry::reason, memory_saturated));
static_assert(in_order_of(kMeasures, &MeasureEntry::measure, saturating));

}  // namespace

std::span<const KindEntry> kinds() {
  return kKinds;
}
std::span<const ReasonEntry> reasons() {
  return kReasons;
}
std::span<const MeasureEntry> measures() {
  return kMeasures;
}

}  // namespace vicinal::trace
