// The states of a task and the legal transitions between them: the way of a task, as a table.
#pragma once

#include <atomic>
#include <stdexcept>
#include <string>

#include "graph/task.hpp"

namespace vicinal::engine {

// free -> submitted -> ready -> scheduled -> fetching -> runnable -> running -> done -> free; before the last step
// let_go, if the policy is told of the end and so keeps the slot beside the engine.
// Back from fetching to scheduled: it moves to another node. Short cuts: operands all there (scheduled
// -> runnable), an acquisition (ready -> running), a cancelled task (to done from any state before
// running).
constexpr bool legal(graph::TaskState from, graph::TaskState to) {
  using enum graph::TaskState;
  switch (to) {
    case submitted:
      return from == free;
    case ready:
      return from == submitted;
    case scheduled:
      return from == ready || from == fetching;
    case fetching:
      return from == scheduled;
    case runnable:
      return from == scheduled || from == fetching;
    case running:
      return from == runnable || from == ready;
    case done:
      return from == ready || from == scheduled || from == fetching || from == running;
    case let_go:
      return from == done;
    case free:
      return from == done || from == let_go;
  }
  return false;
}

// A worker's memory has taken it from the policy, and it has not ended.
inline bool is_in_flight(const graph::Task& task) {
  const graph::TaskState state = task.state.load(std::memory_order_relaxed);
  return graph::is_scheduled(task.kind) &&
         (state == graph::TaskState::fetching || state == graph::TaskState::runnable ||
          state == graph::TaskState::running);
}

constexpr std::string_view to_string(graph::TaskState state) {
  constexpr std::string_view names[] = {"free",     "submitted", "ready", "scheduled", "fetching",
                                        "runnable", "running",   "done",  "let go"};
  return names[static_cast<std::size_t>(state)];
}

// Relaxed: a task is handed on through the graph, the policy or the driver, which synchronise; the
// state itself is read by others for reports alone.
inline void move(graph::Task& task, graph::TaskState to) {
#ifndef NDEBUG
  const graph::TaskState from = task.state.load(std::memory_order_relaxed);
  if (!legal(from, to)) {
    throw std::logic_error("task " + std::string(task.name()) + " goes from " +
                           std::string(to_string(from)) + " to " + std::string(to_string(to)));
  }
#endif
  task.state.store(to, std::memory_order_relaxed);
}

// The task is done. True for the second of the two that keep its slot: the second retires the task. Acquire and release:
// the writes of the first are visible to the second.
inline bool let_slot_go(graph::Task& task) {
  return task.state.exchange(graph::TaskState::let_go, std::memory_order_acq_rel) ==
         graph::TaskState::let_go;
}

}  // namespace vicinal::engine
