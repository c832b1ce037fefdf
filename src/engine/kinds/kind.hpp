// What becomes of tasks that are more, or other, than a kernel for a worker. One class per kind, in this folder; the
// engine finds it by the number of the kind (graph/task_kind.hpp), and for the rest treats all tasks alike.
#pragma once

#include <exception>

#include "graph/task.hpp"

namespace vicinal::engine {

class Kind {
 public:
  Kind() = default;
  Kind(const Kind&) = delete;
  Kind& operator=(const Kind&) = delete;
  virtual ~Kind() = default;
  // The task has access to its data. It ends when the kind says so (Engine::end_plain_task, Engine::let_go), or goes
  // to a worker (Engine::read_too). Any thread, under no lock of the engine, perhaps inside the call that submits.
  virtual void ready(graph::Task& task) = 0;
  // For who has called Engine::hold_in_ram: the operands are in RAM and stay there until Engine::let_go, or `error`
  // says why they do not come. Any thread, under no lock of the engine, perhaps before hold_in_ram returns.
  virtual void held(graph::Task& task, const std::exception_ptr& error);
  // A copy has ended, or something else that the end of a task of this kind may wait for. Any thread, often.
  virtual void look();
};

inline void Kind::held(graph::Task& /*task*/, const std::exception_ptr& /*error*/) {}
inline void Kind::look() {}

}  // namespace vicinal::engine
