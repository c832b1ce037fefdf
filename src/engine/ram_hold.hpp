// The operands of a task, held in RAM by the runtime itself while no worker runs the task: content that passes
// between a handle and its parts, a recursive task whose parts others work on.
//
// Why it cannot hang: see runtime/recursions.cpp.
#pragma once

#include <exception>
#include <functional>
#include <utility>

#include "graph/task.hpp"
#include "memory/request.hpp"

namespace vicinal::engine {

class RamHold {
 public:
  // Called once, when all are there or the error says why they do not come; by any thread, under no lock of the
  // engine, perhaps before hold_in_ram returns.
  using Then = std::function<void(std::exception_ptr)>;
  RamHold() = default;
  RamHold(const RamHold&) = delete;
  RamHold& operator=(const RamHold&) = delete;

 private:
  friend class Engine;
  // `request` is the first member.
  static RamHold& of(memory::Request& request) { return reinterpret_cast<Told&>(request).hold; }
  void ended();

  struct Told {
    memory::Request request;
    RamHold& hold;
  } told_{{}, *this};
  Then then_;
  graph::Task* task_ = nullptr;
  bool pinned_ = false;
};

}  // namespace vicinal::engine
