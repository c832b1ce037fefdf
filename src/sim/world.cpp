#include "sim/world.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace vicinal::sim {

namespace {
class Stepping {
 public:
  explicit Stepping(bool& flag) : flag_(flag) { flag_ = true; }
  ~Stepping() { flag_ = false; }
  Stepping(const Stepping&) = delete;
  Stepping& operator=(const Stepping&) = delete;

 private:
  bool& flag_;
};
}  // namespace

World::Place World::enter(Actor& actor) {
  const auto free = any_left_ ? std::ranges::find(actors_, nullptr) : actors_.end();
  any_left_ = free != actors_.end();
  const auto place = static_cast<Place>(free - actors_.begin());
  roused_.resize(std::max(roused_.size(), place / 64 + std::size_t{1}));
  if (free == actors_.end()) {
    actors_.push_back(&actor);
  } else {
    *free = &actor;
  }
  return place;
}

void World::leave(Place place) {
  events_.forget(place);
  for (std::uint32_t f = 0; f < flows_.size(); ++f) {
    if (!flows_[f].active || flows_[f].place != place) continue;
    network_.cancel(f, static_cast<double>(now().ns));
    flows_[f].active = false;
    free_flows_.push_back(f);
  }
  roused_[place / 64] &= ~(std::uint64_t{1} << (place % 64));
  actors_[place] = nullptr;
  any_left_ = true;
}

void World::start(Place place, std::uint64_t token, const Fluid& fluid) {
  if (free_flows_.empty()) {
    free_flows_.push_back(static_cast<std::uint32_t>(flows_.size()));
    flows_.emplace_back();
  }
  const std::uint32_t flow = free_flows_.back();
  network_.start(flow, fluid, static_cast<double>(now().ns));
  free_flows_.pop_back();
  flows_[flow] = {place, token, true};
}

void World::pass(Time duration) {
  const Time until = now() + duration;
  while (step(until)) {
  }
  now_.store(until, std::memory_order_relaxed);
}

// The first by place.
bool World::act() {
  while (first_roused_ < roused_.size() && roused_[first_roused_] == 0) ++first_roused_;
  any_roused_ = first_roused_ < roused_.size();
  if (!any_roused_) return false;
  const std::size_t place = 64 * first_roused_ + std::countr_zero(roused_[first_roused_]);
  const Stepping stepping(stepping_);
  if (!actors_[place]->act()) roused_[place / 64] &= ~(std::uint64_t{1} << (place % 64));
  return true;
}

// Flows first: what they bring is there for tasks that end at the same time.
bool World::next_event(Time until) {
  const Time flows = next_flow_end();
  const Time events = events_.empty() ? kNoTime : events_.next().at;
  const Time next = std::min(flows, events);
  if (next == kNoTime || next > until) return false;
  const Stepping stepping(stepping_);
  now_.store(next, std::memory_order_relaxed);
  if (flows <= events) {
    end_flow();
  } else {
    const Event event = events_.take();
    actors_[event.actor]->happened(event.token);
  }
  return true;
}

// Rounded up: no flow ends before it has.
Time World::next_flow_end() const {
  const double end = network_.next_end();
  if (end == kNever) return kNoTime;
  constexpr double kMost = 4e18;  // a flow that is slowed down by very many others
  return {static_cast<std::int64_t>(std::ceil(std::min(end, kMost)))};
}

void World::end_flow() {
  FluidNetwork::End end;
  network_.take_end(network_.next_end(), end);
  const auto flow = static_cast<std::uint32_t>(end.id);
  flows_[flow].active = false;
  free_flows_.push_back(flow);
  const Flow ended = flows_[flow];
  actors_[ended.place]->flow_ended(ended.token);
}

}  // namespace vicinal::sim
