// The decisions of a policy, on their way to who listens.
//
//   if (decisions_.heard()) {
//     decisions_.about(task, Reason::fewest_tasks, Among::nodes)
//         .each(nodes, [&](const Node& on) { return Choice{{on.id, {{Measure::tasks, on.tasks}}}, &on == &best}; })
//         .tell();
//   }
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/sure_memory.hpp"
#include "graph/task.hpp"
#include "graph/task_pool.hpp"
#include "memory/victim.hpp"
#include "sched/policy.hpp"
#include "trace/decision.hpp"

namespace vicinal::sched {

inline std::uint64_t id_of(const graph::Task& task) {
  return graph::TaskPool::id(task).value;
}

// A candidate, and whether it is the one that was chosen.
struct Choice {
  trace::Candidate candidate;
  bool wins = false;
};

// One decision while it is put together.
class Telling : public trace::Decision {
 public:
  Telling(trace::DecisionListener& listener, trace::Decision what)
      : Decision(std::move(what)), listener_(&listener) {}

  Telling& of(const graph::Task& asked) {
    task = graph::TaskPool::id(asked);
    return *this;
  }
  Telling& of(const graph::Handle& asked) {
    handle = asked.id;
    return *this;
  }
  // Evenly drawn from [0, 1).
  Telling& draw(double drawn) {
    constexpr int kBits = 53;  // of the draw
    scores.push_back({trace::Measure::draw, static_cast<std::int64_t>(std::ldexp(drawn, kBits))});
    return *this;
  }
  // `choice` makes a Choice of each item; of an item that is no candidate an std::optional<Choice> without one.
  template <typename Items, typename MakeChoice>
  Telling& each(const Items& items, MakeChoice&& choice) {
    for (const auto& item : items) {
      if (std::optional<Choice> made = choice(item)) {
        consider(std::move(made->candidate), made->wins);
      }
    }
    return *this;
  }
  void tell() { listener_->hear(std::move(*this)); }

 private:
  trace::DecisionListener* listener_;
};

class Decisions {
 public:
  void start(const PolicyContext& context) {
    context_ = &context;
    listener_ = context.listener();
    if (listener_ != nullptr) listens_ = &listener_->whether_it_listens();
  }
  // Else no decision is to be built.
  bool heard() const { return listens_->load(std::memory_order_relaxed); }

  // The first of the list (a PriorityList of tasks) that the worker can run leaves it, which is told. Null: none.
  template <typename List>
  graph::Task* take_first(List& tasks, WorkerId worker, trace::Reason reason) const {
    graph::Task* const task = tasks.find_first(
        [&](const graph::Task& ready) { return context_->can_run(ready, worker); });
    if (task == nullptr) return nullptr;
    if (heard()) {
      tell_first(*task, worker, reason, [&](const auto& name) { tasks.find_first(name); });
    }
    tasks.remove(*task);
    return task;
  }
  // The least recently used replica that `goes` leaves the node. If it is `told`, then with those that were looked at
  // before it, as `scored` makes candidates of them. Null: none goes.
  template <typename Goes, typename Scored>
  static graph::Handle* least_recent(memory::Candidates& candidates, std::optional<Telling> told,
                                     Goes&& goes, Scored&& scored) {
    graph::Handle* const victim = candidates.least_recent([&](const graph::Handle& handle) {
      const bool gone = goes(handle);
      if (told) told->consider(scored(handle), gone);
      return gone;
    });
    if (victim == nullptr || !told) return victim;
    told->choose(victim->id.value);
    told->tell();
    return victim;
  }

  // --- only if they are heard
  Telling about(const graph::Task& task, trace::Reason reason, trace::Among among) const {
    return made(reason, among).of(task);
  }
  // The worker asks for something.
  Telling asked_by(WorkerId worker, trace::Reason reason, trace::Among among) const {
    Telling told = made(reason, among);
    told.worker = worker;
    told.node = context_->machine().workers[worker.value].node;
    return told;
  }
  // Room is needed on the node.
  Telling room_on(NodeId node, Bytes needed, trace::Reason reason) const {
    Telling told = made(reason, trace::Among::handles);
    told.node = node;
    told.bytes = needed;
    return told;
  }
  std::uint32_t beginnings() const { return listener_->beginnings(); }
  // The worker is given `chosen`, the first that it can run of those that `walk` names in their order, until it is
  // answered true.
  template <typename Walk>
  void tell_first(const graph::Task& chosen, WorkerId worker, trace::Reason reason,
                  Walk&& walk) const {
    Telling told = asked_by(worker, reason, trace::Among::tasks);
    std::int64_t place = -1;
    std::size_t looks = 0;
    walk([&](const graph::Task& task) {
      ++place;
      if (!told.winner && &task != &chosen) return false;
      if (context_->can_run(task, worker)) {
        told.consider({id_of(task), ranks(task, place)}, &task == &chosen);
      }
      return ++looks == trace::Decision::kMostListed;
    });
    told.tell();
  }
  // There was no choice.
  void tell_home(const graph::Task& task, trace::Reason reason, WorkerId worker) const {
    Telling told = about(task, reason, trace::Among::workers);
    told.consider({worker.value, {}}, true);
    told.tell();
  }
  static base::SureVector<trace::Score> ranks(const graph::Task& task, std::int64_t place) {
    return {{trace::Measure::priority, task.priority}, {trace::Measure::place, place}};
  }

 protected:
  const PolicyContext* context_ = nullptr;

 private:
  Telling made(trace::Reason reason, trace::Among among) const {
    return {*listener_, trace::Decision(reason, among, context_->now())};
  }

  trace::DecisionListener* listener_ = nullptr;
  const std::atomic<bool>* listens_ = &trace::kNobodyListens;  // what it says of that
};

// Of each node the last decision that room for a prefetch is refused: the copy is wanted again at each look, so a
// refusal is told when it is not the one before.
class Refusals {
 public:
  void start(std::size_t nodes) { last_.assign(nodes, Told{}); }
  // Only if they are heard.
  void tell(const Decisions& decisions, std::size_t node, Telling refusal) {
    Told& last = last_[node];
    const std::uint32_t beginnings = decisions.beginnings();
    if (last.what && last.beginnings == beginnings && last.what->says_as(refusal)) return;
    last = {refusal, beginnings};
    refusal.tell();
  }
  // Room was not refused.
  void end(std::size_t node) { last_[node].what.reset(); }

 private:
  struct Told {
    std::optional<trace::Decision> what = std::nullopt;
    std::uint32_t beginnings = 0;
  };
  base::SureVector<Told> last_;
};

}  // namespace vicinal::sched
