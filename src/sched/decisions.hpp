// The decisions of a policy, on their way to who listens.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/sure_memory.hpp"
#include "graph/task.hpp"
#include "graph/task_pool.hpp"
#include "sched/policy.hpp"
#include "trace/decision.hpp"

namespace vicinal::sched {

inline std::uint64_t id_of(const graph::Task& task) {
  return graph::TaskPool::id(task).value;
}

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

  // --- only if they are heard
  trace::Decision about(const graph::Task& task, trace::Reason reason, trace::Among among) const {
    trace::Decision decision(reason, among, context_->now());
    decision.task = graph::TaskPool::id(task);
    return decision;
  }
  // The worker asks for something.
  trace::Decision asked_by(WorkerId worker, trace::Reason reason, trace::Among among) const {
    trace::Decision decision(reason, among, context_->now());
    decision.worker = worker;
    decision.node = context_->machine().workers[worker.value].node;
    return decision;
  }
  // Room is needed on the node.
  trace::Decision room_on(NodeId node, Bytes needed, trace::Reason reason) const {
    trace::Decision decision(reason, trace::Among::handles, context_->now());
    decision.node = node;
    decision.bytes = needed;
    return decision;
  }
  std::uint32_t beginnings() const { return listener_->beginnings(); }
  void tell(trace::Decision decision) const { listener_->hear(std::move(decision)); }
  // The worker is given `chosen`, the first that it can run of those that `walk` names in their order, until it is
  // answered true.
  template <typename Walk>
  void tell_first(const graph::Task& chosen, WorkerId worker, trace::Reason reason,
                  Walk&& walk) const {
    trace::Decision decision = asked_by(worker, reason, trace::Among::tasks);
    std::int64_t place = -1;
    std::size_t looks = 0;
    walk([&](const graph::Task& task) {
      ++place;
      if (!decision.winner && &task != &chosen) return false;
      if (context_->can_run(task, worker)) {
        decision.consider({id_of(task), ranks(task, place)}, &task == &chosen);
      }
      return ++looks == trace::Decision::kMostListed;
    });
    tell(std::move(decision));
  }
  // Evenly drawn from [0, 1).
  static trace::Score draw(double drawn) {
    constexpr int kBits = 53;  // of the draw
    return {trace::Measure::draw, static_cast<std::int64_t>(std::ldexp(drawn, kBits))};
  }
  // There was no choice.
  void tell_home(const graph::Task& task, trace::Reason reason, WorkerId worker) const {
    trace::Decision decision = about(task, reason, trace::Among::workers);
    decision.consider({worker.value, {}}, true);
    tell(std::move(decision));
  }
  static base::SureVector<trace::Score> ranks(const graph::Task& task, std::int64_t place) {
    return {{trace::Measure::priority, task.priority}, {trace::Measure::place, place}};
  }

 private:
  const PolicyContext* context_ = nullptr;
  trace::DecisionListener* listener_ = nullptr;
  const std::atomic<bool>* listens_ = &trace::kNobodyListens;  // what it says of that
};

// Of each node the last decision that room for an early copy is refused: the copy is wanted again at each look, so a
// refusal is told when it is not the one before.
class Refusals {
 public:
  void start(std::size_t nodes) { last_.assign(nodes, Told{}); }
  // Only if they are heard.
  void tell(const Decisions& decisions, std::size_t node, trace::Decision refusal) {
    Told& last = last_[node];
    const std::uint32_t beginnings = decisions.beginnings();
    if (last.what && last.beginnings == beginnings && last.what->says_as(refusal)) return;
    last = {refusal, beginnings};
    decisions.tell(std::move(refusal));
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
