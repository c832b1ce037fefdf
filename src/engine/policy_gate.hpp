// The only way to the policy. Lets concurrent policies through; for the others it serialises: an
// event that finds the policy busy is left in an inbox, which whoever holds the policy empties.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "graph/task.hpp"
#include "memory/residency.hpp"
#include "sched/policy.hpp"

namespace vicinal::engine {

class PolicyGate {
 public:
  // `retire` is called, under the policy's lock, for an ended task that the policy is the last to have
  // done with.
  PolicyGate(sched::Policy& policy, std::function<void(graph::Task&, WorkerId)> retire);

  void push(graph::Task& task, WorkerId releasing) {
    if (concurrent_) return policy_.push(task, releasing);
    post({Event::Kind::push, &task, nullptr, releasing, {}}, releasing);
  }
  graph::Task* pop(WorkerId worker) {
    return concurrent_ ? policy_.pop(worker) : pop_serial(worker);
  }
  bool may_move(graph::Task& task, WorkerId to) {
    return concurrent_ ? policy_.may_move(task, to) : may_move_serial(task, to);
  }
  bool wants_ends() const { return wants_ends_; }
  // Only if wants_ends(). task.blocked counts who has yet to do with the task: it is lowered when the
  // policy has heard.
  void task_done(graph::Task& task, WorkerId worker);
  void notice(const memory::Notice& notice);
  void submission_closed();
  void forget(graph::Handle& handle);
  graph::Handle* choose_victim(const memory::VictimQuery& query, memory::Candidates& candidates);

 private:
  struct Event {
    enum class Kind : std::uint8_t { push, done, loaded, evicted } kind;
    graph::Task* task = nullptr;
    graph::Handle* handle = nullptr;
    WorkerId worker;
    NodeId node;
  };

  graph::Task* pop_serial(WorkerId worker);
  bool may_move_serial(graph::Task& task, WorkerId to);
  void post(const Event& event, WorkerId current);
  void apply(const Event& event, WorkerId current);
  // `current`: the worker whose thread this is. drain() under the lock, drain_leftovers() not.
  void drain(WorkerId current);
  void drain_leftovers(WorkerId current);

  sched::Policy& policy_;
  std::function<void(graph::Task&, WorkerId)> retire_;
  const bool concurrent_;
  const bool wants_ends_;
  std::mutex mutex_;  // the policy's lock
  std::mutex inbox_mutex_;
  std::vector<Event> inbox_;
  std::vector<Event> draining_;
  std::atomic<bool> inbox_filled_{false};
};

}  // namespace vicinal::engine
