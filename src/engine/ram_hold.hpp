// The operands of a task, held in RAM by the runtime itself while no worker runs the task: content that passes
// between a handle and its parts, a recursive task whose parts others work on.
//
// Why it cannot hang: see engine/kinds/recursion.hpp.
#pragma once

#include <exception>
#include <functional>

#include "engine/kinds/kind.hpp"
#include "graph/task.hpp"
#include "memory/actions.hpp"
#include "memory/request.hpp"

namespace vicinal::engine {

class Engine;

class RamHold {
 public:
  RamHold() = default;
  RamHold(const RamHold&) = delete;
  RamHold& operator=(const RamHold&) = delete;

  // The task has its accesses. Its kind is told when all operands are there, or why they do not come (Kind::held). This
  // stays where it is until let_go.
  void take(Engine& engine, graph::Task& task, Kind& kind);
  // What it writes is the content of RAM now; others may read it from now on, while it is still held. `first` is called
  // before they may, if the engine has memories apart.
  using First = std::function<void(memory::Actions&)>;
  void share(Engine& engine, const First& first = {});
  // It need not be in RAM any more; the task goes on, and may `take` it again.
  void put_down(Engine& engine);
  // The task ends. What it writes is the content of RAM now. `error`: why it has failed, if nobody has told.
  void let_go(Engine& engine, Outcome outcome, const std::exception_ptr& error = nullptr,
              const First& first = {});

 private:
  friend class Engine;
  // `request` is the first member.
  static RamHold& of(memory::Request& request) { return reinterpret_cast<Told&>(request).hold; }
  void ended();

  struct Told {
    memory::Request request;
    RamHold& hold;
  } told_{{}, *this};
  graph::Task* task_ = nullptr;
  Kind* kind_ = nullptr;  // is told once, when all are there or do not come
  bool pinned_ = false;
  bool is_shared_ = false;
};

}  // namespace vicinal::engine
