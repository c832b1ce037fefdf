#include "memory/decisions.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "memory/arena.hpp"

namespace vicinal::memory {

using trace::Measure;
using trace::Reason;

namespace {

// By VictimClass: none, recency, awaited, unsaved, saved.
constexpr std::array<Reason, 5> kReasons{Reason::least_recently_used, Reason::least_recently_used,
                                         Reason::awaited_last, Reason::unused,
                                         Reason::unused_and_saved};
static_assert(static_cast<std::size_t>(VictimClass::saved) + 1 == kReasons.size());

trace::Candidate described(const Replica& r) {
  trace::Candidate candidate{
      r.handle->id.value,
      {{Measure::last_use, static_cast<std::int64_t>(r.last_use.load(std::memory_order_relaxed))},
       {Measure::claims, r.claims.load(std::memory_order_relaxed)},
       {Measure::saved, safe_elsewhere(r) ? 1 : 0}}};
  return candidate;
}

// As it is now: others than the victim may stand where they were before a task named them.
void describe_uses(trace::Candidate& candidate, const Awaited& now) {
  candidate.scores.push_back({Measure::awaiting, now.uses});
  candidate.scores.push_back(
      {Measure::next_use, now.turn == 0 ? 0 : static_cast<std::int64_t>(~now.turn)});
}

// Of a reason for which prefetches are put off, as told since the listener began; not 0.
std::uint8_t mark_of(Reason why, std::uint32_t beginnings) {
  static_assert(static_cast<std::size_t>(Reason::no_room) -
                    static_cast<std::size_t>(Reason::best_source) ==
                3);
  const auto number =
      static_cast<unsigned>(why) - static_cast<unsigned>(Reason::best_source);  // 1 to 3
  return static_cast<std::uint8_t>(number | beginnings << 2);
}

}  // namespace

trace::Decision Decisions::decision(Reason why, trace::Among among, NodeId node) const {
  trace::Decision decision(why, among, (*now_)());
  decision.node = node;
  return decision;
}

void Decisions::tell_among(Reason why, VictimOrders& orders, const Replica& chosen,
                           std::optional<Bytes> needed, VictimOrders::Goes goes) const {
  trace::Decision made = decision(why, trace::Among::handles, chosen.node);
  made.bytes = needed;
  for (Replica* r = orders.oldest(); r != nullptr; r = orders.newer_than(*r)) {
    if (r != &chosen && !goes(*r)) continue;
    trace::Candidate candidate = described(*r);
    if (why == Reason::awaited_last) describe_uses(candidate, orders.awaited_place(*r));
    made.consider(std::move(candidate), r == &chosen);
  }
  listener_->hear(std::move(made));
}

void Decisions::victim(VictimOrders& orders, const Replica& victim, Bytes needed,
                       VictimOrders::Goes goes) const {
  if (!heard()) return;
  const VictimClass of = class_of(victim);
  tell_among(kReasons[static_cast<std::size_t>(of)], orders, victim, needed,
             [&](const Replica& r) { return class_of(r) == of && !is_claimed(r) && goes(r); });
}

void Decisions::last_of_all(VictimOrders& orders, const Replica& victim, Bytes needed,
                            VictimOrders::Goes goes) const {
  if (heard()) tell_among(Reason::none_unclaimed, orders, victim, needed, goes);
}

void Decisions::by_rules(const Replica& victim, Bytes needed) const {
  if (!heard()) return;
  trace::Decision made = decision(Reason::other_rules, trace::Among::handles, victim.node);
  made.bytes = needed;
  made.consider(described(victim), true);
  listener_->hear(std::move(made));
}

void Decisions::prefetch(const Links& links, Replica& to) const {
  if (!heard()) return;
  to.put_off = 0;
  tell_sources(links, to, Reason::best_source);
}

void Decisions::put_off(const Links& links, Replica& to, Reason why) const {
  if (!heard()) return;
  const std::uint8_t mark = mark_of(why, listener_->beginnings());
  if (to.put_off != mark && tell_sources(links, to, why)) to.put_off = mark;
}

// False: there is nothing to bring any more.
bool Decisions::tell_sources(const Links& links, const Replica& to, Reason why) const {
  trace::Decision made = decision(why, trace::Among::nodes, to.node);
  made.handle = to.handle->id;
  made.bytes = Arena::padded(to.handle->bytes());
  const std::uint64_t valid = to.handle->on.valid.get();
  std::int64_t place = 0;
  for (const Source& source : links.sources(to.node)) {
    if ((valid & bit(source.node)) == 0) continue;
    made.consider({source.node.value,
                   {{Measure::place, place},
                    {Measure::copies, static_cast<std::int64_t>(links.load(source.link))}}},
                  why == Reason::best_source && place == 0);
    ++place;
  }
  if (made.candidates.empty()) return false;
  listener_->hear(std::move(made));
  return true;
}

void Decisions::write_behind(VictimOrders& orders, const Replica& saved,
                             VictimOrders::Goes goes) const {
  if (!heard()) return;
  tell_among(Reason::first_unsaved, orders, saved, std::nullopt, [&](const Replica& r) {
    return class_of(r) == VictimClass::unsaved && !is_claimed(r) && goes(r);
  });
}

}  // namespace vicinal::memory
